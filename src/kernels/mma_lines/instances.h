// The instances of mma_lines: for products with few rows of C, which stream B, and with few columns, which stream A.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct MmaLines;

// What follows from a config.
struct MmaLinesShape {
  bool streams_b;    // else A
  int lines, width;  // of a tile: along the streamed operand, and across
  int ring_bytes;    // for slots of the streamed operand
  int ctas_per_sm;

  static constexpr MmaLinesShape of(const TileConfig& c) {
    const bool streams_b = c.single_a;
    const int lines = streams_b ? c.cta_n : c.cta_m, width = streams_b ? c.cta_m : c.cta_n;
    const bool wide = width > 32;
    return {streams_b, lines, width, (wide ? 52 : 56) * 1024, wide ? 2 : 3};
  }
};

// How a slot holds a tile's lines, in 16-bit elements.
struct MmaLinesPitch {
  static constexpr int kVector = 8, kBanks = 32, kMostStages = 6;

  int lines;
  int ring_bytes;

  // Whether lines of so many elements, which follow one another in memory, do so in shared memory: not where eight of
  // them would share few banks. Columns of C as well.
  static constexpr bool is_stretch(std::int64_t length) { return length % kBanks != 0; }
  // From a line to the next one. Alignment is as in memory, where lines are ld apart.
  constexpr int pitch(int depth, std::int64_t ld, bool stretch) const {
    const int apart = depth + kVector - 1, aligned = apart + (static_cast<int>(ld - apart) & (kVector - 1));
    return stretch ? depth : aligned % kBanks == 0 ? aligned + kVector : aligned;
  }
  // From one vector on to another.
  constexpr int slot_elements(int pitch) const { return (lines * pitch + 2 * (kVector - 1)) / kVector * kVector; }
  // While one is multiplied, others are on their way.
  constexpr int stages(int slot_elements) const {
    const int fit = ring_bytes / 2 / slot_elements;
    return fit < kMostStages ? fit : kMostStages;
  }
};

template <>
struct Instances<Family::mma_lines> : TileInstances {
  template <TileConfig kConfig>
  using Kernel = MmaLines<kConfig, LinearCombinationOf<kConfig.type>>;

  static constexpr void describe(InstanceName& name, const TileConfig& c) {
    name << "_" << c.cta_m << "x" << c.cta_n << "x" << c.cta_k;
  }

  template <class Add>
  static constexpr void list(const Add& add) {
    struct Tile {
      int lines, width, depth;
    };
    constexpr Tile kTiles[] = {{64, 128, 160}, {128, 32, 96}};
    for (const DType type : {DType::f16, DType::bf16})
      for (const Tile& tile : kTiles)
        for (const bool streams_b : {false, true}) {
          TileConfig c = {.type = type,
                          .cta_k = tile.depth,
                          .stages = 2,
                          .copy = Copy::async,
                          .any_strides = true,
                          .vector_c = 1,
                          .min_compute_capability = 90,  // with its shared memory; measured nowhere else
                          .later_architectures = false};
          c.cta_m = streams_b ? tile.width : tile.lines;
          c.cta_n = streams_b ? tile.lines : tile.width;
          c.warp_m = c.warp_n = 32;
          (streams_b ? c.single_a : c.single_b) = true;  // the short operand comes element by element
          add(c);
        }
  }
};

}  // namespace xgemm::kernels
