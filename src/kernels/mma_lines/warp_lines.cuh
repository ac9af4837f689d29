// The instances of mma_lines for up to eight columns: a warp has lines of its own, and shared memory for them and for
// the short operand. Nothing is shared with other warps, so that none waits for another.
//
//     warp 0   lines 0 to 63 | 64 to 127 | ...     of a range of its own; of long lines fewer at once
//     warp 1   ...
//
// Of 32 lines and 16 k a lane reads the pairs that mma.sync wants of it: of the lines as in MmaLines; of the short
// operand, which lies in that order, two at once.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/fragments.cuh"
#include "kernels/common/kernel.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/mma_lines/instances.h"
#include "kernels/mma_lines/line_pairs.cuh"
#include "kernels/mma_lines/line_ring.cuh"
#include "kernels/mma_lines/line_unit.cuh"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue = LinearCombinationOf<kConfig.type>>
struct WarpLines {
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr MmaLinesShape kShape = MmaLinesShape::of(kConfig);
  static constexpr int kTileK = kConfig.cta_k, kWarps = kShape.warps, kThreads = kWarps * gpu::kWarpSize;
  static constexpr int kMinBlocksPerSm = kShape.ctas_per_sm;
  static constexpr bool kStartsEarly = true;
  static constexpr int kUnit = kShape.lines, kColumns = WarpShare::kColumns, kDepth = WarpShare::kDepth;
  static constexpr int kAtOnce = WarpShare::kAtOnce;
  static_assert(kShape.of_warps && kShape.width == kColumns && kTileK % kDepth == 0);
  static_assert(sizeof(Element) == 2, "pairs are words");

  using Ring = LineRing<Element, 2 * kAtOnce, kTileK, gpu::kWarpSize>;
  using Pairs = LinePairs<Element>;
  // Of a step: for each column that there is, and each lane of it, the pair of the first eight k, and of the others.
  static constexpr int kWordsOfColumn = WarpShare::kWordsOfColumn;
  struct SharedStorage {
    SharedArray<Element, kShape.ring_bytes / sizeof(Element)> of_warps;
  };
  static_assert(kShape.ctas_per_sm * (sizeof(SharedStorage) + 1024) <= 228 * 1024, "of an SM");

  // What a slot has: lines of an entry, and as many columns.
  struct Group {
    std::int64_t entry, line, column;
    int lines, columns;

    XGEMM_DEVICE unsigned units() const { return static_cast<unsigned>(lines + kUnit - 1) / kUnit; }
  };

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    const Epilogue epilogue = Epilogue::make_early(p), elements = epilogue.of_zero_sums();
    // Both operands as lines along k.
    const ConstMatrixArg b = p.b.transposed();
    const ConstMatrixArg x = streams_b(p) ? b : p.a, y = streams_b(p) ? p.a : b;
    const std::int64_t depth = epilogue.has_product ? p.k : 0;
    constexpr MmaLinesShape shape = kShape;  // which has no place in device code
    const auto lie = Ring::lie_of(x, p.k);
    const WarpShare share = WarpShare::of(shape, Ring::most_of(p.k), lie.pitch);
    if (gpu::warp_index() >= share.warps) return;
    Element* const lines = smem.of_warps.data + gpu::warp_index() * (share.bytes / static_cast<int>(sizeof(Element)));
    auto* const of_short =
        reinterpret_cast<std::uint32_t*>(lines + share.ring_bytes / static_cast<int>(sizeof(Element)));
    const auto units = static_cast<unsigned>(p.schedule.units);
    const Ring ring(lines, share.ring_bytes, share.slot_lines, x, lie, streams_b(p) ? p.n : p.m, p.k,
                    units / tiles_of_entry(p));
    const int stages = ring.stages();
    // A range of units, of two at least, which an instruction multiplies. Where there are fewer ranges than warps, all
    // SMs have some.
    const auto warps = static_cast<unsigned>(gpu::grid_x()) * share.warps;
    const unsigned fair = (units + warps - 1) / warps, of_warp = fair > 2 ? fair : 2;
    const std::uint64_t begin = std::uint64_t{of_warp} * (gpu::warp_index() * gpu::grid_x() + gpu::block_x());
    if (begin >= units) return;
    const unsigned first_unit = static_cast<unsigned>(begin),
                   end = units - first_unit < of_warp ? units : first_unit + of_warp;
    // Slices of K, of some lines after others.
    struct Slice {
      unsigned unit;
      std::int64_t k;

