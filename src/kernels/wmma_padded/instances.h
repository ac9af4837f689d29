// The instances of wmma_padded: with padding (pP: P elements) and without, to see what it buys.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct WmmaPadded;

template <>
struct Instances<Family::wmma_padded> : TileInstances {
  template <TileConfig kConfig>
  using Kernel = WmmaPadded<kConfig, LinearCombination>;

  template <class Add>
  static constexpr void list(const Add& add) {
    for (const int pad : {0, 8})
      add_flags(TileConfig{.type = DType::f16,
                           .cta_m = 128,
                           .cta_n = 256,
                           .cta_k = 32,
                           .warp_m = 64,
                           .warp_n = 64,
                           .stages = 3,
                           .copy = Copy::async,
                           .pad = pad,
                           .vector = 8,
                           .vector_c = 1,
                           .min_compute_capability = 80},
                kAllFlags, add);
  }

  static constexpr void describe(InstanceName& name, const TileConfig& c) {
    name << "_" << c.cta_m << "x" << c.cta_n << "x" << c.cta_k << "_p" << c.pad << "_s" << c.stages;
  }
};

}  // namespace xgemm::kernels
