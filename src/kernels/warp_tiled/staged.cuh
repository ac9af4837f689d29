// The staged tiles of warp_tiled: products of fp32 and fp64 too large for the registers of a warp, and too small for a
// CTA. Each warp brings slices of A and B to shared memory of its own, and multiplies the slice before meanwhile. What
// waits for the memory are copies on their way, not registers, and no warp waits for another.
//
//               B: lane's columns
//             | 0 1 | 2 3 | 4 5 | 6 7 |     Lane 4 g + t has the rows g + 8 i and the columns 8 j + 2 t, 8 j + 2 t + 1
//        -----+-----+-----+-----+-----+     of a tile: what mma gives it of doubles (common/mma.cuh), and in fp32 what
//   g = 0| t=0  1     2     3   |     |     it multiplies itself. The last blocks of 8 rows or columns are left out
//       1|                      |     |     where a product has 32 or fewer.
//      ..|                            |
//
// A slice of A is [k][row], one of B [k][column], however they lie in memory: copies go element by element, a warp's
// along whichever axis is contiguous.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/kernel.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/warp_tiled/instances.h"

namespace xgemm::kernels {

// kFollows: the matrices of a batch are found by pointers.
template <TileConfig kConfig, class Epilogue, bool kFollows>
struct WarpStaged {
  using ByPointers = WarpStaged<kConfig, Epilogue, true>;
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = Element;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr WarpStagedShape kShape = WarpStagedShape::of(kConfig);
  static constexpr bool kOnTensorCores = kConfig.on_tensor_cores();
  static constexpr int kTileM = kConfig.cta_m, kTileN = kConfig.cta_n, kTileK = kConfig.cta_k;
  static constexpr int kRows = kTileM / 8, kColumns = kTileN / 8;  // blocks
  static constexpr int kWarps = WarpStagedShape::kWarps, kStages = kConfig.stages;
  static constexpr int kThreads = kWarps * gpu::kWarpSize;
  static constexpr int kMinBlocksPerSm = kShape.ctas_per_sm;
  static constexpr bool kStartsEarly = true;
  static_assert(kStages == 2 && kTileM > 32 && kTileN > 32, "how warps walk slices, and lanes lie in copies");

  static constexpr int kSliceA = kTileK * kShape.line_a, kSlice = kSliceA + kTileK * kShape.line_b;
  struct SharedStorage {
    SharedArray<Element, kWarps * kStages * kSlice> slices;
  };

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    if constexpr (kFollows) prefetch_pointers<kThreads>(p.batch_count, gpu::thread_index(), p.c, p.a, p.b);
    Element* const mine = smem.slices.data + gpu::warp_index() * kStages * kSlice;
    // What lies beyond C's edge is multiplied as well, whatever it is, and not stored: there must be something.
    for (int i = gpu::lane_index(); i < kStages * kSlice; i += gpu::kWarpSize)
      gpu::write<Space::shared>(mine + i, Element{});
    gpu::sync_warp();
    const Epilogue epilogue = Epilogue::make_early(p);
    const std::int64_t depth = epilogue.has_product ? p.k : 0;
    Place now = {}, next = {};
    next.index = gpu::block_x() * kWarps + gpu::warp_index();
    gpu::grid_wait_dependencies();
    bool any = false;  // whether there is a slice now, and not only a next one
    Sums sums = {};
    XGEMM_NO_UNROLL
    for (int stage = 0;; stage ^= 1) {
      start(p, next, depth, mine + stage * kSlice);
      if (any) {
        gpu::copy_async_wait<1>();
        gpu::sync_warp();
        if (depth > 0) multiply(p, now.unit, slice_of(now, depth), mine + (stage ^ 1) * kSlice, sums);
        gpu::sync_warp();
        if (next.k == 0) {
          store(epilogue, p, now.unit, sums);
          XGEMM_UNROLL
          for (int j = 0; j < 2 * kColumns; ++j) {
            XGEMM_UNROLL
            for (int i = 0; i < kRows; ++i) sums[j][i] = 0;
          }
        }
      }
      if (next.index >= p.schedule.units) return;
      any = true;
      now = next;
      next.k += kTileK;
      if (next.k >= depth) next.k = 0, next.index += gpu::grid_x() * kWarps;
    }
  }

 private:
  using Sums = Element[2 * kColumns][kRows];  // of columns 8 (j / 2) + 2 t + j % 2 and rows g + 8 i

