// The instances of double_buffered: two stages through registers, three with cp.async.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct DoubleBuffered;

template <>
struct Instances<Family::double_buffered> : TileInstances {
  template <TileConfig kConfig>
  using Kernel = DoubleBuffered<kConfig, LinearCombination>;

  // A tile, the elements of C per thread along each axis, and the elements of a vector.
  struct Tile {
    DType type;
    int cta_m, cta_n, cta_k, thread, vector;
    unsigned flags = kAllFlags;

    constexpr TileConfig config(int stages, Copy copy, int min_compute_capability) const {
      return {.type = type,
              .cta_m = cta_m,
              .cta_n = cta_n,
              .cta_k = cta_k,
              .thread_m = thread,
              .thread_n = thread,
              .stages = stages,
              .copy = copy,
              .vector = vector,
              .min_compute_capability = min_compute_capability,
              .later_architectures = type != DType::f16};  // those have tensor cores that take any operands
    }
  };

  template <class Add>
  static constexpr void list(const Add& add) {
    // Through registers: also where there is no cp.async.
    constexpr Tile kPrefetched[] = {{DType::f32, 128, 64, 8, 8, 4},
                                    {DType::f16, 128, 64, 16, 8, 8},
                                    {DType::f16, 128, 64, 16, 8, 1},
                                    {DType::f16, 64, 64, 16, 4, 1}};
    for (const Tile& tile : kPrefetched) add_flags(tile.config(2, Copy::prefetch, 75), tile.flags, add);

    // Of the unequal tiles, the operand that goes through registers is the smaller one.
    constexpr Tile kAsync[] = {{DType::f32, 128, 128, 16, 8, 4},
                               {DType::f32, 128, 64, 16, 8, 1},
                               {DType::f32, 128, 64, 16, 8, 4, kNN | kNT},
                               {DType::f32, 64, 128, 16, 8, 4, kTT},
                               {DType::f32, 64, 64, 16, 4, 4},
                               {DType::f32, 64, 64, 16, 4, 1}};
    for (const Tile& tile : kAsync) add_flags(tile.config(3, Copy::async, 80), tile.flags, add);
  }
};

}  // namespace xgemm::kernels
