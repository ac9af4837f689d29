// The instances of wgmma_words: tiles of wgmma_tma whose operands warpgroups bring, and those of which TMA brings one.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include "kernels/common/instance_list.h"
#include "kernels/wgmma_tma/config.h"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig, class Epilogue>
struct WgmmaTma;

template <>
struct Instances<Family::wgmma_words> {
  using Config = WgmmaTmaConfig;
  template <WgmmaTmaConfig kConfig>
  using Kernel = WgmmaTma<kConfig, LinearCombination>;

  template <class Add>
  static constexpr void list(const Add& add) {
    // The smaller tile for few of them, the larger one for many. With two teams the smaller one takes a twentieth more
    // at 511^3, and less at 127^3.
    constexpr WgmmaTmaConfig kTiles[] = {
        {.cta_m = 64, .cta_n = 64, .stages = 8, .groups_rows = 1, .producers = 4, .teams = 2},
        {.cta_m = 64, .cta_n = 32, .stages = 10, .groups_rows = 1, .producers = 4, .teams = 4},
    };
    const auto add_tile = [&](const WgmmaTmaConfig& tile, DType type, DType type_c) {
      WgmmaTmaConfig c = tile;
      c.type = c.element = type;
      c.type_c = type_c;
      c.copy = Copy::prefetch;
      add_flags(c, kAllFlags, [&](const WgmmaTmaConfig& instance) { add_each_type(instance, add); });
    };
    for (const DType type : {DType::f16, DType::bf16})
      for (const WgmmaTmaConfig& tile : kTiles) add_tile(tile, type, type);
    add_tile(kTiles[1], DType::f16, DType::f32);  // the larger one has no registers left
    // Lines that start on 8 bytes are copied to the slots. Copies so short pass through the L1 cache, which is what the
    // ring leaves of the SM's memory: with more slots they take longer.
    constexpr WgmmaTmaConfig kCopied[] = {
        {.cta_m = 64, .cta_n = 64, .stages = 8, .groups_rows = 1, .producers = 2, .teams = 2, .vector = 4},
        {.cta_m = 128, .cta_n = 128, .stages = 3, .groups_rows = 2, .vector = 4},
    };
    for (const DType type : {DType::f16, DType::bf16})
      for (const WgmmaTmaConfig& tile : kCopied) add_tile(tile, type, type);
    // For a large operand with lines that start anywhere and one, or a copy, that TMA can address, of few rows or
    // columns.
    for (const DType type : {DType::f16, DType::bf16})
      for (const bool transposed : {false, true}) {
        WgmmaTmaConfig c = {.cta_m = 64,
                            .cta_n = 128,
                            .stages = 6,
                            .transposed = transposed,
                            .groups_rows = 1,
                            .copy = Copy::prefetch,
                            .producers = 2,
                            .teams = 3,
                            .line_stages = 6};
        if (transposed) std::swap(c.cta_m, c.cta_n);
        c.type = c.element = c.type_c = type;
        add_flags(c, kAllFlags, add);
      }
  }

  static constexpr void describe(InstanceName& name, const WgmmaTmaConfig& c) {
    name << "_" << c.cta_m << "x" << c.cta_n << "x" << c.cta_k() << "_s" << c.stages;
    if (c.vector > 1) name << "_v" << c.vector;
    if (c.by_lines()) name << (c.transposed ? "_lines_b" : "_lines_a");
  }

  static constexpr KernelInfo common(const WgmmaTmaConfig& c) {
    return {.config = {.type = c.type,
                       .type_c = c.type_c,
                       .cta_m = c.cta_m,
                       .cta_n = c.cta_n,
                       .cta_k = c.cta_k(),
                       .stages = c.stages,
                       .copy = c.by_lines()   ? Copy::bulk
                               : c.vector > 1 ? Copy::async
                                              : c.copy,
                       .a_contiguous = c.a_contiguous,
                       .b_contiguous = c.b_contiguous,
                       .vector = c.by_lines() ? 8 : c.vector,
                       .single_a = c.by_lines() && !c.transposed,
                       .single_b = c.by_lines() && c.transposed,
                       .vector_c = 1,
                       .min_compute_capability = 90,
                       .later_architectures = false},
            .threads = c.threads()};
  }
};

}  // namespace xgemm::kernels
