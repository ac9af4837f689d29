// The instances of skinny: fp32 products that are narrow along n, which stream A, and along m, which stream B; with
// vectors of 16 bytes, and of one element for operands that start anywhere. And products with a vector, of any type,
// which take operands as they lie.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>
#include <utility>

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct Skinny;
template <TileConfig kConfig, class Epilogue, bool kFollows = false>
struct MatrixVector;
template <TileConfig kConfig, class Epilogue, bool kFollows = false>
struct ShortRows;

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

// The same of the instances for vectors.
struct VectorShape {
  static constexpr int kLongSlice = 256, kShortSlice = 128, kShortRow = 64;
  static constexpr int kGathered = 2048;  // elements of a y that is put together in shared memory

  bool along_k;  // a warp has a row of the matrix; else warps share k
  int rows;      // of a tile
  int warps;
  int ctas_per_sm;
  bool short_rows = false;  // a warp has many rows

  // Loads of the matrix that a thread has under way, of so many elements.
  constexpr int at_once(int element_bytes, int width) const {
    if (width == 1) return element_bytes == 8 ? 8 : 16;
    return along_k && element_bytes > 2 ? 8 : 4;
  }

  // The k that a warp, or warps that share a tile's k, have under way. x_along_k: how the matrix lies.
  constexpr int step(int element_bytes, int width, bool x_along_k) const {
    const int words = element_bytes == 8 ? 2 : 1;  // of a sum
    if (short_rows && x_along_k) return 4 * width * (width == 1 ? 4 : 2) / words;
    if (short_rows) return width * (width == 1 ? 16 : 8) / words;
    return (along_k ? 32 : warps) * width * at_once(element_bytes, width);
  }

  // Vectors that a step of an X along k is multiplied with before it goes.
  static constexpr int together(int element_bytes) { return element_bytes == 2 ? 4 : 2; }

  static constexpr bool is(const TileConfig& c) { return c.cta_m == c.cta_n; }
  static constexpr VectorShape of(const TileConfig& c) {
    if (c.cta_k == kShortRow) return {true, 256, 8, c.type == DType::f64 ? 2 : 3, true};
    if (c.any_strides) return {true, 8, 8, 4};
    return c.cta_k == kLongSlice ? VectorShape{false, 32, 32, 1} : VectorShape{false, 32, 8, 4};
  }
};

template <>
struct Instances<Family::skinny> : TileInstances {
  template <TileConfig kConfig>
  using OfVectors =
      std::conditional_t<VectorShape::of(kConfig).short_rows, ShortRows<kConfig, LinearCombinationOf<kConfig.type>>,
                         MatrixVector<kConfig, LinearCombinationOf<kConfig.type>>>;
  template <TileConfig kConfig>
  using Kernel = std::conditional_t<VectorShape::is(kConfig), OfVectors<kConfig>, Skinny<kConfig, LinearCombination>>;

  template <class Add>
  static constexpr void list(const Add& add) {
    for (const int width : {4, 8})
      for (const int vector : {4, 1})
        for (const bool streams_b : {false, true})
          for (const Axis a : {Axis::row, Axis::col})
            for (const Axis b : {Axis::row, Axis::col}) {
              TileConfig c = {.type = DType::f32, .a_contiguous = a, .b_contiguous = b, .vector = vector};
              const bool along_k = streams_b ? b == Axis::row : a == Axis::col;
              // As fast are single elements of operands across k, but of B beside an A along m, and of eight columns or
              // rows beside an A along k; four rows instead of eight with both across.
              if (vector > 1 && !along_k && (!streams_b || a == Axis::col)) continue;
              if (width == 8 && a == Axis::col && (vector > 1 || (streams_b && !along_k))) continue;
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
    for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16})
      for (const auto& [any_strides, slice] :
           {std::pair{true, VectorShape::kLongSlice}, std::pair{false, VectorShape::kLongSlice},
            std::pair{false, VectorShape::kShortSlice}, std::pair{true, VectorShape::kShortRow}}) {
        TileConfig c = {.type = type, .type_c = type, .any_strides = any_strides};
        c.cta_k = slice;
        c.b_contiguous = Axis::col;  // with op(A) along m; a vector lies along both axes
        c.cta_m = c.cta_n = VectorShape::of(c).rows;
        c.raster_group = 1;
        c.min_compute_capability = 90;  // measured nowhere else
        add(c);
      }
  }
  static constexpr KernelInfo common(const TileConfig& c) {
    return {.config = c, .threads = 32 * (VectorShape::is(c) ? VectorShape::of(c).warps : SkinnyShape::kWarps)};
  }
};

}  // namespace xgemm::kernels
