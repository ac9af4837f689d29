// The instances of ffma_tma: tiles. Each serves all flags and alignments.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/instance_list.h"
#include "kernels/ffma_tma/config.h"

namespace xgemm::kernels {

template <FfmaTmaConfig kConfig, class Epilogue>
struct FfmaTma;

template <>
struct Instances<Family::ffma_tma> {
  using Config = FfmaTmaConfig;
  template <FfmaTmaConfig kConfig>
  using Kernel = FfmaTma<kConfig, LinearCombination>;

  template <class Add>
  static constexpr void list(const Add& add) {
    constexpr FfmaTmaConfig kTiles[] = {
        {.cta_m = 256, .cta_n = 128, .thread_m = 16, .depth = 32, .stages = 4, .follows = true},
        {.cta_m = 128, .cta_n = 128, .depth = 16, .stages = 8},
        {.cta_m = 128, .cta_n = 64, .depth = 16, .stages = 6},
        {.cta_m = 64, .cta_n = 64, .depth = 16, .stages = 6, .consumer_warps = 4, .ctas_per_sm = 2, .follows = true},
        {.cta_m = 64, .cta_n = 32, .lanes_m = 8, .depth = 8, .stages = 6},
        {.cta_m = 32, .cta_n = 64, .depth = 8, .stages = 6},
        {.cta_m = 32, .cta_n = 32, .thread_m = 4, .lanes_m = 8, .depth = 8, .stages = 8},
        {.cta_m = 64, .cta_n = 32, .lanes_m = 8, .depth = 8, .stages = 6, .consumer_warps = 4, .ctas_per_sm = 2},
        {.cta_m = 32, .cta_n = 64, .depth = 8, .stages = 6, .consumer_warps = 4, .ctas_per_sm = 2},
        {.cta_m = 32,
         .cta_n = 32,
         .thread_m = 4,
         .lanes_m = 8,
         .depth = 8,
         .stages = 8,
         .consumer_warps = 4,
         .ctas_per_sm = 2},
    };
    // For few rows or columns, which leave a panel of 32 half empty: each along m and along n.
    struct Narrow {
      int length, depth, stages;
      bool follows = false;
    };
    constexpr Narrow kNarrow[] = {{64, 8, 8, true}, {64, 16, 4}, {128, 16, 5}};
    // For short K: no groups that would have to exchange their sums.
    constexpr FfmaTmaConfig kShortK[] = {
        {.cta_m = 128, .cta_n = 64, .depth = 16, .stages = 6, .consumer_warps = 4, .ctas_per_sm = 2, .follows = true},
        {.cta_m = 64,
         .cta_n = 64,
         .thread_n = 4,
         .depth = 16,
         .stages = 8,
         .consumer_warps = 4,
         .ctas_per_sm = 2,
         .follows = true},
        // Two groups, where tiles of 8 x 8 sums have four.
        {.cta_m = 64, .cta_n = 32, .thread_n = 4, .depth = 16, .stages = 5, .consumer_warps = 4, .ctas_per_sm = 2},
    };
    for (const FfmaTmaConfig& tile : kTiles) add(tile);
    for (const auto& [length, depth, stages, follows] : kNarrow) {
      const FfmaTmaConfig tile = {
          .depth = depth, .stages = stages, .consumer_warps = 4, .ctas_per_sm = 2, .follows = follows};
      FfmaTmaConfig tall = tile, flat = tile;
      tall.cta_m = length, tall.cta_n = 16, tall.thread_n = 4, tall.lanes_m = 8;
      flat.cta_m = 16, flat.cta_n = length, flat.thread_m = 4;
      add(tall);
      add(flat);
    }
    for (const FfmaTmaConfig& tile : kShortK) add(tile);
  }

  static constexpr void describe(InstanceName& name, const FfmaTmaConfig& c) {
    name << "_" << c.cta_m << "x" << c.cta_n << "x" << c.cta_k() << "_s" << c.stages;
    if (c.ctas_per_sm > 1) name << "_x" << c.ctas_per_sm;
  }

  static constexpr KernelInfo common(const FfmaTmaConfig& c) {
    return {.config = {.type = DType::f32,
                       .type_c = DType::f32,
                       .cta_m = c.cta_m,
                       .cta_n = c.cta_n,
                       .cta_k = c.cta_k(),
                       .thread_m = c.thread_m,
                       .thread_n = c.thread_n,
                       .stages = c.stages,
                       .copy = Copy::bulk,
                       .any_strides = true,
                       .vector_c = 1,
                       .min_compute_capability = 90,
                       .later_architectures = false},
            .threads = c.threads()};
  }
};

}  // namespace xgemm::kernels
