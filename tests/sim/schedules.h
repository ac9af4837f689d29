// What tests of the simulator itself share: the schedules they run under, and how a reported fault is told.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "sim/machine.h"

namespace xgemm::sim {

// Sets a variable to the number of the next line, where a test expects a report.
#define NEXT_LINE(variable) (variable) = __LINE__ + 1

inline Options options_of(Order order, std::uint64_t seed = 1) {
  Options options;
  options.order = order;
  options.seed = seed;
  options.preempt_every = 3;
  return options;
}

inline const std::vector<Options>& schedules() {
  static const std::vector<Options> all = {options_of(Order::forward), options_of(Order::reverse),
                                           options_of(Order::random, 1), options_of(Order::random, 2)};
  return all;
}

// A fault of this kind was reported at this line of the file (0: any). Of two parties to a race or divergence, which
// one comes second and is reported depends on the schedule; the other is named with it.
inline void expect_fault(const Result& result, Fault fault, const char* file, int line) {
  const Report* report = result.find(fault);
  ASSERT_NE(report, nullptr) << "no " << to_string(fault) << " among:\n" << result.summary();
  EXPECT_STREQ(report->where.file(), file);
  if (line != 0) {
    const bool two_parties =
        fault == Fault::shared_race || fault == Fault::global_race || fault == Fault::warp_divergence;
    EXPECT_TRUE(static_cast<int>(report->line()) == line ||
                (two_parties && static_cast<int>(report->other.line()) == line))
        << "expected line " << line << ": " << to_string(*report);
  }
  EXPECT_FALSE(to_string(*report).empty());
}

}  // namespace xgemm::sim
