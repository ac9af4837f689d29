// Runs wgmma_words kernels in the simulator: as those of wgmma_tma.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/wgmma_words/instances.h"
#include "wgmma_tma.h"

namespace xgemm::sim {

template <kernels::WgmmaTmaConfig kConfig>
SimKernel make_wgmma_words(const char* name) {
  return {name, "wgmma_words", kernels::Instances<kernels::Family::wgmma_words>::common(kConfig).config,
          static_cast<int>(sizeof(typename kernels::WgmmaTma<kConfig>::SharedStorage)), run_wgmma_tma<kConfig>};
}

template <>
struct Simulated<kernels::Family::wgmma_words> {
  template <kernels::WgmmaTmaConfig kConfig>
  static SimKernel kernel(const kernels::KernelInfo& info) {
    return make_wgmma_words<kConfig>(info.name);
  }
};

}  // namespace xgemm::sim
