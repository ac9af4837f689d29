// Times the candidates of one case against each other.
//
// Rounds are interleaved: in each, every candidate makes one batch of calls over rotating operand sets, so that a
// drifting clock or a busy neighbour meets them all, and what counts is the median of the ratios within rounds. Short
// calls on a GPU are replayed from a graph. Rounds go on until the intervals are tight or the time is up.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/candidate.h"
#include "bench/clock_monitor.h"
#include "bench/device.h"
#include "bench/operands.h"
#include "bench/results.h"

namespace xgemm::perf {

constexpr std::int64_t kFewestRounds = 3;  // even when the time is up

struct MeasureSettings {
  double confidence = kConfidence;
  double precision = 0.01;  // relative half width of every ratio's interval at which rounds end
  std::int64_t min_rounds = 9;
  std::int64_t max_rounds = 200;
  double max_seconds = 2;        // for the rounds of a case, after which none begins (but three are made)
  double hard_seconds = 1e9;     // a case that cannot be done in this time is skipped
  double batch_us = 0;           // shortest batch; 0: 1 ms on a GPU, 5 ms on the host
  double record_below_us = 100;  // calls shorter than this are replayed from a graph
  double warm_up_seconds = 0;    // before the first round, to raise the clock
  bool check = true;             // against float64
};

/// How far a case is, for a progress line.
struct MeasureProgress {
  std::int64_t rounds = 0;
  double half_width = 0;  // of the widest ratio
};

struct Bench {
  Device& device;
  Operands& operands;
  ClockMonitor& clocks;
  const std::atomic<bool>& stop;  // set by Ctrl-C
  std::function<void(const MeasureProgress&)> on_progress;
};

/// `candidates`: in the order of the table. `reference`: the name of the one that ratios refer to; may be absent. The
/// row of a case that `stop` has cut short has status "skipped" and is not worth keeping.
Row measure(const Case& one, const std::vector<Candidate*>& candidates, const std::string& reference,
            const MeasureSettings& settings, Bench& bench);

}  // namespace xgemm::perf
