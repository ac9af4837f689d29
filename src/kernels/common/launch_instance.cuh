// Defines the launcher of one instance; the families' .cu files use it.
#pragma once

#include "kernels/common/kernel_entry.cuh"
#include "kernels/common/smem.cuh"
#include "kernels/common/split_sum.h"
#include "kernels/common/tile_schedule.h"
#include "kernels/launchers.h"

namespace xgemm::kernels {

// More dynamic shared memory than the default needs an opt-in, once per kernel and device. The attribute sticks to the
// device's primary context; setting it again is cheap and harmless.
template <class Kernel>
cudaError_t launch_instance(const GemmParams& params, const Schedule& schedule, float* workspace, cudaStream_t stream) {
  constexpr int kBytes = kSharedBytes<Kernel>;
  if constexpr (kBytes > kDefaultSharedBytes) {
    const cudaError_t error =
        cudaFuncSetAttribute(kernel_entry<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
    if (error != cudaSuccess) return error;
  }
  kernel_entry<Kernel><<<schedule.clusters, Kernel::kThreads, kBytes, stream>>>({params, schedule, workspace});
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess || schedule.split_tiles == 0) return error;
  const SplitSumLayout layout = tile_sum_layout(Kernel::kInstance, schedule);
  return launch_split_sum(Kernel::kInstance.type_c, split_sum_params(params, schedule, workspace, layout), stream);
}

#define XGEMM_DEFINE_LAUNCHER(name, ...)                                                                     \
  cudaError_t launch_##name(const GemmParams& p, const Schedule& s, float* workspace, cudaStream_t stream) { \
    return launch_instance<__VA_ARGS__>(p, s, workspace, stream);                                            \
  }

}  // namespace xgemm::kernels
