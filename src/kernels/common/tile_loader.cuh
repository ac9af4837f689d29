// TileLoader: how the threads of a CTA bring one tile of op(A) or op(B) from global to shared memory.
//
// The share-out is a layout::CoalescedLayout, walked along the operand's own contiguous axis, so a warp reads whole
// sectors whatever the flags. Where the tile in shared memory is contiguous along the other axis, vectors are taken
// apart on the way in: that is where a transposed operand is transposed. Elements outside the operand become zeros, and
// are never read.
//
//   Loader::copy(block, tile)           global -> registers -> shared
//   Loader::fetch(block, fragment)      global -> registers: start the loads of a slice early, compute, then
//   Loader::deposit(fragment, tile)     registers -> shared
//   Loader::copy_async(block, tile)     global -> shared by cp.async (sm_80); commit and wait are the caller's
//
// `block` is MatrixView::block of the operand, `tile` a shared_view with the extents of the loader. No function
// contains a barrier.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/dtype.cuh"
#include "kernels/common/matrix_view.cuh"
#include "kernels/common/target.cuh"
#include "layout/coalesced_layout.h"

namespace xgemm::kernels {

// kRows x kCols elements of T, loaded kWidth at a time along kContiguous by kThreads threads. The tile is walked in
// panels of kRun elements along that axis: a shorter run gives a warp more lines, which spreads the stores of a
// transposing deposit over more banks.
template <class T, int kRows, int kCols, Contiguous kContiguous, int kWidth, int kThreads,
          int kRun = kContiguous == Contiguous::row ? kRows : kCols>
struct TileLoader {
  static_assert(kThreads % gpu::kWarpSize == 0, "a layout shares a tile out among whole warps");
  static constexpr layout::CoalescedLayout kLayout = layout::make_coalesced_layout(
      kContiguous == Contiguous::row ? kRun : kRows, kContiguous == Contiguous::row ? kCols : kRun, sizeof(T),
      kContiguous == Contiguous::row ? layout::Axis::row : layout::Axis::col, kWidth, kThreads / gpu::kWarpSize);
  // Narrower than kWidth where a full vector would leave threads idle.
  static constexpr int kVector = kLayout.vector_elements();
  static constexpr int kPanels = (kContiguous == Contiguous::row ? kRows : kCols) / kRun;
  static_assert(kPanels * kRun == (kContiguous == Contiguous::row ? kRows : kCols), "panels fill the tile");
  static constexpr int kPanelRepetitions = kLayout.repetitions();
  static constexpr int kRepetitions = kPanels * kPanelRepetitions;
  static constexpr bool kAlongRow = kContiguous == Contiguous::row;
  // cp.async moves at least four bytes: a single fp16 element takes the way through registers.
  static constexpr bool kCanCopyAsync = kVector * sizeof(T) >= 4;

  using Vector = gpu::Vector<T, kVector>;
  struct Fragment {
    Vector data[kRepetitions];
  };

  template <class Block>
  XGEMM_DEVICE static void fetch(const Block& block, Fragment& fragment, Loc loc = Loc::current()) {
    // Nearly every block is whole; one uniform test spares it a test per vector.
    if (whole(block)) {
      for_each_vector(
          [&](int repetition, int i, int j) { fragment.data[repetition] = block.template load<kVector>(i, j, loc); });
    } else {
      for_each_vector([&](int repetition, int i, int j) {
        fragment.data[repetition] = block.template load_or_zero<kVector>(i, j, loc);
      });
    }
  }

  template <class Tile>
  XGEMM_DEVICE static void deposit(const Fragment& fragment, const Tile& tile, Loc loc = Loc::current()) {
    check<Tile>();
    for_each_vector([&](int repetition, int i, int j) {
      if constexpr (kSameOrder<Tile>) {
        tile.template store<kVector>(i, j, fragment.data[repetition], loc);
      } else {
        XGEMM_UNROLL
        for (int e = 0; e < kVector; ++e) {
          tile(i + (kAlongRow ? e : 0), j + (kAlongRow ? 0 : e), loc) = fragment.data[repetition][e];
        }
      }
    });
  }

  template <class Block, class Tile>
  XGEMM_DEVICE static void copy(const Block& block, const Tile& tile, Loc loc = Loc::current()) {
    Fragment fragment;
    fetch(block, fragment, loc);
    deposit(fragment, tile, loc);
  }

  template <class Block, class Tile>
  XGEMM_DEVICE static void copy_async(const Block& block, const Tile& tile, Loc loc = Loc::current()) {
    check<Tile>();
    static_assert(kCanCopyAsync, "cp.async moves 4, 8 or 16 bytes");
    static_assert(kSameOrder<Tile>, "cp.async cannot transpose: the tile must be contiguous along the operand's axis");
    constexpr int kBytes = kVector * int{sizeof(T)};
    if (whole(block)) {
      for_each_vector(
          [&](int, int i, int j) { gpu::copy_async<kBytes>(tile.address(i, j), block.address(i, j), kBytes, loc); });
      return;
    }
    for_each_vector([&](int, int i, int j) {
      const int inside = block.template count_inside<kVector>(i, j);
      gpu::copy_async<kBytes>(tile.address(i, j), block.address(i, j), inside * int{sizeof(T)}, loc);
    });
  }

 private:
  template <class Block>
  XGEMM_DEVICE static bool whole(const Block& block) {
    return block.rows() == kRows && block.cols() == kCols;
  }

  template <class Tile>
  static constexpr bool kSameOrder = kVector == 1 || (kAlongRow ? Tile::kColumnMajor : Tile::kRowMajor);

  template <class Tile>
  XGEMM_DEVICE static void check() {
    static_assert(std::is_same_v<typename Tile::Element, T> && Tile::kSpace == Space::shared);
  }

  // Calls f(repetition, row, column) for each vector of this thread. The thread's part is computed once, a repetition
  // adds constants.
  template <class F>
  XGEMM_DEVICE static void for_each_vector(const F& f) {
    constexpr layout::CoalescedLayout kMap = kLayout;  // device code cannot name a static data member of class type
    const layout::Coordinate origin = kMap.coordinate(gpu::thread_index(), 0);
    XGEMM_UNROLL
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
      const layout::Coordinate step = kMap.coordinate(0, repetition % kPanelRepetitions);
      const int panel = repetition / kPanelRepetitions * kRun;
      const int i = origin.row + step.row + (kAlongRow ? panel : 0);
      const int j = origin.col + step.col + (kAlongRow ? 0 : panel);
      if (kMap.exact() || (i < kRows && j < kCols)) f(repetition, i, j);
    }
  }
};

// The loaders of a TileConfig: slices cta_m x cta_k of op(A), cta_k x cta_n of op(B).
template <TileConfig kConfig>
using TileLoaderA = TileLoader<gpu::ElementOf<kConfig.type>, kConfig.cta_m, kConfig.cta_k,
                               contiguous(kConfig.a_contiguous), kConfig.vector, kConfig.threads()>;
template <TileConfig kConfig>
using TileLoaderB = TileLoader<gpu::ElementOf<kConfig.type>, kConfig.cta_k, kConfig.cta_n,
                               contiguous(kConfig.b_contiguous), kConfig.vector, kConfig.threads()>;

}  // namespace xgemm::kernels
