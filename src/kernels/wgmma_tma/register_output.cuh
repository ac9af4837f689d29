// How fp32 C leaves a wgmma_tma kernel: from the registers straight to memory, and old C the other way. An access of a
// warp is of whole sectors of 32 bytes: 8 rows of each of 4 columns of C, or, transposed, 8 rows (pairs of 4 lanes) of
// 8 columns. C may have any leading dimension.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/dtype.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"
#include "kernels/wgmma_tma/fragment.cuh"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig, class Epilogue>
struct WgmmaTmaRegisterOutput {
  using Cta = WgmmaTmaCta<kConfig>;
  using Place = typename Cta::Place;
  using Ring = typename Cta::Ring;
  using SharedStorage = typename Cta::SharedStorage;
  static_assert(std::is_same_v<typename Cta::ElementC, float>);

  static constexpr int kSlots = 0;  // old C does not pass through the ring

  XGEMM_DEVICE static void prefetch_maps(const WgmmaTmaParams&) {}
  XGEMM_DEVICE static void load_c(const WgmmaTmaParams&, SharedStorage&, const Place&, Ring&, const typename Cta::Tile&,
                                  int) {}
  XGEMM_DEVICE static void skip(SharedStorage&, const Place&, Ring&, int, int) {}
  XGEMM_DEVICE static void finish(int) {}

  using Matrix = typename Cta::template MatrixC<Epilogue>;

  // Asks for the old C of a consumer's part of a tile, from (row, column) of D on, to be in the L2 by when it is read.
  XGEMM_DEVICE static void prefetch_c(const WgmmaTmaParams& p, int row, int column, const Matrix& c) {
    if constexpr (Cta::kPlanes > 1) return;  // beside sums of parts there are no registers for it
    const int rows = Cta::rows_of(p) - row < Cta::kGroupRows ? Cta::rows_of(p) - row : Cta::kGroupRows;
    const int columns =
        Cta::columns_of(p) - column < Cta::kGroupColumns ? Cta::columns_of(p) - column : Cta::kGroupColumns;
    const int length = Cta::kTransposed ? columns : rows, lines = Cta::kTransposed ? rows : columns;
    const float* const first = c.data(p) + (Cta::kTransposed ? row * p.c_ld + column : column * p.c_ld + row);
    XGEMM_NO_UNROLL
    for (int line = gpu::thread_index() % gpu::kGroupThreads; line < lines; line += gpu::kGroupThreads)
      gpu::bulk_prefetch(first + line * p.c_ld, length * static_cast<int>(sizeof(float)));
  }

  // Stores the 2 * kRegisters columns from (row, column) on.
  template <bool kReadsC, int kRegisters>
  XGEMM_DEVICE static void store(const WgmmaTmaParams& p, SharedStorage&, const Place& place, const Epilogue& epilogue,
                                 Ring&, int group, int warp, int row, int column, const Matrix& c,
                                 const float (&acc)[Cta::kSlabs][kRegisters]) {
    // Fragments of 8 columns whose old C is on its way at a time: as much as there are registers for beside the sums.
    constexpr int kFragments = kRegisters / 4;
    constexpr int kInFlight = kConfig.many_accumulators() || kConfig.consumers() == 3 ? 8 : 16;
    constexpr int kAhead = kFragments < kInFlight / (4 * Cta::kSlabs) ? kFragments : kInFlight / (4 * Cta::kSlabs);
    static_assert(kAhead > 0);
    Lane lane = Lane::make(p, row + 16 * warp, column, c);
    XGEMM_UNROLL
    for (int first = 0; first < kFragments; first += kAhead) {
      if (first > 0) lane.advance(kAhead);
      float old[kAhead][Cta::kSlabs][4] = {};
      if constexpr (kReadsC) {
        for_each_pair<kAhead, kFragments>(place, group, first, [&](int f, int i, int half) {
          lane.load(old[f - first][i][2 * half], old[f - first][i][2 * half + 1], f - first, i, half);
        });
      }
      for_each_pair<kAhead, kFragments>(place, group, first, [&](int f, int i, int half) {
        const auto result = [&](int e) {
          const int r = 2 * half + e;
          return finish_sum<kReadsC, Cta::kTransposed>(epilogue, p, acc[i][4 * f + r], old[f - first][i][r],
                                                       row + 64 * i + 16 * warp, column + 8 * f, r);
        };
        lane.store(result(0), result(1), f - first, i, half);
      });
    }
  }

