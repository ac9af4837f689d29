// The instances of wgmma_tma as the launch takes them.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/launch_instance.cuh"
#include "kernels/wgmma_tma/instances.h"
#include "kernels/wgmma_tma/launch.h"
#include "kernels/wgmma_tma/wgmma_tma.cuh"

namespace xgemm::kernels {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, 1)
    wgmma_tma_entry(const __grid_constant__ typename Kernel::Params params) {
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  if constexpr (gpu::kArch >= Kernel::kMinArch) {
    Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(dynamic_shared));
  }
}

template <class Kernel>
WgmmaTmaEntry wgmma_tma_kernel() {
  static SharedOptIn opt_in;
  return {reinterpret_cast<const void*>(wgmma_tma_entry<Kernel>), opt_in};
}

template <WgmmaTmaConfig kConfig>
const WgmmaTmaInstance& wgmma_tma_instance() {
  static_assert(2 * (kConfig.shared_bytes() + 1024) > 228 * 1024,
                "one CTA on an SM: by that resident clusters are counted");
  constexpr WgmmaTmaConfig kCode = kConfig.code();
  static const WgmmaTmaInstance instance = {.config = kConfig,
                                            .boxes = wgmma_tma_boxes(kConfig),
                                            .shared_bytes = sizeof(typename WgmmaTma<kCode>::SharedStorage),
                                            .plain = wgmma_tma_kernel<WgmmaTma<kCode>>(),
                                            .finishing = wgmma_tma_kernel<WgmmaTmaTwin<kCode>>(),
                                            .following = wgmma_tma_kernel<WgmmaTmaFollower<kCode>>()};
  return instance;
}

template <>
struct Launch<Family::wgmma_tma> {
  template <WgmmaTmaConfig kConfig>
  static cudaError_t instance(const GemmParams& params, const Schedule& schedule, void* workspace,
                              cudaStream_t stream) {
    return launch_wgmma_tma(wgmma_tma_instance<kConfig>(), params, schedule, workspace, stream);
  }
};

}  // namespace xgemm::kernels
