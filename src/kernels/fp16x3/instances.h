// The instances of fp16x3: tiles of wgmma_tma for operands in two parts, both along k.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/instance_list.h"
#include "kernels/wgmma_tma/config.h"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig, class Epilogue>
struct WgmmaTma;

template <>
struct Instances<Family::fp16x3> {
  using Config = WgmmaTmaConfig;
  template <WgmmaTmaConfig kConfig>
  using Kernel = WgmmaTma<kConfig, LinearCombination>;

  template <class Add>
  static constexpr void list(const Add& add) {
    constexpr WgmmaTmaConfig kTiles[] = {
        {.cta_m = 128, .cta_n = 128, .stages = 3},
        {.cta_m = 128, .cta_n = 64, .stages = 4},
    };
    for (const WgmmaTmaConfig& tile : kTiles) {
      WgmmaTmaConfig c = tn(tile);
      c.type = c.type_c = DType::f32;
      c.element = DType::f16;
      c.planes = 2;
      add(c);
    }
  }

  static constexpr void describe(InstanceName& name, const WgmmaTmaConfig& c) {
    name << "_" << c.cta_m << "x" << c.cta_n << "x" << c.cta_k() << "_s" << c.stages;
  }

  static constexpr KernelInfo common(const WgmmaTmaConfig& c) {
    return {.config = {.type = c.type,
                       .type_c = c.type_c,
                       .compute = Compute::fp32_emulated,
                       .cta_m = c.cta_m,
                       .cta_n = c.cta_n,
                       .cta_k = c.cta_k(),
                       .stages = c.stages,
                       .copy = Copy::bulk,
                       .any_strides = true,
                       .vector_c = 1,
                       .min_compute_capability = 90,
                       .later_architectures = false},
            .threads = c.threads()};
  }
};

}  // namespace xgemm::kernels
