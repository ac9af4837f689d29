// The instances of warp_tiled: one or two tiles for each type, which serve any flags, strides and alignment.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct WarpTiled;

// What follows from a config.
struct WarpTiledShape {
  static constexpr int kWarps = 4;      // of a CTA, each with a tile of its own
  static constexpr int kCtasPerSm = 4;  // that registers leave room for

  // A lane's part of a tile of C, and how many elements of a slice of A and of B it brings along K. On tensor cores
  // lanes share K; else each has all of it.
  int rows, columns, lines_b, depth;

  // Elements of the widest vector along so many.
  static constexpr int vector(int element_bytes, int elements) {
    return elements < 16 / element_bytes ? elements : 16 / element_bytes;
  }

  static constexpr WarpTiledShape of(const TileConfig& c) {
    const bool shares_k = c.on_tensor_cores();
    return {c.cta_m / 8, c.cta_n / 4, shares_k ? c.cta_n / 8 : c.cta_n / 4, shares_k ? c.cta_k / 4 : c.cta_k};
  }
};

template <>
struct Instances<Family::warp_tiled> : TileInstances {
  template <TileConfig kConfig>
  using Kernel = WarpTiled<kConfig, LinearCombinationOf<kConfig.type>>;

  template <class Add>
  static constexpr void list(const Add& add) {
    for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16})
      for (const int tile : {16, 32}) {
        if (type == DType::f64 && tile == 32) continue;  // registers leave too little room
        TileConfig c = {.type = type, .type_c = type, .cta_m = tile, .cta_n = tile};
        if (type == DType::f32) {
          c.cta_k = tile == 32 ? 4 : 8;
          c.thread_m = tile / 8;
          c.thread_n = tile / 4;
        } else {
          c.cta_k = type == DType::f64 ? 8 : 32;
          c.warp_m = tile;
          c.warp_n = tile;
        }
        c.any_strides = true;
        c.vector_c = 1;
        c.min_compute_capability = 80;
        add(c);
      }
  }
  static constexpr KernelInfo common(const TileConfig& c) {
    return {.config = c, .threads = 32 * WarpTiledShape::kWarps};
  }
};

}  // namespace xgemm::kernels
