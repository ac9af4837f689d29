// What a call costs the processor: for one shape, for few and for many that come again, and for shapes that never came
// before. A library that plans, remembers or looks up pays for it here, and kernels of a few microseconds wait for it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <vector>

#include "bench/candidate.h"
#include "bench/device.h"
#include "bench/results.h"

namespace xgemm::perf {

/// The cases of the table, not measured yet.
std::vector<HostTime> host_time_cases();

/// Measures one of them. `device`: a GPU, where calls only enqueue. In each round every candidate enqueues the same
/// calls, few enough for the queue of a stream, on an idle GPU; products are small, so that the GPU keeps up.
/// Candidates know the kernels before the first round, and all shapes where shapes come again. Returns fewer rounds, or
/// none, once `stop` is set.
HostTime measure_host_time(HostTime one, const std::vector<Candidate*>& candidates, const std::string& reference,
                           Device& device, const std::atomic<bool>& stop);

}  // namespace xgemm::perf
