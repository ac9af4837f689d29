// The instances of mma_lines: for products with few rows of C, which stream B, and with few columns, which stream A.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/common/instance_list.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct MmaLines;
template <TileConfig kConfig, class Epilogue>
struct WarpLines;

// What follows from a config.
struct MmaLinesShape {
  static constexpr int kFew = 8;  // columns that warps have, each of lines of its own

  bool of_warps;     // whether warps walk tiles on their own, along the longer of m and n
  bool streams_b;    // else A; of others
  int lines, width;  // of a tile: along the streamed operand, and across
  int warps;
  int ring_bytes;  // for slots of the streamed operand; of warps with lines of their own, for all that they have
  int ctas_per_sm;

  constexpr bool streams_b_of(std::int64_t m, std::int64_t n) const { return of_warps ? m < n : streams_b; }
  static constexpr MmaLinesShape of(const TileConfig& c) {
    if (c.cta_m == kFew && c.cta_n == kFew) return {true, false, kFew, kFew, 16, 226 * 1024, 1};
    const bool streams_b = c.single_a;
    const int lines = streams_b ? c.cta_n : c.cta_m, width = streams_b ? c.cta_m : c.cta_n;
    const bool wide = width > 32;
    return {false, streams_b, lines, width, c.threads() / 32, (wide ? 52 : 56) * 1024, wide ? 2 : 3};
  }
};

// How a slot holds lines, in 16-bit elements.
struct MmaLinesPitch {
  static constexpr int kVector = 8, kBanks = 32, kMostStages = 6;
  static constexpr int kElementsTogether = 4;  // that a thread brings at once, where no vectors do

  // Whether lines of so many elements, which follow one another in memory, do so in shared memory: not where eight of
  // them would share few banks. Columns of C as well.
  static constexpr bool is_stretch(std::int64_t length) { return length % kBanks != 0; }
  // From a line to the next one. Alignment is as in memory, where lines are ld apart.
  static constexpr int pitch(int depth, std::int64_t ld, bool stretch) {
    const int apart = depth + kVector - 1, aligned = apart + (static_cast<int>(ld - apart) & (kVector - 1));
    return stretch ? depth : aligned % kBanks == 0 ? aligned + kVector : aligned;
  }
  // From one vector on to another.
  static constexpr int slot_elements(int lines, int pitch) {
    return (lines * pitch + 2 * (kVector - 1)) / kVector * kVector;
  }
  // While one is multiplied, others are on their way.
  static constexpr int stages(int ring_bytes, int slot_elements) {
    const int fit = ring_bytes / 2 / slot_elements;
    return fit < kMostStages ? fit : kMostStages;
  }
};

// The part of a CTA that warps with lines of their own have: all of them, or, where lines are long, half of them.
struct WarpShare {
  static constexpr int kLines = 16, kDepth = 16;  // of an instruction
  static constexpr int kAtOnce = 2 * kLines;      // lines that are multiplied together
  static constexpr int kColumns = MmaLinesShape::kFew,
                       kWordsOfColumn = 8;  // of the short operand's k, for an instruction
  static constexpr int kStepBytes = kColumns * kWordsOfColumn * 4;
  static constexpr int kStepsOfWarp = 32 / kWordsOfColumn;  // of the short operand, whose lanes bring a word each
  static constexpr int kMostRounds = 3;                     // of loads that are on their way at once

  // How often a warp waits for the short operand's slice of so many k: it asks for no more than there may be.
  static constexpr int rounds_of_short(int depth) {
    const int together = depth <= kStepsOfWarp * kDepth ? 1 : kMostRounds;
    return (depth + together * kStepsOfWarp * kDepth - 1) / (together * kStepsOfWarp * kDepth);
  }

  int warps;
  int bytes, ring_bytes;  // of a warp, and the first of them, for slots of lines; the others are for the short operand
  int slot_lines;

  // depth: of a slice.
  static constexpr WarpShare of(const MmaLinesShape& shape, int depth, int pitch) {
    const int of_short = (depth + kDepth - 1) / kDepth * kStepBytes;
    const auto stages = [&](int warps, int lines) {
      return MmaLinesPitch::stages(shape.ring_bytes / warps - of_short, MmaLinesPitch::slot_elements(lines, pitch));
    };
    const int warps = stages(shape.warps, kAtOnce) >= 3 ? shape.warps : shape.warps / 2;
    const int bytes = shape.ring_bytes / warps;
    const int lines = stages(warps, 2 * kAtOnce) >= 3 ? 2 * kAtOnce : stages(warps, kAtOnce) >= 2 ? kAtOnce : kLines;
    return {warps, bytes, bytes - of_short, lines};
  }
};

template <>
struct Instances<Family::mma_lines> : TileInstances {
  template <TileConfig kConfig>
  using Kernel =
      std::conditional_t<MmaLinesShape::of(kConfig).of_warps, WarpLines<kConfig, LinearCombinationOf<kConfig.type>>,
                         MmaLines<kConfig, LinearCombinationOf<kConfig.type>>>;

  static constexpr void describe(InstanceName& name, const TileConfig& c) {
    name << "_" << c.cta_m << "x" << c.cta_n << "x" << c.cta_k;
  }
  static constexpr KernelInfo common(const TileConfig& c) {
    return {.config = c, .threads = 32 * MmaLinesShape::of(c).warps};
  }

  template <class Add>
  static constexpr void list(const Add& add) {
    const auto add_tile = [&](DType type, int rows, int columns, int depth, bool streams_b) {
      TileConfig c = {.type = type,
                      .type_c = type,
                      .cta_k = depth,
                      .stages = 2,
                      .copy = Copy::async,
                      .any_strides = true,
                      .vector_c = 1,
                      .min_compute_capability = 90,  // with its shared memory; measured nowhere else
                      .later_architectures = false};
      c.cta_m = rows;
      c.cta_n = columns;
      const int of_short = streams_b ? rows : columns, width = std::min(of_short, 64);
      const int lines = of_short == MmaLinesShape::kFew ? of_short : of_short > 64 ? 16 : 32;
      c.warp_m = streams_b ? width : lines, c.warp_n = streams_b ? lines : width;
      (streams_b ? c.single_a : c.single_b) = true;  // the short operand comes element by element
      add(c);
    };
    for (const DType type : {DType::f16, DType::bf16}) {
      add_tile(type, 64, 128, 160, false);
      add_tile(type, 128, 64, 160, true);
      add_tile(type, 128, 32, 96, false);
      add_tile(type, 32, 128, 96, true);
      add_tile(type, MmaLinesShape::kFew, MmaLinesShape::kFew, 336, false);
    }
  }
};

}  // namespace xgemm::kernels