 private:
  // Calls g(fragment, slab, half) for the pairs of sums, two columns in a row of D, that a thread holds of kAhead
  // fragments of 8 columns, of the chunks that this CTA stores.
  template <int kAhead, int kFragments, class G>
  XGEMM_DEVICE static void for_each_pair(const Place& place, int group, int first, const G& g) {
    XGEMM_UNROLL
    for (int f = first; f < first + kAhead; ++f) {
      if (f >= kFragments) continue;
      XGEMM_UNROLL
      for (int i = 0; i < Cta::kSlabs; ++i) {
        if (!place.stores(i * (Cta::kGroupColumns / Cta::kChunk) + 8 * f / Cta::kChunk, group)) continue;
        XGEMM_UNROLL
        for (int half = 0; half < 2; ++half) g(f, i, half);
      }
    }
  }

  // Where a thread's sums lie in C, from some fragment on.
  struct Lane {
    float* c;         // the entry of the batch
    std::int64_t at;  // the first one
    std::int64_t ld;
    int rows, columns;  // of D from there on

    XGEMM_DEVICE static Lane make(const WgmmaTmaParams& p, int warp_row, int first_column, const Matrix& c) {
      const int row = warp_row + gpu::wgmma_row(gpu::lane_index(), 0);
      const int column = first_column + gpu::wgmma_column(gpu::lane_index(), 0);
      const std::int64_t ld = gpu::opaque(p.c_ld);
      const std::int64_t line = Cta::kTransposed ? row : column, at = Cta::kTransposed ? column : row;
      return {c.data(p), line * ld + at, ld, Cta::rows_of(p) - row, Cta::columns_of(p) - column};
    }

    XGEMM_DEVICE void advance(int fragments) {
      at = gpu::opaque(at + 8 * fragments * (Cta::kTransposed ? 1 : ld));
      columns -= 8 * fragments;
    }

    // Element e of a pair.
    XGEMM_DEVICE float* address(int fragment, int slab, int half, int e) const {
      const int row = 64 * slab + 8 * half, column = 8 * fragment + e;
      return c + at + (Cta::kTransposed ? row * ld + column : column * ld + row);
    }
    XGEMM_DEVICE int inside(int fragment, int slab, int half) const {  // elements of a pair
      if (64 * slab + 8 * half >= rows || 8 * fragment >= columns) return 0;
      return 8 * fragment + 1 < columns ? 2 : 1;
    }

    XGEMM_DEVICE void load(float& low, float& high, int fragment, int slab, int half) const {
      const int count = inside(fragment, slab, half);
      if (Cta::kTransposed && count == 2) {
        const auto pair = gpu::read<gpu::Space::global>(
            reinterpret_cast<const gpu::Vector<float, 2>*>(address(fragment, slab, half, 0)));
        low = pair[0];
        high = pair[1];
      } else {
        if (count > 0) low = gpu::read<gpu::Space::global>(address(fragment, slab, half, 0));
        if (count > 1) high = gpu::read<gpu::Space::global>(address(fragment, slab, half, 1));
      }
    }
    XGEMM_DEVICE void store(float low, float high, int fragment, int slab, int half) const {
      const int count = inside(fragment, slab, half);
      if (Cta::kTransposed && count == 2) {
        gpu::write<gpu::Space::global>(reinterpret_cast<gpu::Vector<float, 2>*>(address(fragment, slab, half, 0)),
                                       gpu::Vector<float, 2>{{low, high}});
      } else {
        if (count > 0) gpu::write<gpu::Space::global>(address(fragment, slab, half, 0), low);
        if (count > 1) gpu::write<gpu::Space::global>(address(fragment, slab, half, 1), high);
      }
    }
  };
};

}  // namespace xgemm::kernels
