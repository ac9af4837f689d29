// The launch of wgmma_words.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/wgmma_tma/launch.cuh"
#include "kernels/wgmma_words/instances.h"

namespace xgemm::kernels {

template <>
struct Launch<Family::wgmma_words> {
  template <class Entry>
  static cudaError_t instance(const GemmParams& params, const Schedule& schedule, void* workspace,
                              cudaStream_t stream) {
    return launch_wgmma_tma(wgmma_tma_instance<Entry>(), params, schedule, workspace, stream);
  }
};

}  // namespace xgemm::kernels
