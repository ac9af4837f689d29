// The launches of the passes before an fp16x3 product.
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
  const cudaError_t error = launch_early(split_entry<SplitMeasure>, static_cast<unsigned>(params.measure_ctas()),
                                         SplitParams::kThreads, stream, params);
  if (error != cudaSuccess) return error;
  return launch_early(split_entry<SplitParts>, static_cast<unsigned>(params.split_ctas()), SplitParams::kThreads,
                      stream, params);
}

}  // namespace xgemm::kernels
