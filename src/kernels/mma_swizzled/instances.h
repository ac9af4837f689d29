// The instances of mma_swizzled: tiles, and the products that each is made for.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct MmaSwizzled;
template <TileConfig kConfig, class Epilogue, bool kFollows = false>
struct MmaSwizzledShifting;

template <>
struct Instances<Family::mma_swizzled> : TileInstances {
  template <TileConfig kConfig>
  using Kernel =
      std::conditional_t<kConfig.copy == Copy::async, MmaSwizzled<kConfig, LinearCombinationOf<kConfig.type>>,
                         MmaSwizzledShifting<kConfig, LinearCombinationOf<kConfig.type>>>;

  // Kinds of products: of operands that cp.async can copy, with C of 16 bits and in fp32; of operands that start
  // anywhere, for so little work that copies of these would take longer, and for GPUs without memory for copies;
  // doubles, by pairs, and one by one, which cp.async copies wherever they start.
  enum : unsigned { kC16 = 1, kC32 = 2, kAnywhere = 4, kPairs = 8, kDoubles = 16 };

  struct Product {
    DType type, type_c;
    Copy copy;
    unsigned kind;
    int vector;
  };
  static constexpr Product kProducts[] = {
      {DType::f16, DType::f16, Copy::async, kC16, 8},         {DType::bf16, DType::bf16, Copy::async, kC16, 8},
      {DType::f16, DType::f16, Copy::prefetch, kAnywhere, 1}, {DType::bf16, DType::bf16, Copy::prefetch, kAnywhere, 1},
      {DType::f16, DType::f32, Copy::async, kC32, 8},         {DType::f16, DType::f32, Copy::prefetch, kAnywhere, 1},
      {DType::bf16, DType::f32, Copy::async, kC32, 8},        {DType::bf16, DType::f32, Copy::prefetch, kAnywhere, 1},
      {DType::f64, DType::f64, Copy::async, kPairs, 2},       {DType::f64, DType::f64, Copy::async, kDoubles, 1}};

  // stages: of cp.async. What comes through registers takes two.
  struct Tile {
    int cta_m, cta_n, cta_k, warp_m, warp_n, stages;
    unsigned products;
  };
  static constexpr Tile kTiles[] = {{128, 256, 32, 64, 64, 4, kC16},
                                    {128, 128, 32, 64, 64, 4, kC16 | kC32},
                                    {64, 64, 64, 32, 32, 4, kC16 | kC32 | kAnywhere},
                                    {128, 128, 16, 64, 32, 4, kPairs | kDoubles},
                                    {128, 64, 16, 64, 32, 4, kPairs},
                                    {32, 32, 32, 16, 16, 4, kPairs | kDoubles}};

  // Large tiles of 16 bits: sm_90 has wgmma, and for later GPUs the driver compiles them.
  static constexpr bool for_sm80(const TileConfig& c) { return size_of(c.type) == 2 && c.cta_m * c.cta_n > 64 * 64; }

  // Whether it has a twin that finds the matrices of a batch by pointers, which may lead anywhere.
  static constexpr bool follows(const TileConfig& c) { return c.copy == Copy::prefetch && c.type_c == c.type; }

  template <class Add>
  static constexpr void list(const Add& add) {
    for (const Product& product : kProducts)
      for (const Tile& tile : kTiles) {
        if (!(tile.products & product.kind)) continue;
        const bool async = product.copy == Copy::async;
        add_flags(TileConfig{.type = product.type,
                             .type_c = product.type_c,
                             .cta_m = tile.cta_m,
                             .cta_n = tile.cta_n,
                             .cta_k = tile.cta_k,
                             .warp_m = tile.warp_m,
                             .warp_n = tile.warp_n,
                             .stages = async ? tile.stages : 2,
                             .copy = product.copy,
                             .vector = product.vector,
                             .vector_c = 1,
                             .min_compute_capability = 80},
                  kAllFlags, add);
      }
  }
};

}  // namespace xgemm::kernels
