// The instances of smem_tiled.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct SmemTiled;

template <>
struct Instances<Family::smem_tiled> : TileInstances {
  template <TileConfig kConfig>
  using Kernel = SmemTiled<kConfig, LinearCombinationOf<kConfig.type>>;

  template <class Add>
  static constexpr void list(const Add& add) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64})
      add_flags(TileConfig{.type = type, .cta_m = 32, .cta_n = 32, .cta_k = 32}, kAllFlags, add);
  }
};

}  // namespace xgemm::kernels
