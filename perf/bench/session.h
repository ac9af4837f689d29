// One run of the benchmark, from options to files: gathers cases and candidates, measures case by case, writes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include "bench/options.h"

namespace xgemm::perf {

/// Exit statuses of xgemm-bench.
enum ExitStatus { kDone = 0, kWrongResult = 1, kBadInput = 2, kDeviceFailed = 3, kInterrupted = 130 };

/// Throws InputError for bad input. `stop` may be set by a signal handler at any time.
int run_session(Options options, const std::atomic<bool>& stop);

}  // namespace xgemm::perf
