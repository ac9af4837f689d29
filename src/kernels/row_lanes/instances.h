// The instances of row_lanes: tiles of fp32, each of which serves any flags, strides and alignment.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct RowLanes;

// That registers leave room for, which sums and what is on its way need.
constexpr int row_lanes_ctas_per_sm(const TileConfig& c) {
  return c.thread_m * c.thread_n > 16 ? 4 : 5;
}

template <>
struct Instances<Family::row_lanes> : TileInstances {
  template <TileConfig kConfig>
  using Kernel = RowLanes<kConfig, LinearCombination>;

  // Of C: of a CTA, and of a lane.
  struct Tile {
    int cta_m, cta_n, thread_m, thread_n;
  };

  template <class Add>
  static constexpr void list(const Add& add) {
    constexpr Tile kTiles[] = {{64, 32, 2, 8}, {128, 32, 4, 8}};
    for (const Tile& tile : kTiles) {
      add({.type = DType::f32,
           .cta_m = tile.cta_m,
           .cta_n = tile.cta_n,
           .cta_k = 16,
           .thread_m = tile.thread_m,
           .thread_n = tile.thread_n,
           .stages = 2,
           .copy = Copy::prefetch,
           .any_strides = true,
           .min_compute_capability = 90});  // measured nowhere else
    }
  }
};

}  // namespace xgemm::kernels