  // Most products have one tile, and their number needs no division.
  XGEMM_DEVICE static Unit tile_at(const TileParams& p, std::int64_t index) {
    if (p.schedule.tiles_m == 1 && p.schedule.tiles_n == 1) return {index, p.schedule.first_tile + index, 0, 0, 0, p.k};
    return unit_at<kTileM, kTileN, kTileK>(p, index);
  }

  // The lane's number, worked out where it is needed: registers belong to the sums.
  XGEMM_DEVICE static int lane_again() { return gpu::opaque(gpu::lane_index()); }

  // A slice of a tile: the tile's number among the units of work, what it is, and the slice's first k.
  struct Place {
    std::int64_t index;
    Unit unit;
    std::int64_t k;
  };
  // How many k it has.
  XGEMM_DEVICE static int slice_of(const Place& at, std::int64_t depth) {
    return static_cast<int>(depth - at.k < kTileK ? depth - at.k : kTileK);
  }

  // Starts copies of the slices there; of none beyond the last tile.
  XGEMM_DEVICE static void start(const TileParams& p, Place& at, std::int64_t depth, Element* slice) {
    if (at.index < p.schedule.units) {
      if (at.k == 0) at.unit = tile_at(p, at.index);
      if (depth > 0) {
        const ConstMatrixArg b = p.b.transposed();
        bring<kTileM, kShape.line_a>(p.a, at.unit.batch, at.unit.row, p.m, at.k, slice_of(at, depth), slice);
        bring<kTileN, kShape.line_b>(b, at.unit.batch, at.unit.col, p.n, at.k, slice_of(at, depth), slice + kSliceA);
      }
    }
    gpu::copy_async_commit();
  }

  // Of A, or of B transposed: lines that run along k.
  template <int kLines, int kLine>
  XGEMM_DEVICE static void bring(const ConstMatrixArg& x, std::int64_t batch, std::int64_t line, std::int64_t all_lines,
                                 std::int64_t k, int depth, Element* to) {
    const Element* from = entry_of<const Element>(x, batch, kFollows) + line * x.row_stride + k * x.col_stride;
    const int lines = static_cast<int>(all_lines - line < kLines ? all_lines - line : kLines);
    if (x.col_stride == 1) {
      copy<kTileK, kLine, 1>(from, 1, x.row_stride, depth, lines, to);
    } else {
      copy<32, 1, kLine>(from, x.row_stride, x.col_stride, lines, depth, to);
      if (lines > 32)
        copy<kLines - 32, 1, kLine>(from + 32 * x.row_stride, x.row_stride, x.col_stride, lines - 32, depth, to + 32);
    }
    if constexpr (kOnTensorCores) {
      // Of the instruction's last k there may be none.
      for (int k_of_zeros = depth; k_of_zeros % 8 != 0; ++k_of_zeros)
        for (int i = gpu::lane_index(); i < kLine; i += gpu::kWarpSize)
          gpu::write<Space::shared>(to + k_of_zeros * kLine + i, Element{});
    }
  }

