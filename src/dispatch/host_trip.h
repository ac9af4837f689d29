// When host data are worth the trip to a GPU: both ways in microseconds, from a few rates. Pure.
#pragma once

#include "core/problem.h"
#include "transfer/staging_plan.h"

namespace xgemm::dispatch {

// Below this many floating-point operations no GPU repays the trip: such calls do not even initialise CUDA.
inline constexpr double kMinFlopsForDevice = 1e7;

// On the CPU, with so many cores.
double cpu_time_us(const Problem& problem, int cores);

// On the GPU, by the plan of its pieces. kernels_us: all kernels together. Host memory is taken to be pageable: whether
// it is, only CUDA could tell.
double staged_time_us(const Problem& problem, const transfer::StagingPlan& plan, double kernels_us,
                      int compute_capability, int cores);

}  // namespace xgemm::dispatch
