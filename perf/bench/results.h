// What a run has measured, and its JSON form, which perf/results.py reads: the table, comparison and report share it.
//
// The file is an object with "schema": "xgemm-bench" and "version": 1. `complete` is false while a run goes on and
// after it was interrupted; the rows that are there are whole. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/case.h"
#include "bench/stats.h"

namespace xgemm::perf {

/// Ordered name-value pairs: GPU, driver, versions, files.
using Facts = std::vector<std::pair<std::string, std::string>>;

struct CandidateResult {
  std::string name;
  std::string status = "ok";  // ok, failed (error, or a wrong result) or skipped (cannot serve this case)
  std::string reason;         // why it is not ok
  std::string kernel;
  std::string plan;
  Interval time_us;  // per call
  double fastest_us = 0;
  Interval ratio;          // time of the reference over ours: more than 1 is faster than the reference
  double host_us = 0;      // the processor's time for enqueueing a call; 0: not measured (the call is synchronous)
  double error = 0;        // normwise, against float64
  double bound_share = 0;  // largest error over its bound
  bool checked = false;
  std::int64_t calls_per_round = 0;

  bool ok() const { return status == "ok"; }
};

/// Null when there is none of that name.
const CandidateResult* find_candidate(const std::vector<CandidateResult>& candidates, std::string_view name);

struct Row {
  Case shape;
  std::string id;             // shape.id(), as it was when the row was written
  std::string status = "ok";  // ok, failed or skipped (nothing was measured)
  std::string reason;
  std::string reference;  // the candidate that ratios refer to; empty when there is none
  std::vector<CandidateResult> candidates;
  std::int64_t rounds = 0;          // that were kept
  std::int64_t dropped_rounds = 0;  // because the GPU was throttled
  std::int64_t operand_sets = 0;
  bool cold = false;       // the sets exceed four times the cache
  bool recorded = false;   // calls were replayed from a graph
  std::string stopped_by;  // precision, rounds, time or interrupt
  double sm_mhz = 0;       // medians over the rounds; 0: not known
  double power_w = 0;
  bool power_capped = false;

  const CandidateResult* find(std::string_view name) const { return find_candidate(candidates, name); }
};

/// What a call costs the processor where calls only enqueue, over a kind of sequence of shapes.
struct HostTime {
  std::string name;  // "600 shapes in rotation"
  char type = 's';
  std::int64_t shapes = 0;  // that come again and again; 0: every call has a new one
  std::int64_t rounds = 0;
  std::int64_t calls_per_round = 0;
  std::string reference;
  std::vector<CandidateResult> candidates;  // time_us and ratio are those of the processor

  const CandidateResult* find(std::string_view who) const { return find_candidate(candidates, who); }
};

/// Rates that the machine reaches in practice, for the roofline. 0: not measured.
struct Ceilings {
  double copy_gbs = 0;     // bytes read plus bytes written
  double fp32_tflops = 0;  // fused multiply-adds
  double fp16_tensor_tflops = 0;
};

struct Results {
  bool complete = false;
  std::string created;  // UTC, ISO 8601
  std::vector<std::string> command;
  Facts environment;
  Facts settings;
  Facts candidates;  // name and description
  Ceilings ceilings;
  std::vector<Row> rows;
  std::vector<HostTime> host_times;

  std::string fact(std::string_view key) const;  // of the environment; empty when there is none
};

std::string to_json(const Results& results);
/// Writes a neighbouring file and renames it, so that whoever reads finds the old text or the new one, whole.
void write_file(const std::string& name, std::string_view text);

/// Teraflops per second of a candidate's median.
double tflops(const Row& row, const CandidateResult& candidate);
double gigabytes_per_second(const Row& row, const CandidateResult& candidate);

}  // namespace xgemm::perf