      XGEMM_DEVICE void advance(const Group& group, std::int64_t depth) {
        k += kTileK;
        if (k >= depth) unit += group.units(), k = 0;
      }
    };
    Slice next = {first_unit, 0}, now = next;
    int copied = 0, stage = 0, filled = 0;            // slices; the slots of those that are multiplied and copied
    std::int64_t entry = -1, column = -1, from = -1;  // where what there is of the short operand begins
    Sums sums = {};
    gpu::grid_wait_dependencies();
    XGEMM_NO_UNROLL
    while (now.unit < end) {
      gpu::sync_warp();  // all lanes have multiplied the slice before, whose slot is the next one to fill
      if (next.unit < end && depth > 0) {
        const Group group = group_of(p, next.unit, end, share.slot_lines);
        ring.copy(filled, group.entry, group.line, group.lines, next.k, Ring::most_of(depth - next.k));
        next.advance(group, depth);
      }
      gpu::copy_async_commit();
      filled = filled + 1 == stages ? 0 : filled + 1;
      if (copied < stages - 1) {
        ++copied;
        continue;
      }
      const Group group = group_of(p, now.unit, end, share.slot_lines);
      const int slice = Ring::most_of(depth - now.k);
      if (slice > 0) {
        if (group.entry != entry || group.column != column || now.k != from) {
          entry = group.entry, column = group.column, from = now.k;
          bring(y, group, from, slice, of_short);
        }
        Ring::wait_for_all_but(stages - 1);
        gpu::sync_warp();  // for what other lanes brought
      }
      // Where lines are in several slices, there are no more than are multiplied together.
      XGEMM_NO_UNROLL
      for (int first = 0; first < group.lines; first += kAtOnce) {
        if (slice > 0) multiply(ring, stage, group, first, now.k, slice, of_short, sums);
        if (now.k + kTileK < depth) break;
        store(p, elements, group, first, sums);
        clear(sums);
      }
      stage = stage + 1 == stages ? 0 : stage + 1;
      now.advance(group, depth);
    }
    gpu::copy_async_wait<0>();
  }

 private:
  XGEMM_DEVICE static bool streams_b(const TileParams& p) { return p.m < p.n; }

  using Sums = float[2][4];  // of two times 16 lines
  static_assert(WarpShare::of(kShape, kTileK, kTileK).slot_lines <= kAtOnce, "where there are several slices");

  XGEMM_DEVICE static void clear(Sums& sums) {
    XGEMM_UNROLL
    for (int i = 0; i < 8; ++i) sums[i / 4][i % 4] = 0;
  }

  XGEMM_DEVICE static Group group_of(const TileParams& p, unsigned index, unsigned end, int most) {
    const Unit unit = line_unit<kConfig>(p, index, streams_b(p));
    const std::int64_t line = streams_b(p) ? unit.col : unit.row, column = streams_b(p) ? unit.row : unit.col;
    const std::int64_t left = (streams_b(p) ? p.n : p.m) - line, wide = (streams_b(p) ? p.m : p.n) - column;
    const std::int64_t own = std::int64_t{end - index} * kUnit, there = left < own ? left : own;
    return {unit.batch, line, column, static_cast<int>(there < most ? there : most),
            static_cast<int>(wide < kColumns ? wide : kColumns)};
  }

  // A slice of the short operand's columns, in the order of fragments. Zeros stand in for what is beyond k.
  XGEMM_DEVICE static void bring(const ConstMatrixArg& y, const Group& group, std::int64_t begin, int depth,
                                 std::uint32_t* of_short) {
    if (depth <= WarpShare::kStepsOfWarp * kDepth) {
      bring_by<1>(y, group, begin, depth, of_short);
    } else {
      bring_by<WarpShare::kMostRounds>(y, group, begin, depth, of_short);
    }
  }

  template <int kRounds>
  XGEMM_DEVICE static void bring_by(const ConstMatrixArg& y, const Group& group, std::int64_t begin, int depth,
                                    std::uint32_t* of_short) {
    constexpr int kStepsOfWarp = WarpShare::kStepsOfWarp;
    const int word = gpu::lane_index() % kWordsOfColumn, steps = (depth + kDepth - 1) / kDepth;
    const int k_of_word = word / 2 * 2 + word % 2 * 8;
    XGEMM_NO_UNROLL
    for (int first = gpu::lane_index() / kWordsOfColumn; first < steps; first += kRounds * kStepsOfWarp) {
      std::uint32_t pairs[kRounds][kColumns];
      XGEMM_UNROLL
      for (int r = 0; r < kRounds; ++r) {
        const int k = (first + r * kStepsOfWarp) * kDepth + k_of_word;
        const auto* from = static_cast<const std::uint16_t*>(y.data) + group.entry * y.batch_stride +
                           group.column * y.row_stride + (begin + k) * y.col_stride;
        XGEMM_UNROLL
        for (int c = 0; c < kColumns; ++c, from += y.row_stride) {
          const bool inside = c < group.columns;
          const std::uint32_t low = gpu::read_line_or_zero(from, inside && k < depth);
          const std::uint32_t high = gpu::read_line_or_zero(from + y.col_stride, inside && k + 1 < depth);
          pairs[r][c] = low | high << 16;
        }
      }
      XGEMM_UNROLL
      for (int r = 0; r < kRounds; ++r) {
        const int step = first + r * kStepsOfWarp;
        XGEMM_UNROLL
        for (int c = 0; c < kColumns; ++c) {
          if (c < group.columns && step < steps) {
            gpu::write<Space::shared>(of_short + (step * group.columns + c) * kWordsOfColumn + word, pairs[r][c]);
          } else {
            gpu::skip_store<Space::shared>();
          }
        }
      }
    }
  }

  // Lines of a group from `first` on.
  XGEMM_DEVICE static void multiply(const Ring& ring, int stage, const Group& group, int first, std::int64_t k,
                                    int depth, const std::uint32_t* of_short, Sums& sums) {
    const int offset = ring.first(group.entry, group.line, k);
    if (((offset | ring.pitch()) & 1) == 0) {
      multiply<false>(ring, stage, group, first, offset, depth, of_short, sums);
    } else {
      multiply<true>(ring, stage, group, first, offset, depth, of_short, sums);
    }
  }
  // kShifts: lines may start off words.
  template <bool kShifts>
  XGEMM_DEVICE static void multiply(const Ring& ring, int stage, const Group& group, int first, int offset, int depth,
                                    const std::uint32_t* of_short, Sums& sums) {
    // What lies beyond the last line is multiplied as well, and not stored: there the last line stands again. And what
    // is computed of columns that there are not, is not stored.
    const int lane = gpu::lane_index(), lanes_k = lane % 4 * 2;
    Pairs of_lines[2][2];
    XGEMM_UNROLL
    for (int b = 0; b < 2; ++b) {
      XGEMM_UNROLL
      for (int h = 0; h < 2; ++h) {
        const int line = first + 16 * b + 8 * h + lane / 4;
        of_lines[b][h] = Pairs::of(ring.slot(stage),
                                   offset + (line < group.lines ? line : group.lines - 1) * ring.pitch() + lanes_k);
      }
    }
    of_short += 2 * (lane / 4 < group.columns ? lane : lane % 4);
    const auto step = [&](int at, std::uint32_t mask, std::uint32_t mask_of_others) {
      const auto pairs = gpu::read<Space::shared>(reinterpret_cast<const gpu::Vector<std::uint32_t, 2>*>(of_short));
      XGEMM_UNROLL
      for (int b = 0; b < 2; ++b) {
        std::uint32_t fragment[4];
        XGEMM_UNROLL
        for (int i = 0; i < 4; ++i)
          fragment[i] = of_lines[b][i % 2].template at<kShifts>(at + i / 2 * 8, i < 2 ? mask : mask_of_others);
        gpu::mma<Element>(sums[b], fragment, {pairs[0], pairs[1]});
      }
      of_short += group.columns * kWordsOfColumn;
    };
    const auto advance = [&](int elements) {
      XGEMM_UNROLL
      for (int i = 0; i < 4; ++i) of_lines[i / 2][i % 2].words += elements;
    };
    int whole = depth / kDepth;
    XGEMM_NO_UNROLL
    for (; whole > 1; whole -= 2) {
      step(0, Pairs::kAll, Pairs::kAll);
      step(kDepth, Pairs::kAll, Pairs::kAll);
      advance(2 * kDepth);
    }
    if (whole > 0) {
      step(0, Pairs::kAll, Pairs::kAll);
      advance(kDepth);
    }
    if (const int left = depth % kDepth - lanes_k; depth % kDepth != 0)
      step(0, Pairs::mask_of(left), Pairs::mask_of(left - 8));
  }

  // Lines of a group from `first` on.
  XGEMM_DEVICE static void store(const TileParams& p, const Epilogue& epilogue, const Group& group, int first,
                                 const Sums& sums) {
    if (epilogue.reads_c()) {
      store<true>(p, epilogue, group, first, sums);
    } else {
      store<false>(p, epilogue, group, first, sums);
    }
  }
  template <bool kReadsC>
  XGEMM_DEVICE static void store(const TileParams& p, const Epilogue& epilogue, const Group& group, int first,
                                 const Sums& sums) {
    const int line = first + gpu::lane_index() / 4, column = gpu::lane_index() % 4 * 2;
    const std::int64_t to_line = streams_b(p) ? p.c.col_stride : 1, to_column = streams_b(p) ? 1 : p.c.col_stride;
    ElementC* const c = static_cast<ElementC*>(p.c.data) + group.entry * p.c.batch_stride +
                        (group.line + line) * to_line + (group.column + column) * to_column;
    const auto each = [&](const auto& visit) {
      XGEMM_UNROLL
      for (int e = 0; e < 2; ++e) {
        XGEMM_UNROLL
        for (int l = 0; l < 4; ++l)
          visit(l, e, c + 8 * l * to_line + e * to_column, line + 8 * l < group.lines && column + e < group.columns);
      }
    };
    float old[4][2] = {};
    if constexpr (kReadsC) {
      each([&](int l, int e, const ElementC* at, bool inside) {
        if (inside) {
          old[l][e] = gpu::to_sum<ElementC>(gpu::read<Space::global>(at));
        } else {
          gpu::skip_load<Space::global>();
        }
      });
    }
    each([&](int l, int e, ElementC* at, bool inside) {
      if (inside) {
        const float sum = sums[l / 2][l % 2 * 2 + e];
        gpu::write<Space::global>(at,
                                  gpu::from_float<ElementC>(epilogue.template apply<kReadsC>(sum, old[l][e], 0, 0, p)));
      } else {
        gpu::skip_store<Space::global>();
      }
    });
  }
};

}  // namespace xgemm::kernels
