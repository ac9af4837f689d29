// The instances of dmma_tma: tiles, for all flags.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct DmmaTma;

template <>
struct Instances<Family::dmma_tma> : TileInstances {
  template <TileConfig kConfig>
  using Kernel = DmmaTma<kConfig, LinearCombinationOf<kConfig.type>>;

  template <class Add>
  static constexpr void list(const Add& add) {
    struct Tile {
      int cta_m, cta_n, warp_m, warp_n, stages;
    };
    constexpr Tile kTiles[] = {{128, 128, 64, 32, 5}, {128, 64, 32, 32, 7}, {96, 64, 48, 16, 8}};
    for (const Tile& tile : kTiles)
      add_flags(TileConfig{.type = DType::f64,
                           .cta_m = tile.cta_m,
                           .cta_n = tile.cta_n,
                           .cta_k = 16,
                           .warp_m = tile.warp_m,
                           .warp_n = tile.warp_n,
                           .stages = tile.stages,
                           .copy = Copy::bulk,
                           .min_compute_capability = 90,
                           .later_architectures = false},
                kAllFlags, add);
  }

  // A warpgroup of producers beside those that compute.
  static constexpr KernelInfo common(const TileConfig& c) { return {.config = c, .threads = c.threads() + 128}; }
};

}  // namespace xgemm::kernels