  // Copies elements (i, j), of which neighbours along i are copied by neighbouring lanes: kLanes of them, and the other
  // lanes have other j.
  template <int kLanes, int kToI, int kToJ>
  XGEMM_DEVICE static void copy(const Element* from, std::int64_t stride_i, std::int64_t stride_j, int number_i,
                                int number_j, Element* to) {
    constexpr int kStep = gpu::kWarpSize / kLanes;
    const int lane = lane_again();
    const int i = lane % kLanes, first = lane / kLanes;
    from += i * stride_i + first * stride_j;
    to += i * kToI + first * kToJ;
    if (i >= number_i) return;
    const std::int64_t step = kStep * stride_j;
    constexpr int kAtOnce = 4;
    int j = first;
    XGEMM_NO_UNROLL
    for (; j + (kAtOnce - 1) * kStep < number_j; j += kAtOnce * kStep, to += kAtOnce * kStep * kToJ) {
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u, from += step) gpu::copy_async<sizeof(Element)>(to + u * kStep * kToJ, from);
    }
    XGEMM_NO_UNROLL
    for (; j < number_j; j += kStep, from += step, to += kStep * kToJ) gpu::copy_async<sizeof(Element)>(to, from);
  }

  XGEMM_DEVICE static void multiply(const TileParams& p, const Unit& unit, int depth, const Element* slice,
                                    Sums& sums) {
    const bool last_rows = p.m - unit.row > 32, last_columns = p.n - unit.col > 32;
    if (last_columns) {
      last_rows ? multiply<kRows, kColumns>(depth, slice, sums) : multiply<4, kColumns>(depth, slice, sums);
    } else {
      last_rows ? multiply<kRows, 4>(depth, slice, sums) : multiply<4, 4>(depth, slice, sums);
    }
  }

  // So many blocks of the tile.
  template <int kOfRows, int kOfColumns>
  XGEMM_DEVICE static void multiply(int depth, const Element* slice, Sums& sums) {
    constexpr int kLineA = kShape.line_a, kLineB = kShape.line_b;
    const int g = lane_again() / 4, t = lane_again() % 4;
    if constexpr (kOnTensorCores) {
      const Element* from_a = slice + t * kLineA + g;
      const Element* from_b = slice + kSliceA + t * kLineB + g;
      XGEMM_NO_UNROLL
      for (int k = 0; k < depth; k += 8, from_a += 8 * kLineA, from_b += 8 * kLineB) {
        Element a[kOfRows / 2][4];
        XGEMM_UNROLL
        for (int i = 0; i < 2 * kOfRows; ++i)
          a[i / 4][i % 4] = gpu::read<Space::shared>(from_a + i % 4 / 2 * 4 * kLineA + (i / 4 * 16 + i % 2 * 8));
        XGEMM_UNROLL
        for (int j = 0; j < kOfColumns; ++j) {
          const Element b[2] = {gpu::read<Space::shared>(from_b + 8 * j),
                                gpu::read<Space::shared>(from_b + 4 * kLineB + 8 * j)};
          XGEMM_UNROLL
          for (int i = 0; i < kOfRows; i += 2) {
            Element d[4] = {sums[2 * j][i], sums[2 * j + 1][i], sums[2 * j][i + 1], sums[2 * j + 1][i + 1]};
            gpu::mma<Element>(d, a[i / 2], b);
            sums[2 * j][i] = d[0], sums[2 * j + 1][i] = d[1];
            sums[2 * j][i + 1] = d[2], sums[2 * j + 1][i + 1] = d[3];
          }
        }
      }
    } else {
      using Two = gpu::Vector<Element, 2>;
      const Element* from_a = slice + g;
      const Element* from_b = slice + kSliceA + 2 * t;
      XGEMM_UNROLL_BY(2)
      for (int k = 0; k < depth; ++k, from_a += kLineA, from_b += kLineB) {
        Element a[kOfRows];
        Two b[kOfColumns];
        XGEMM_UNROLL
        for (int i = 0; i < kOfRows; ++i) a[i] = gpu::read<Space::shared>(from_a + 8 * i);
        XGEMM_UNROLL
        for (int j = 0; j < kOfColumns; ++j)
          b[j] = gpu::read<Space::shared>(reinterpret_cast<const Two*>(from_b + 8 * j));
        XGEMM_UNROLL
        for (int j = 0; j < 2 * kOfColumns; ++j) {
          XGEMM_UNROLL
          for (int step = 0; step < kOfRows; ++step) {  // there and back: a factor stays in the operand cache
            const int i = j % 2 == 0 ? step : kOfRows - 1 - step;
            sums[j][i] = gpu::fma(a[i], b[j / 2][j % 2], sums[j][i]);
          }
        }
      }
    }
  }

  XGEMM_DEVICE static void store(const Epilogue& epilogue, const TileParams& p, const Unit& unit, const Sums& sums) {
    const std::int64_t row = unit.row + lane_again() / 4, col = unit.col + lane_again() % 4 * 2;
    const auto view = view_c<kConfig, kFollows>(p, unit).template block<kTileM, kTileN>(row, col);
    // All of C, which the compiler is to know: the family computes no triangles.
    const OutputTile<Epilogue, std::remove_const_t<decltype(view)>> c(epilogue, p, view, row, col, Fill::full);
    XGEMM_UNROLL
    for (int j = 0; j < kColumns; ++j)
      if (p.n - unit.col > 8 * j)
        c.template store<1, 2 * kRows, 2 * kRows>(
            [j](int v) {
              return TilePosition{v % kRows * 8, 8 * j + v / kRows};
            },
            [&](int v) { return gpu::Vector<Element, 1>{{sums[2 * j + v / kRows][v % kRows]}}; });
  }
};

}  // namespace xgemm::kernels
