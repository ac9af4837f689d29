// The instances of ffma_tma as the launch takes them.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/launch_instance.cuh"
#include "kernels/ffma_tma/ffma_tma.cuh"
#include "kernels/ffma_tma/instances.h"
#include "kernels/ffma_tma/launch.h"

namespace xgemm::kernels {

template <class Entry, class Epilogue>
struct FfmaTmaOf {
  using Kernel = FfmaTma<Entry::kConfig, Epilogue>;
};

template <class Entry, class Epilogue>
__global__ void __launch_bounds__(KernelOf<Entry>::kThreads, KernelOf<Entry>::kCtasPerSm)
    ffma_tma_entry(const __grid_constant__ FfmaTmaParams params) {
  using Kernel = typename FfmaTmaOf<Entry, Epilogue>::Kernel;
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  if constexpr (gpu::kArch >= Kernel::kMinArch) {
    Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(dynamic_shared));
  }
}

template <class Entry, class Epilogue>
cudaError_t launch_ffma_tma(const GemmParams& g, const Schedule& schedule, void* workspace, cudaStream_t stream) {
  using Kernel = typename FfmaTmaOf<Entry, Epilogue>::Kernel;
  static SharedOptIn opt_in;
  const FfmaTmaKernel kernel = {.config = Entry::kConfig,
                                .entry = reinterpret_cast<const void*>(ffma_tma_entry<Entry, Epilogue>),
                                .opt_in = opt_in,
                                .threads = Kernel::kThreads,
                                .shared_bytes = sizeof(typename Kernel::SharedStorage)};
  return launch_ffma_tma(kernel, g, schedule, workspace, stream);
}

template <>
struct Launch<Family::ffma_tma> {
  template <class Entry>
  static cudaError_t instance(const GemmParams& params, const Schedule& schedule, void* workspace,
                              cudaStream_t stream) {
    constexpr FfmaTmaConfig kConfig = Entry::kConfig;
    if constexpr (kConfig.finishes()) {
      if (params.finishing.any()) return launch_ffma_tma<Entry, Finished>(params, schedule, workspace, stream);
    }
    if constexpr (kConfig.follows) {
      if (params.c.by_pointers()) return launch_ffma_tma<Entry, Following>(params, schedule, workspace, stream);
    }
    return launch_ffma_tma<Entry, LinearCombination>(params, schedule, workspace, stream);
  }
};

}  // namespace xgemm::kernels
