// The instances of thread_tiled: with vectors of 16 bytes, and of one element for operands that start anywhere.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct ThreadTiled;

template <>
struct Instances<Family::thread_tiled> : TileInstances {
  template <TileConfig kConfig>
  using Kernel = ThreadTiled<kConfig, LinearCombination>;

  struct Tile {
    DType type;
    int cta_k, vector;
  };

  template <class Add>
  static constexpr void list(const Add& add) {
    // Of fp16 that is not aligned, double_buffered has the same tile.
    constexpr Tile kTiles[] = {{DType::f32, 8, 4}, {DType::f32, 8, 1}, {DType::f16, 16, 8}};
    for (const Tile& tile : kTiles)
      add_flags(TileConfig{.type = tile.type,
                           .cta_m = 128,
                           .cta_n = 64,
                           .cta_k = tile.cta_k,
                           .thread_m = 8,
                           .thread_n = 8,
                           .vector = tile.vector},
                kAllFlags, add);
  }
};

}  // namespace xgemm::kernels
