// The instances of wgmma_tma as the launch takes them.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/launch_instance.cuh"
#include "kernels/wgmma_tma/instances.h"
#include "kernels/wgmma_tma/launch.h"
#include "kernels/wgmma_tma/wgmma_tma.cuh"

namespace xgemm::kernels {

template <class Entry, class Epilogue>
struct WgmmaTmaOf {
  using Kernel = WgmmaTma<Entry::kConfig, Epilogue>;
};

// Params: those of the kernel. As a parameter of the template they are short in its name.
template <class Entry, class Epilogue, class Params>
__global__ void __launch_bounds__(KernelOf<Entry>::kThreads, WgmmaTmaOf<Entry, Epilogue>::Kernel::kMinBlocksPerSm)
    wgmma_tma_entry(const __grid_constant__ Params params) {
  using Kernel = typename WgmmaTmaOf<Entry, Epilogue>::Kernel;
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  if constexpr (gpu::kArch >= Kernel::kMinArch) {
    Kernel::run(params, Kernel::Cta::storage(params, dynamic_shared));
  }
}

template <class Entry, class Epilogue>
WgmmaTmaEntry wgmma_tma_kernel() {
  static SharedOptIn opt_in;
  using Params = typename KernelOf<Entry>::Params;
  return {reinterpret_cast<const void*>(wgmma_tma_entry<Entry, Epilogue, Params>), opt_in};
}

template <class Instance>
const WgmmaTmaInstance& wgmma_tma_instance() {
  constexpr WgmmaTmaConfig kConfig = Instance::kConfig;
  static_assert(2 * (kConfig.shared_bytes() + 1024) > 228 * 1024,
                "one CTA on an SM, but where it gets fewer slots: by that resident clusters are counted");
  using Code = typename Instance::Code;
  using Kernel = KernelOf<Code>;
  static_assert(Code::kConfig == kConfig.code());
  static const WgmmaTmaInstance instance = {.config = kConfig,
                                            .boxes = wgmma_tma_boxes(kConfig),
                                            .shared_bytes = sizeof(typename Kernel::SharedStorage),
                                            .plain = wgmma_tma_kernel<Code, LinearCombination>(),
                                            .finishing = wgmma_tma_kernel<Code, typename Kernel::Finishing>(),
                                            .following = wgmma_tma_kernel<Code, typename Kernel::Finding>()};
  return instance;
}

template <>
struct Launch<Family::wgmma_tma> {
  template <class Entry>
  static cudaError_t instance(const GemmParams& params, const Schedule& schedule, void* workspace,
                              cudaStream_t stream) {
    return launch_wgmma_tma(wgmma_tma_instance<Entry>(), params, schedule, workspace, stream);
  }
};

}  // namespace xgemm::kernels
