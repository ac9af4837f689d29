// The instances of tiny_batched: one for each product of types that there is, which serves any flags, strides and
// alignment.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/portability.h"
#include "kernels/common/all_products.h"
#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct TinyBatched;

// What follows from a config and the extents of C, whose tiles are products of their own.
struct TinyBatchedShape {
  // That registers leave room for.
  static constexpr int ctas_per_sm(const TileConfig& c) { return c.type == DType::f64 ? 3 : 4; }

  unsigned blocks_m, blocks;  // of a tile, one for each thread: down a column of them, and all
  unsigned products;          // of a CTA, or tiles of them, at a time

  XGEMM_HOST_DEVICE static constexpr TinyBatchedShape of(const TileConfig& c, std::int64_t m, std::int64_t n) {
    const unsigned blocks_m = count(m, c.cta_m, c.thread_m), blocks = blocks_m * count(n, c.cta_n, c.thread_n);
    return {blocks_m, blocks, static_cast<unsigned>(c.threads()) / blocks};
  }

 private:
  XGEMM_HOST_DEVICE static constexpr unsigned count(std::int64_t extent, int most, int block) {
    return static_cast<unsigned>(extent < most ? extent + block - 1 : most) / static_cast<unsigned>(block);
  }
};

template <>
struct Instances<Family::tiny_batched> : TileInstances {
  template <TileConfig kConfig>
  using Kernel = TinyBatched<kConfig, LinearCombinationOf<kConfig.type>>;

  template <class Add>
  static constexpr void list(const Add& add) {
    for (const ProductTypes& types : kAllProducts)
      add(TileConfig{.type = types.a,
                     .type_c = types.c,
                     .cta_m = 32,
                     .cta_n = 32,
                     .cta_k = 4,
                     .thread_m = 2,
                     .thread_n = 2,
                     .any_strides = true,
                     .vector_c = 1,
                     .min_compute_capability = 80});
  }
};

}  // namespace xgemm::kernels
