// The passes before an fp16x3 product: the first one finds the largest element of every line, the second one scales
// and splits, and says where the product would not be as exact as fp32 (SplitConstants). Both take operands with any
// strides and alignment; parts come out along k.
//
// CTA tile: 64 lines x 64 of k at a time, read by words, neighbouring lanes along whichever axis is contiguous:
//
//     along k    a warp reads 32 k of a line       along mn   a warp reads 32 lines at one k
//
// The second pass turns it in shared memory, so that a thread has eight neighbours of k, and stores vectors of 16
// bytes.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/dtype.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/target.cuh"
#include "kernels/fp16x3/split.h"
#include "kernels/wgmma_tma/mma_policy.h"

namespace xgemm::kernels {

// A CTA's 64 lines, and the way its threads read slices of them: a thread has kLoads elements of a slice, element i at
// (line(i), k(i)).
struct SplitTile {
  static constexpr int kWarps = SplitParams::kThreads / gpu::kWarpSize;
  static constexpr int kLoads = SplitParams::kLines * SplitParams::kSlice / SplitParams::kThreads;

  const SplitOperand& x;
  std::int64_t entry, first_line, k_extent;
  int lines;  // that exist
  bool along_k;
  int lane, warp;

  // tile: of all the CTAs along mn, of both operands.
  XGEMM_DEVICE static SplitTile make(const SplitParams& p, std::int64_t tile) {
    const std::int64_t first = p.operands[0].entries * p.operands[0].tiles;
    const bool second = tile >= first;
    const SplitOperand& x = p.operands[second ? 1 : 0];
    if (second) tile -= first;
    const std::int64_t entry = x.tiles > 0 ? tile / x.tiles : 0;
    const std::int64_t first_line = (tile - entry * x.tiles) * SplitParams::kLines;
    return {x,
            entry,
            first_line,
            p.k,
            at_most(x.mn - first_line, SplitParams::kLines),
            x.k_stride == 1,
            gpu::lane_index(),
            gpu::warp_index()};
  }

  // Where a line has its place in the arrays of lines.
  XGEMM_DEVICE std::int64_t place(int line) const { return entry * x.lines + first_line + line; }

  XGEMM_DEVICE int line(int i) const { return along_k ? warp + i / 2 * kWarps : lane + i % 2 * gpu::kWarpSize; }
  XGEMM_DEVICE int k(int i) const { return along_k ? lane + i % 2 * gpu::kWarpSize : warp + i / 2 * kWarps; }

  // All loads are under way before the first one is used. Zeros outside of the operand.
  XGEMM_DEVICE void read(std::int64_t first_k, float (&values)[kLoads]) const {
    const float* const from =
        x.data + entry * x.batch_stride + (first_line + line(0)) * x.mn_stride + (first_k + k(0)) * x.k_stride;
    const int depth = at_most(k_extent - first_k, SplitParams::kSlice);
    const std::int64_t near = gpu::kWarpSize * (along_k ? x.k_stride : x.mn_stride);
    const std::int64_t far = kWarps * (along_k ? x.mn_stride : x.k_stride);
    XGEMM_UNROLL
    for (int i = 0; i < kLoads; ++i)
      values[i] = line(i) < lines && k(i) < depth ? gpu::read_constant(from + i % 2 * near + i / 2 * far) : 0.0f;
  }

 private:
  XGEMM_DEVICE static int at_most(std::int64_t x, int most) { return x < most ? static_cast<int>(x) : most; }
};

XGEMM_DEVICE unsigned magnitude_bits(float x) {
  return gpu::detail::bit_cast<unsigned>(x) & 0x7fffffffu;
}

// The first pass.
struct SplitMeasure {
  using Params = SplitParams;
  static constexpr int kThreads = SplitParams::kThreads;
  static constexpr int kMinBlocksPerSm = 3;
  static constexpr int kMinArch = 900;

  struct SharedStorage {
    unsigned largest[SplitTile::kWarps][SplitParams::kLines];
  };

