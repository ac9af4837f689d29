// tiny_batched: batches of thousands of products of which each leaves a warp idle. A thread computes a block of C, and
// a CTA as many products as it has threads for:
//
//   C of product 0       product 1            2 ...        (a larger C counts as several of 32 x 32)
//   +----+----+          +----+----+
//   | t0 | t2 |          | t4 | t6 |
//   +----+----+          +----+----+
//   | t1 | t3 |          | t5 | t7 |
//   +----+----+          +----+----+
//
// Operands come straight from global memory to the threads that multiply them, several k at a time. Matrices that lie
// one behind the other come in whole lines, and what neighbouring threads want again is in L1. Vectors of two run along
// whichever axis is contiguous and aligned; else elements come one by one.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/aligned.cuh"
#include "kernels/common/kernel.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/store_block.cuh"
#include "kernels/tiny_batched/instances.h"

namespace xgemm::kernels {

// The matrices of a batch may be found by pointers as well; so each is looked at for where it starts.
template <TileConfig kConfig, class Epilogue>
struct TinyBatched {
  using ByPointers = TinyBatched;
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  using Sum = typename Epilogue::Sum;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr int kRows = kConfig.thread_m, kColumns = kConfig.thread_n, kDepth = kConfig.cta_k;
  static constexpr int kPair = 2;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMinBlocksPerSm = TinyBatchedShape::ctas_per_sm(kConfig);
  static constexpr bool kStartsEarly = true;
  static_assert(kRows == kPair && kColumns == kPair && kDepth % kPair == 0, "pairs lie along either axis");

  using SharedStorage = NoSharedStorage;

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage&) {
    gpu::grid_launch_dependents();
    const Epilogue epilogue = Epilogue::make_early(p);
    const auto thread = static_cast<unsigned>(gpu::thread_index());
    const TinyBatchedShape shape = TinyBatchedShape::of(kConfig, p.m, p.n);
    const unsigned product = thread / shape.blocks, block = thread % shape.blocks;
    if (product >= shape.products) return;
    const int row = static_cast<int>(block % shape.blocks_m) * kRows;
    const int column = static_cast<int>(block / shape.blocks_m) * kColumns;
    Lines a(p.a, p.m, p.k), b(p.b.transposed(), p.n, p.k);
    const BasicSchedule<unsigned> schedule = p.schedule.as<unsigned>();
    const unsigned step = static_cast<unsigned>(gpu::grid_x()) * shape.products;
    gpu::grid_wait_dependencies();
    XGEMM_NO_UNROLL
    for (unsigned index = static_cast<unsigned>(gpu::block_x()) * shape.products + product; index < schedule.units;
         index += step) {
      const Unit unit = tile_at(schedule, index);
      Sums sums = {};
      if (epilogue.has_product) {
        a.go_to(unit.batch, unit.row + row);
        b.go_to(unit.batch, unit.col + column);
        XGEMM_NO_UNROLL
        for (int left = static_cast<int>(p.k); left > 0; left -= kDepth) {
          a.load(left);
          b.load(left);
          multiply(a, b, sums);
        }
      }
      const std::int64_t i = unit.row + row, j = unit.col + column;
      const auto view = view_c<kConfig, true>(p, unit).template block<kRows, kColumns>(i, j);
      // All of C, which the compiler is to know: the family computes no triangles.
      const OutputTile<Epilogue, std::remove_const_t<decltype(view)>> c(epilogue, p, view, i, j, Fill::full);
      store_block<1>(c, sums);
    }
  }

 private:
  using Sums = Sum[kColumns][kRows];
  using Pair = gpu::Vector<Element, kPair>;

  // Most products have one tile, and their number needs no division.
  XGEMM_DEVICE static Unit tile_at(const BasicSchedule<unsigned>& schedule, unsigned index) {
    if (schedule.tiles_m == 1 && schedule.tiles_n == 1) return {index, schedule.first_tile + index, 0, 0, 0, 0};
    const auto at = schedule.folded_position(schedule.tile_of(index));
    return {index, at.batch, std::int64_t{at.m} * kConfig.cta_m, std::int64_t{at.n} * kConfig.cta_n, 0, 0};
  }

  // A thread's part of a slice of A, or of B transposed: two lines, which run along K.
  struct Lines {
    ConstMatrixArg x;
    std::int64_t lines, depth;  // of all of it
    bool pairs_lines, along_k;  // pairs fit, by strides and extents: of the lines, or of neighbours along K
    bool starts;                // and the matrix starts where pairs may
    int inside;                 // lines that exist: none or less, one, or both and more
    const Element* next;        // of the first line
    Element elements[kPair][kDepth];

    // arg: op(A), or op(B) transposed.
    XGEMM_DEVICE Lines(const ConstMatrixArg& arg, std::int64_t all_lines, std::int64_t all_depth)
        : x(arg),
          lines(all_lines),
          depth(all_depth),
          pairs_lines(x.row_stride == 1 && ((x.col_stride | lines) & (kPair - 1)) == 0),
          along_k(x.col_stride == 1 && ((x.row_stride | depth) & (kPair - 1)) == 0) {}

    XGEMM_DEVICE void go_to(std::int64_t batch, std::int64_t line) {
      const auto* const matrix = entry_of<const Element>(x, batch);
      starts = is_aligned<kPair>(matrix);
      inside = static_cast<int>(lines - line < kPair ? lines - line : kPair);
      next = matrix + line * x.row_stride;
    }

    // The next slice, of so many k that are left: beyond the last come zeros.
    XGEMM_DEVICE void load(int left) {
      const Element* const from = next;
      next += kDepth * x.col_stride;
      if (pairs_lines && starts) {
        XGEMM_UNROLL
        for (int d = 0; d < kDepth; ++d) {
          const Pair pair = read_pair(from + d * x.col_stride, inside > 0 && d < left);
          elements[0][d] = pair[0];
          elements[1][d] = pair[1];
        }
      } else if (along_k && starts) {
        XGEMM_UNROLL
        for (int line = 0; line < kPair; ++line) {
          XGEMM_UNROLL
          for (int d = 0; d < kDepth; d += kPair) {
            const Pair pair = read_pair(from + line * x.row_stride + d, line < inside && d < left);
            elements[line][d] = pair[0];
            elements[line][d + 1] = pair[1];
          }
        }
      } else {
        XGEMM_UNROLL
        for (int line = 0; line < kPair; ++line) {
          XGEMM_UNROLL
          for (int d = 0; d < kDepth; ++d)
            elements[line][d] =
                gpu::read_line_or_zero(from + line * x.row_stride + d * x.col_stride, line < inside && d < left);
        }
      }
    }

    XGEMM_DEVICE static Pair read_pair(const Element* at, bool inside) {
      return gpu::read_line_or_zero(reinterpret_cast<const Pair*>(at), inside);
    }
  };

  XGEMM_DEVICE static void multiply(const Lines& a, const Lines& b, Sums& sums) {
    XGEMM_UNROLL
    for (int d = 0; d < kDepth; ++d) {
      XGEMM_UNROLL
      for (int j = 0; j < kColumns; ++j) {
        XGEMM_UNROLL
        for (int i = 0; i < kRows; ++i)
          sums[j][i] =
              gpu::fma(gpu::to_sum<Element>(a.elements[i][d]), gpu::to_sum<Element>(b.elements[j][d]), sums[j][i]);
      }
    }
  }
};

}  // namespace xgemm::kernels
