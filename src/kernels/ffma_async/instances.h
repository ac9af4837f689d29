// The instances of ffma_async: tiles of fp32, each of which serves any flags, strides and alignment.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue, bool kFollows = false>
struct FfmaAsync;

// That registers leave room for, which sums and fragments need.
constexpr int ffma_async_ctas_per_sm(const TileConfig& c) {
  return (c.thread_m * c.thread_n > 16 ? 640 : 1024) / c.threads();
}

template <>
struct Instances<Family::ffma_async> : TileInstances {
  template <TileConfig kConfig>
  using Kernel = FfmaAsync<kConfig, LinearCombination>;

  // Of C: of a CTA, and of a thread.
  struct Tile {
    int cta_m, cta_n, thread_m, thread_n, stages;
  };

  template <class Add>
  static constexpr void list(const Add& add) {
    constexpr Tile kTiles[] = {{32, 32, 4, 4, 6}, {64, 32, 4, 4, 4}, {64, 64, 8, 4, 3}, {128, 32, 8, 4, 3}};
    for (const Tile& tile : kTiles) {
      add({.type = DType::f32,
           .cta_m = tile.cta_m,
           .cta_n = tile.cta_n,
           .cta_k = 16,
           .thread_m = tile.thread_m,
           .thread_n = tile.thread_n,
           .stages = tile.stages,
           .copy = Copy::async,
           .any_strides = true,
           .min_compute_capability = 90});  // measured nowhere else
    }
  }

  static constexpr void describe(InstanceName& name, const TileConfig& c) {
    name << "_" << c.cta_m << "x" << c.cta_n << "x" << c.cta_k << "_" << c.thread_m << "x" << c.thread_n << "_s"
         << c.stages;
  }
};

}  // namespace xgemm::kernels