  XGEMM_DEVICE static void run(const Params& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    gpu::grid_wait_dependencies();
    const std::int64_t stretch = gpu::block_x() % p.stretches;
    const SplitTile tile = SplitTile::make(p, gpu::block_x() / p.stretches);
    if (p.clears && gpu::block_x() == 0 && gpu::thread_index() == 0) gpu::write<gpu::Space::global>(p.unsafe, 0u);
    if (tile.lines <= 0) return;

    constexpr int kLoads = SplitTile::kLoads;
    const std::int64_t begin = stretch * p.stretch;
    const std::int64_t end = begin + p.stretch < p.k ? begin + p.stretch : p.k;
    unsigned largest[kLoads] = {};  // where lines are along k, of every two loads; else of all even and all odd ones
    XGEMM_NO_UNROLL
    for (std::int64_t k = begin; k < end; k += SplitParams::kSlice) {
      float values[kLoads];
      tile.read(k, values);
      XGEMM_UNROLL
      for (int i = 0; i < kLoads; ++i) {
        const unsigned bits = magnitude_bits(values[i]);
        largest[i] = bits > largest[i] ? bits : largest[i];
      }
    }
    const auto max = [](unsigned a, unsigned b) { return a > b ? a : b; };
    if (tile.along_k) {
      XGEMM_UNROLL
      for (int i = 0; i < kLoads; i += 2) {
        unsigned own = max(largest[i], largest[i + 1]);
        XGEMM_UNROLL
        for (int mask = gpu::kWarpSize / 2; mask > 0; mask /= 2) own = max(own, gpu::shuffle_xor(own, mask));
        if (tile.lane == 0) store(tile, stretch, tile.line(i), own);
      }
      return;
    }
    XGEMM_UNROLL
    for (int half = 0; half < 2; ++half) {
      unsigned own = 0;
      XGEMM_UNROLL
      for (int i = half; i < kLoads; i += 2) own = max(own, largest[i]);
      gpu::write<gpu::Space::shared>(&smem.largest[tile.warp][tile.lane + half * gpu::kWarpSize], own);
    }
    gpu::sync_threads();
    const int line = gpu::thread_index();
    if (line >= SplitParams::kLines) return;
    unsigned all = 0;
    XGEMM_UNROLL
    for (int warp = 0; warp < SplitTile::kWarps; ++warp)
      all = max(all, gpu::read<gpu::Space::shared>(&smem.largest[warp][line]));
    store(tile, stretch, line, all);
  }

 private:
  XGEMM_DEVICE static void store(const SplitTile& tile, std::int64_t stretch, int line, unsigned largest) {
    if (line < tile.lines)
      gpu::write<gpu::Space::global>(tile.x.largest + stretch * tile.x.entries * tile.x.lines + tile.place(line),
                                     largest);
  }
};

// The second pass.
struct SplitParts {
  using Params = SplitParams;
  static constexpr int kThreads = SplitParams::kThreads;
  static constexpr int kMinBlocksPerSm = 3;
  static constexpr int kMinArch = 900;
  static constexpr int kVector = 8;  // halves of a store
  static constexpr int kPitch = SplitParams::kSlice + 1;

  struct SharedStorage {
    float slice[SplitParams::kLines][kPitch];
    float scales[SplitParams::kLines];
  };

  XGEMM_DEVICE static void run(const Params& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    gpu::grid_wait_dependencies();
    const std::int64_t tiles_k = (p.k + SplitParams::kSplit - 1) / SplitParams::kSplit;
    const std::int64_t tile_k = gpu::block_x() % tiles_k;
    const SplitTile tile = SplitTile::make(p, gpu::block_x() / tiles_k);
    const std::int64_t begin = tile_k * SplitParams::kSplit;
    const std::int64_t end = begin + SplitParams::kSplit < p.k ? begin + SplitParams::kSplit : p.k;

    if (gpu::block_x() == 0 && gpu::thread_index() == 0) {
      for (const unsigned* before : p.unsafe_before)
        if (before != nullptr && gpu::read<gpu::Space::global>(before) != 0) decline(p);
    }
    if (tile.lines <= 0) return;

    bool unsafe = false;
    const int own_line = gpu::thread_index();
    if (own_line < SplitParams::kLines) {
      if (own_line < tile.lines) {
        const std::int64_t place = tile.place(own_line);
        const Line scaling = scale(p, tile.x, place);
        unsafe = !scaling.safe;
        gpu::write<gpu::Space::shared>(&smem.scales[own_line], scaling.scale);
        if (tile_k == 0) gpu::write<gpu::Space::global>(tile.x.factors + place, scaling.factor);
      } else {
        gpu::write<gpu::Space::shared>(&smem.scales[own_line], 1.0f);
      }
    }
    XGEMM_NO_UNROLL
    for (std::int64_t k = begin; k < end; k += SplitParams::kSlice) {
      float values[SplitTile::kLoads];
      tile.read(k, values);
      gpu::sync_threads();
      XGEMM_UNROLL
      for (int i = 0; i < SplitTile::kLoads; ++i)
        gpu::write<gpu::Space::shared>(&smem.slice[tile.line(i)][tile.k(i)], values[i]);
      gpu::sync_threads();
      unsafe = split(p, smem, tile, k) || unsafe;
    }
    if (unsafe) decline(p);
  }

