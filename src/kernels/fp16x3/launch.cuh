// The launch of fp16x3: the pass and the product. The fallback is the plan's (plan/plan.h).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "device/fallback_counter.h"
#include "kernels/fp16x3/fp16x3.cuh"
#include "kernels/fp16x3/instances.h"
#include "kernels/fp16x3/launch_split.h"
#include "kernels/wgmma_tma/launch.cuh"
#include "kernels/wgmma_tma/schedule.h"

namespace xgemm::kernels {

template <>
struct Launch<Family::fp16x3> {
  template <class Entry>
  static cudaError_t instance(const GemmParams& g, const Schedule& schedule, void* workspace, cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    const auto split = [&](const SplitParams& p) { return (error = launch_split(p, stream)) == cudaSuccess; };
    const auto multiply = [&](const GemmParams& product) {
      const Schedule own =
          wgmma_tma_block_schedule(Entry::kConfig, schedule, product.m, product.n, product.batch_count);
      error = launch_wgmma_tma(wgmma_tma_instance<Entry>(), product, own, nullptr, stream);
      return error == cudaSuccess;
    };
    run_split_product(g, schedule.workspace_bytes, workspace, device::fallback_counter(), split, multiply);
    return error;
  }
};

}  // namespace xgemm::kernels
