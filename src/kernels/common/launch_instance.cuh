// Defines the launcher of one instance; the families' .cu files use it.
#pragma once

#include "kernels/common/kernel_entry.cuh"
#include "kernels/common/smem.cuh"
#include "kernels/launchers.h"

namespace xgemm::kernels {

// More dynamic shared memory than the default needs an opt-in, once per kernel and device. The attribute sticks to the
// device's primary context; setting it again is cheap and harmless.
template <class Kernel>
cudaError_t launch_instance(const GemmParams& params, cudaStream_t stream) {
  constexpr int kBytes = kSharedBytes<Kernel>;
  if constexpr (kBytes > kDefaultSharedBytes) {
    const cudaError_t error =
        cudaFuncSetAttribute(kernel_entry<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
    if (error != cudaSuccess) return error;
  }
  const GridDim grid = Kernel::grid(params);
  const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), static_cast<unsigned>(grid.z));
  kernel_entry<Kernel><<<blocks, Kernel::kThreads, kBytes, stream>>>(params);
  return cudaGetLastError();
}

#define XGEMM_DEFINE_LAUNCHER(name, ...)                                                              \
  cudaError_t launch_##name(const GemmParams& params, const Schedule&, float*, cudaStream_t stream) { \
    return launch_instance<__VA_ARGS__>(params, stream);                                              \
  }

}  // namespace xgemm::kernels