 private:
  XGEMM_DEVICE static void decline(const Params& p) {
    if (gpu::atomic_or(p.unsafe, 1u) == 0 && p.count != nullptr) gpu::atomic_add(p.count, 1u);
  }

  struct Line {
    float scale, factor;
    bool safe;
  };

  XGEMM_DEVICE static Line scale(const Params& p, const SplitOperand& x, std::int64_t place) {
    unsigned largest = 0;
    XGEMM_UNROLL
    for (int s = 0; s < SplitParams::kMostStretches; ++s) {
      const unsigned own =
          s < p.stretches ? gpu::read<gpu::Space::global>(x.largest + s * x.entries * x.lines + place) : 0;
      largest = own > largest ? own : largest;
    }
    constexpr int kBias = 127, kMantissa = 23;
    const int exponent = static_cast<int>(largest >> kMantissa) - kBias;
    const bool safe = exponent >= SplitConstants::kLeastExponent && exponent <= SplitConstants::kMostExponent;
    if (!safe) return {0.0f, 0.0f, largest == 0};
    const int shift = SplitConstants::kLineExponent - exponent;
    const auto power = [](int e) {
      return gpu::detail::bit_cast<float>(static_cast<unsigned>(kBias + e) << kMantissa);
    };
    return {power(shift), power(-shift), true};
  }

  // Stores the slice from k on. Whether it has elements that are too small.
  XGEMM_DEVICE static bool split(const Params& p, SharedStorage& smem, const SplitTile& tile, std::int64_t k) {
    constexpr int kVectors = SplitParams::kSlice / kVector;  // of a line
    bool unsafe = false;
    XGEMM_UNROLL
    for (int first = 0; first < SplitParams::kLines * kVectors; first += kThreads) {
      const int line = (first + gpu::thread_index()) / kVectors, at = gpu::thread_index() % kVectors * kVector;
      if (line >= tile.lines || k + at >= p.ld) continue;
      const float scale = gpu::read<gpu::Space::shared>(&smem.scales[line]);
      // Vectors 32 elements apart begin in one bank: the later one is read with its halves exchanged.
      constexpr int kHalf = kVector / 2;
      const int exchanged = (at & 32) != 0 ? kHalf : 0;
      float read[kVector];
      XGEMM_UNROLL
      for (int e = 0; e < kVector; ++e)
        read[e] = gpu::read<gpu::Space::shared>(&smem.slice[line][at + (e ^ exchanged)]);
      gpu::Vector<gpu::half, kVector> high, low;
      XGEMM_UNROLL
      for (int e = 0; e < kVector; ++e) {
        const float stored = exchanged != 0 ? read[e ^ kHalf] : read[e];
        const float x = gpu::multiply(scale, stored);
        high[e] = gpu::to_half(x);
        low[e] = gpu::to_half(gpu::multiply(MmaPolicy::kLowScale, x - gpu::to_float(high[e])));
        unsafe = unsafe || (magnitude_bits(stored) != 0 && magnitude_bits(x) < magnitude_bits(p.least_element));
      }
      std::uint16_t* const to = tile.x.parts + tile.entry * 2 * tile.x.part + (tile.first_line + line) * p.ld + k + at;
      gpu::write<gpu::Space::global>(reinterpret_cast<gpu::Vector<gpu::half, kVector>*>(to), high);
      gpu::write<gpu::Space::global>(reinterpret_cast<gpu::Vector<gpu::half, kVector>*>(to + tile.x.part), low);
    }
    return unsafe;
  }
};

}  // namespace xgemm::kernels
