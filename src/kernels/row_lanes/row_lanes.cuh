// row_lanes: products whose C takes longer than their sums, however operands lie and wherever columns of C start. The
// lanes of a warp have rows side by side, so that each access to C is 32 neighbours of a column. The L2 takes as long
// for a part of a sector as for all of it: a run of 32 rows that starts anywhere asks for five sectors where four would
// hold it, and shorter runs lose more (docs/coalescing.md).
//
//              columns of a warp
//             | 0 .. N - 1 |  next warp's  |      Lane l has the rows l, l + 32, ... of the tile, and the N columns of
//        -----+------------+---------------+      its warp. What it reads of a slice of A are 32 neighbours a warp,
//   row    l  |  lane l    |               |      and of B the same elements as all other lanes.
//     l + 32  |  lane l    |               |
//        ...  |            |               |
//
// A slice of A is [k][row], one of B [k][column], however they lie in memory: threads load the next one element by
// element, a warp along whichever axis is contiguous, while they multiply this one, and store it to the other of two
// stages.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/common/kernel.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/row_lanes/instances.h"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct RowLanes {
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr int kTileM = kConfig.cta_m, kTileN = kConfig.cta_n, kTileK = kConfig.cta_k;
  static constexpr int kRows = kConfig.thread_m, kColumns = kConfig.thread_n;  // of a lane
  static constexpr int kStages = kConfig.stages;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMinBlocksPerSm = row_lanes_ctas_per_sm(kConfig);
  static constexpr bool kStartsEarly = true;
  static_assert(kTileM == kRows * gpu::kWarpSize, "a warp has all rows of a tile");
  static_assert(kColumns % 4 == 0, "vectors of a slice of B");
  static_assert(kStages == 2 && kConfig.copy == Copy::prefetch, "registers hold one slice ahead");

  // Elements from one k of a slice to the next. Of a line that runs along k, lanes bring eight k of four lines: with
  // four more elements these lie in 32 banks.
  static constexpr int kPad = 4;
  static constexpr int kLineA = kTileM + kPad, kLineB = kTileN + kPad;
  struct Slice {
    SharedArray<Element, kTileK * kLineA> a;
    SharedArray<Element, kTileK * kLineB> b;
  };
  struct SharedStorage {
    Slice stage[kStages];
  };

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    const Epilogue epilogue = Epilogue::make_early(p);
    for_each_whole_unit_32<kTileM, kTileN>(p, epilogue.has_product, [&](const Unit& unit) {
      Sums sums = {};
      gpu::grid_wait_dependencies();
      if (unit.depth > 0) multiply(p, unit, smem, sums);
      store(epilogue, p, unit, sums);
    });
  }

 private:
  using Sums = float[kColumns][kRows];

  // Products are made of so many k at a time: of a slice's last ones there may be none, and zeros stand there.
  static constexpr int kAtOnce = 4;

  // Lines of A, or of B transposed, that a tile multiplies, and this thread's elements of the next slice. What lies
  // beyond the last line is multiplied as well, and not stored: there the last line stands again, which spares tests.
  template <int kLines, int kLine>
  struct Operand {
    // Of a line that runs along k, so many lanes have neighbours. Other lines have a lane each.
    static constexpr int kLanes = 8, kLineStep = kThreads / kLanes, kStep = kThreads / kLines;
    static_assert(kLines % kLineStep == 0 && kThreads % kLines == 0 && kTileK % kLanes == 0 && kTileK % kStep == 0);
    static constexpr int kNumber = kLines * kTileK / kThreads;

    bool along_k;
    int line, k, last;    // of this thread's first element in a slice, and the last line there is
    const Element* from;  // this thread's first element of the next slice
    std::int64_t step;    // from one of its elements to the next
    Element elements[kNumber];

    // x: of which a line is (line, all k).
    XGEMM_DEVICE Operand(const ConstMatrixArg& x, const Unit& unit, std::int64_t first, std::int64_t all_lines) {
      const int thread = gpu::thread_index();
      along_k = x.col_stride == 1;
      line = along_k ? thread / kLanes : thread % kLines;
      k = along_k ? thread % kLanes : thread / kLines;
      last = static_cast<int>(all_lines - first < kLines ? all_lines - first : kLines) - 1;
      step = along_k ? kLineStep * x.row_stride : kStep * x.col_stride;
      from = entry_of<const Element>(x, unit.batch, false) + (first + (line < last ? line : last)) * x.row_stride +
             k * x.col_stride;
    }

    // Starts the loads of the next slice, of which there are so many k.
    XGEMM_DEVICE void fetch(int depth) {
      if (along_k) {
        const Element* at = from;
        XGEMM_UNROLL
        for (int l = 0; l < kLines; l += kLineStep) {
          XGEMM_UNROLL
          for (int h = 0; h < kTileK; h += kLanes)
            elements[l / kLineStep * (kTileK / kLanes) + h / kLanes] = gpu::read_line_or_zero(at + h, k + h < depth);
          if (line + l + kLineStep <= last) at += step;
        }
        from += kTileK;
      } else {
        XGEMM_UNROLL
        for (int h = 0; h < kTileK; h += kStep, from += step)
          elements[h / kStep] = gpu::read_line_or_zero(from, k + h < depth);
      }
    }

    XGEMM_DEVICE void deposit(Element* slice) const {
      Element* const to = slice + k * kLine + line;
      if (along_k) {
        XGEMM_UNROLL
        for (int i = 0; i < kNumber; ++i) {
          constexpr int kOfLine = kTileK / kLanes;
          gpu::write<Space::shared>(to + i % kOfLine * (kLanes * kLine) + i / kOfLine * kLineStep, elements[i]);
        }
      } else {
        XGEMM_UNROLL
        for (int i = 0; i < kNumber; ++i) gpu::write<Space::shared>(to + i * (kStep * kLine), elements[i]);
      }
    }
  };

  XGEMM_DEVICE static void multiply(const TileParams& p, const Unit& unit, SharedStorage& smem, Sums& sums) {
    Operand<kTileM, kLineA> a(p.a, unit, unit.row, p.m);
    Operand<kTileN, kLineB> b(p.b.transposed(), unit, unit.col, p.n);
    const int depth = static_cast<int>(unit.depth);
    const auto of_slice = [&](int k0) { return depth - k0 < kTileK ? depth - k0 : kTileK; };
    int stage = 0;
    // From one slice before the first, so that the code of loads is there once.
    XGEMM_NO_UNROLL
    for (int k0 = -kTileK; k0 < depth; k0 += kTileK, stage ^= 1) {
      Slice& slice = smem.stage[stage];
      if (k0 >= 0) {
        a.deposit(slice.a.data);
        b.deposit(slice.b.data);
        gpu::sync_threads();  // and all threads have multiplied the slice before, whose stage the next one gets
      }
      if (k0 + kTileK < depth) {
        a.fetch(of_slice(k0 + kTileK));
        b.fetch(of_slice(k0 + kTileK));
      }
      if (k0 >= 0) multiply(slice, of_slice(k0), sums);
    }
    gpu::sync_threads();  // before the next tile's slices
  }

  XGEMM_DEVICE static void multiply(const Slice& slice, int depth, Sums& sums) {
    const Element* from_a = slice.a.data + gpu::lane_index();
    const Element* from_b = slice.b.data + gpu::warp_index() * kColumns;
    XGEMM_NO_UNROLL
    for (int k = 0; k < depth; k += kAtOnce, from_a += kAtOnce * kLineA, from_b += kAtOnce * kLineB) {
      XGEMM_UNROLL
      for (int i = 0; i < kAtOnce; ++i) add_products(from_a + i * kLineA, from_b + i * kLineB, sums);
    }
  }

  // Of one k.
  XGEMM_DEVICE static void add_products(const Element* from_a, const Element* from_b, Sums& sums) {
    using Four = gpu::Vector<Element, 4>;
    Element a[kRows];
    Four b[kColumns / 4];
    XGEMM_UNROLL
    for (int i = 0; i < kRows; ++i) a[i] = gpu::read<Space::shared>(from_a + i * gpu::kWarpSize);
    XGEMM_UNROLL
    for (int j = 0; j < kColumns; j += 4)
      b[j / 4] = gpu::read<Space::shared>(reinterpret_cast<const Four*>(from_b + j));
    XGEMM_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      XGEMM_UNROLL
      for (int i = 0; i < kRows; ++i) sums[j][i] = gpu::fma(a[i], b[j / 4][j % 4], sums[j][i]);
    }
  }

  XGEMM_DEVICE static void store(const Epilogue& epilogue, const TileParams& p, const Unit& unit, const Sums& sums) {
    // Opaque: addresses of C are worked out here, not kept beside the sums.
    const std::int64_t row = unit.row + gpu::opaque(gpu::lane_index());
    const std::int64_t col = unit.col + gpu::opaque(gpu::warp_index()) * kColumns;
    const auto view = view_c<kConfig>(p, unit).template block<kTileM, kColumns>(row, col);
    // All of C, which the compiler is to know: the family computes no triangles.
    const OutputTile<Epilogue, std::remove_const_t<decltype(view)>> c(epilogue, p, view, row, col, Fill::full);
    constexpr int kNumber = kRows * kColumns, kTogether = std::min(kNumber, 32);
    c.template store<1, kNumber, kTogether>(
        [](int v) {
          return TilePosition{v % kRows * gpu::kWarpSize, v / kRows};
        },
        [&](int v) { return gpu::Vector<float, 1>{{sums[v / kRows][v % kRows]}}; });
  }
};

}  // namespace xgemm::kernels
