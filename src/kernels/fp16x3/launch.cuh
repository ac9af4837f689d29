// The launch of fp16x3: two passes and the product. The fallback is the plan's (plan/plan.h).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "device/fallback_counter.h"
#include "kernels/common/early_launch.h"
#include "kernels/fp16x3/fp16x3.cuh"
#include "kernels/fp16x3/instances.h"
#include "kernels/wgmma_tma/launch.cuh"

namespace xgemm::kernels {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, Kernel::kMinBlocksPerSm)
    split_entry(const __grid_constant__ SplitParams params) {
  __shared__ typename Kernel::SharedStorage shared;
  if constexpr (gpu::kArch >= Kernel::kMinArch) Kernel::run(params, shared);
}

template <>
struct Launch<Family::fp16x3> {
  template <WgmmaTmaConfig kConfig>
  static cudaError_t instance(const GemmParams& g, const Schedule& schedule, void* workspace, cudaStream_t stream) {
    const SplitWorkspace places(g.m, g.n, g.k);
    const SplitParams passes = places.passes(g, workspace, device::fallback_counter());
    cudaError_t error = launch_early(split_entry<SplitMeasure>, static_cast<unsigned>(passes.measure_ctas()),
                                     SplitParams::kThreads, stream, passes);
    if (error == cudaSuccess)
      error = launch_early(split_entry<SplitParts>, static_cast<unsigned>(passes.split_ctas()), SplitParams::kThreads,
                           stream, passes);
    if (error != cudaSuccess) return error;
    return launch_wgmma_tma<kConfig>(places.product(g, workspace), schedule, nullptr, stream);
  }
};

}  // namespace xgemm::kernels
