// The launch of the pass before an fp16x3 product.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/common/early_launch.h"
#include "kernels/fp16x3/launch_split.h"
#include "kernels/fp16x3/split.cuh"

namespace xgemm::kernels {
namespace {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, Kernel::kMinBlocksPerSm)
    split_entry(const __grid_constant__ SplitParams params) {
  __shared__ typename Kernel::SharedStorage shared;
  if constexpr (gpu::kArch >= Kernel::kMinArch) Kernel::run(params, shared);
}

}  // namespace

cudaError_t launch_split(const SplitParams& params, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  if (params.clears) error = launch_early(split_entry<SplitClear>, 1, SplitClear::kThreads, stream, params);
  const auto cluster = static_cast<unsigned>(params.ctas);
  const auto ctas = static_cast<unsigned>(params.clusters()) * cluster;
  if (error != cudaSuccess || ctas == 0) return error;
  return launch_early(split_entry<SplitPass>, ctas, SplitPass::kThreads, stream, params, 0, cluster);
}

}  // namespace xgemm::kernels
