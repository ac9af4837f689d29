// The instances of warp_tiled: one or two square tiles for each type, which serve any flags, strides and alignment; of
// 16 bits also tiles for few rows or columns; of fp32 and fp64 one for products that registers alone are too few for.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue, bool kFollows = false>
struct WarpTiled;
template <TileConfig kConfig, class Epilogue, bool kFollows = false>
struct WarpStaged;

// What follows from a config.
struct WarpTiledShape {
  static constexpr int kWarps = 4;  // of a CTA, each with a tile of its own

  // A lane's part of a tile of C, and how many elements of a slice of A and of B it brings along K. On tensor cores
  // lanes share K; else each has all of it.
  int rows, columns, lines_b, depth;
  int ctas_per_sm;  // that registers leave room for

  // Elements of the widest vector along so many.
  static constexpr int vector(int element_bytes, int elements) {
    return elements < 16 / element_bytes ? elements : 16 / element_bytes;
  }

  static constexpr WarpTiledShape of(const TileConfig& c) {
    const bool shares_k = c.on_tensor_cores();
    return {c.cta_m / 8, c.cta_n / 4, shares_k ? c.cta_n / 8 : c.cta_n / 4, shares_k ? c.cta_k / 4 : c.cta_k,
            c.cta_m == c.cta_n ? 4 : 3};
  }
};

// The same of the instances that stage slices in shared memory, which is what limits how many CTAs an SM holds.
struct WarpStagedShape {
  static constexpr int kWarps = 2;

  int line_a, line_b;  // elements from one k of a slice to the next
  int ctas_per_sm;

  static constexpr bool is(const TileConfig& c) { return c.copy == Copy::async; }
  static constexpr WarpStagedShape of(const TileConfig& c) {
    const int pad = c.type == DType::f64 ? 4 : 2;
    return {c.cta_m + pad, c.cta_n + pad, c.type == DType::f64 ? 4 : 8};
  }
};

template <>
struct Instances<Family::warp_tiled> : TileInstances {
  template <TileConfig kConfig>
  using Kernel =
      std::conditional_t<WarpStagedShape::is(kConfig), WarpStaged<kConfig, LinearCombinationOf<kConfig.type>>,
                         WarpTiled<kConfig, LinearCombinationOf<kConfig.type>>>;

  template <class Add>
  static constexpr void list(const Add& add) {
    struct Types {
      DType type, type_c;
    };
    constexpr Types kOf16Bits[] = {
        {DType::f16, DType::f16}, {DType::bf16, DType::bf16}, {DType::f16, DType::f32}, {DType::bf16, DType::f32}};
    const auto add_squares = [&](DType type, DType type_c) {
      for (const int tile : {16, 32}) {
        if (type == DType::f64 && tile == 32) continue;  // registers leave too little room
        TileConfig c = {.type = type, .type_c = type_c, .cta_m = tile, .cta_n = tile, .vector_c = 1};
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
        c.min_compute_capability = type == type_c ? 80 : 90;  // what is for 90 was measured nowhere else
        add(c);
      }
    };
    for (const DType type : {DType::f32, DType::f64}) add_squares(type, type);
    for (const auto& [type, type_c] : kOf16Bits) add_squares(type, type_c);
    // A warp has more of the long operand on its way.
    for (const auto& [type, type_c] : kOf16Bits)
      for (const bool few_rows : {true, false}) {
        TileConfig c = {.type = type, .type_c = type_c, .any_strides = true, .vector_c = 1};
        c.cta_m = c.warp_m = few_rows ? 16 : 64;
        c.cta_n = c.warp_n = few_rows ? 64 : 16;
        c.cta_k = 32;
        c.min_compute_capability = 90;
        add(c);
      }
    for (const DType type : {DType::f32, DType::f64}) {
      TileConfig c = {.type = type, .type_c = type, .copy = Copy::async, .any_strides = true};
      c.cta_m = type == DType::f64 ? 48 : 40;
      c.cta_n = 40;
      c.cta_k = 16;
      c.stages = 2;
      if (type == DType::f64) {
        c.warp_m = c.cta_m;
        c.warp_n = c.cta_n;
      } else {
        c.thread_m = c.cta_m / 8;
        c.thread_n = c.cta_n / 4;
      }
      c.vector_c = 1;
      c.min_compute_capability = 90;
      add(c);
    }
  }
  static constexpr KernelInfo common(const TileConfig& c) {
    return {.config = c, .threads = 32 * (WarpStagedShape::is(c) ? WarpStagedShape::kWarps : WarpTiledShape::kWarps)};
  }
};

}  // namespace xgemm::kernels
