// Judges two result files shape by shape: has the library become slower?
//
// What is compared is the ratio to the reference (cuBLAS) that both files measured on their own machine, so that a
// faster clock or another GPU of the same kind does not look like a change of the library. A verdict rests on the whole
// interval of the change, never on its middle:
//
//            1-t          1          1+t                 t: the tolerance
//     SLOWER  )[    SAME  |           ](  FASTER         UNCLEAR: the interval crosses an edge
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "results/results.h"

namespace xgemm::perf {

enum class Verdict { kSame, kFaster, kSlower, kUnclear, kFailed, kMissing, kAdded, kIncomparable };
const char* name_of(Verdict verdict);

struct CompareSettings {
  std::string candidate = "xgemm";
  double tolerance = 0.03;
  double noise = 0.005;  // what differs between two processes on one machine, on top of the measured intervals
  double host_noise =
      0.25;              // the same where operands are host memory: threads and pages land differently in each process
  bool by_time = false;  // compare times instead of ratios: only sensible on one machine
  bool allow_missing = false;  // shapes that the new file lacks are no failure
};

struct Comparison {
  std::string id;
  std::string set;
  char type = 's';
  Verdict verdict = Verdict::kUnclear;
  Interval change;  // new speed over old: less than 1 is slower; zero where nothing could be compared
  Interval before;  // ratio (or time in microseconds) in the base file
  Interval after;
  std::string note;  // why it is FAILED, MISSING or INCOMPARABLE
};

/// One set and type: geometric mean of the changes.
struct GroupComparison {
  std::string set;
  char type = 's';
  std::size_t shapes = 0;
  Interval change;
  Verdict verdict = Verdict::kUnclear;
};

struct CompareReport {
  std::vector<Comparison> rows;
  std::vector<GroupComparison> groups;
  GroupComparison overall;

  std::size_t count(Verdict verdict) const;
  bool regressed(const CompareSettings& settings) const;
};

Verdict judge_change(const Interval& change, double tolerance);
/// Interval of after / before, widened by the noise.
Interval change_of(const Interval& before, const Interval& after, double noise);

/// Throws InputError when the files have no shape in common or a shape is there twice.
CompareReport compare(const Results& base, const Results& now, const CompareSettings& settings);

/// A screenful; with `all`, a line per shape as well.
std::string render_text(const CompareReport& report, const Results& base, const Results& now,
                        const CompareSettings& settings, bool all);
std::string render_markdown(const CompareReport& report, const Results& base, const Results& now,
                            const CompareSettings& settings);
std::string render_json(const CompareReport& report, const CompareSettings& settings);

}  // namespace xgemm::perf
