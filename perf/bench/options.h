// The command line of xgemm-bench. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/operands.h"
#include "bench/shapes.h"

namespace xgemm::perf {

struct Options {
  // What is timed.
  std::vector<std::string> shapes;    // arguments of --shapes
  std::vector<std::int64_t> m, n, k;  // products of extents, where given
  std::optional<std::string> replay;
  ShapeDefaults defaults;
  bool types_given = false;
  bool quick = false;
  bool standard = false;
  bool ladder = false;

  // Against what.
  std::vector<std::string> candidates;  // empty: those that suit the machine
  std::vector<std::string> kernels;     // --kernel
  std::vector<std::string> against;
  std::string reference;
  std::string cublas_path;
  int device = 0;
  bool cpu_only = false;
  int math_mode = 0;
  std::string prepared;  // operands

  // How.
  DataKind data = DataKind::kNormal;
  std::uint64_t seed = 1;
  MeasureSettings measure;
  bool max_time_given = false;
  std::optional<double> budget_seconds;
  bool host_times = false;
  bool ceilings = false;

  // Output.
  std::string json;
  std::string commit;
  bool verbose = false;
  bool list_shapes = false;
  bool list_kernels = false;
  bool dry_run = false;

  std::vector<std::string> command;  // as it was given
};

/// Fills `options`, or returns the exit status: 0 after --help, 2 for what is not understood (said on stderr).
std::optional<int> parse_options(int argc, char** argv, Options& options);

/// As --math takes it.
const char* name_of_math_mode(int mode);

}  // namespace xgemm::perf
