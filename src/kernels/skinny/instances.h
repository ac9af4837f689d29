// The instances of skinny: products that are narrow along n, which stream A, and along m, which stream B; with vectors
// of 16 bytes, and of one element for operands that start anywhere.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct Skinny;

// What follows from a config.
struct SkinnyShape {
  static constexpr int kWarps = 8;

  bool streams_b;   // else A
  bool along_k;     // the streamed operand is contiguous along k, else along its other axis
  int rows, width;  // of a tile: along the streamed operand, and across

  static constexpr SkinnyShape of(const TileConfig& c) {
    const bool streams_b = c.cta_m < c.cta_n;
    return {streams_b, streams_b ? c.b_contiguous == Axis::row : c.a_contiguous == Axis::col,
            streams_b ? c.cta_n : c.cta_m, streams_b ? c.cta_m : c.cta_n};
  }
};

template <>
struct Instances<Family::skinny> : TileInstances {
  template <TileConfig kConfig>
  using Kernel = Skinny<kConfig, LinearCombination>;

  template <class Add>
  static constexpr void list(const Add& add) {
    for (const int width : {4, 8})
      for (const int vector : {4, 1})
        for (const bool streams_b : {false, true})
          for (const Axis a : {Axis::row, Axis::col})
            for (const Axis b : {Axis::row, Axis::col}) {
              TileConfig c = {.type = DType::f32, .a_contiguous = a, .b_contiguous = b, .vector = vector};
              const bool along_k = streams_b ? b == Axis::row : a == Axis::col;
              // Along k a warp has a few lines, and its lanes lie along them. Else lanes lie across the lines, and
              // warps share k.
              const int rows = along_k ? SkinnyShape::kWarps * width / 2 : 128;
              c.cta_m = streams_b ? width : rows;
              c.cta_n = streams_b ? rows : width;
              c.cta_k = !along_k ? 64 : vector == 1 || width == 8 ? 128 : 256;
              (streams_b ? c.single_a : c.single_b) = true;  // the narrow operand comes element by element
              c.vector_c = 1;
              c.raster_group = 1;
              add(c);
            }
  }
  static constexpr KernelInfo common(const TileConfig& c) { return {.config = c, .threads = 32 * SkinnyShape::kWarps}; }
};

}  // namespace xgemm::kernels
