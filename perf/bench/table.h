// The results as people read them: a line per case, and a summary.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/results.h"

namespace xgemm::perf {

struct TableStyle {
  bool colour = false;
  bool giga = false;            // GFLOP/s instead of TFLOP/s: what a CPU reaches
  bool plans = false;           // the plan of every candidate below its row
  std::size_t case_width = 24;  // of the first column
  std::string primary;          // the candidate with the first pair of columns
  std::string reference;        // the one with the second, but in rows that have another; empty: none
};

/// Wide enough for the ids, within reason.
std::size_t case_width(const std::vector<Case>& cases);

std::string table_header(const TableStyle& style);
/// One line for the two main candidates, one each for the others; ends with a newline.
std::string table_row(const Row& row, const TableStyle& style);
/// Geometric means per reference, set and type, counts, what was skipped and why.
std::string table_summary(const Results& results, const TableStyle& style);

/// What calls cost the processor: a line per case; empty where it was not measured.
std::string host_time_table(const Results& results, const TableStyle& style);

/// "1:05", "2:03:10".
std::string format_seconds(double seconds);

/// Rewrites one line on a terminal. Does nothing when `enabled` is false.
class ProgressLine {
 public:
  explicit ProgressLine(bool enabled) : enabled_(enabled) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }
  void show(const std::string& text);
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
};

}  // namespace xgemm::perf
