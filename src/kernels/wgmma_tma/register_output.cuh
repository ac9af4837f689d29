// How fp32 C leaves a wgmma_tma kernel: from the registers straight to memory. An access of a warp is of whole sectors
// of 32 bytes: 8 rows of each of 4 columns of C, or, transposed, 8 rows (pairs of 4 lanes) of 8 columns. C may have any
// leading dimension. Old C waits in the ring (old_c.cuh).
//
// A C without old values leaves large tiles by shared memory (chunk_output.cuh), whole lines at a time. Until a tile
// has left it takes longer: small ones, of which a CTA has few, would lose by it.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/common/dtype.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/chunk_output.cuh"
#include "kernels/wgmma_tma/cta.cuh"
#include "kernels/wgmma_tma/float_lane.cuh"
#include "kernels/wgmma_tma/fragment.cuh"
#include "kernels/wgmma_tma/old_c.cuh"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig, class Epilogue>
struct WgmmaTmaRegisterOutput : WgmmaTmaOldC<kConfig, Epilogue> {
  using OldC = WgmmaTmaOldC<kConfig, Epilogue>;
  using Cta = WgmmaTmaCta<kConfig>;
  using Place = typename Cta::Place;
  using Ring = typename Cta::Ring;
  using SharedStorage = typename Cta::SharedStorage;
  using Chunks = WgmmaTmaChunkOutput<kConfig, Epilogue>;
  using OldLane = WgmmaTmaFloatLane<kConfig, OldC>;
  static_assert(std::is_same_v<typename Cta::ElementC, float>);

  static constexpr bool kByChunks = kConfig.c_through_shared();  // where that may be

  XGEMM_DEVICE static void prefetch_maps(const WgmmaTmaParams& p) {
    if constexpr (kByChunks) Chunks::prefetch_maps(p);
  }
  XGEMM_DEVICE static void finish(int warp) {
    if constexpr (kByChunks) Chunks::finish(warp);
  }

  using Matrix = typename Cta::template MatrixC<Epilogue>;

  // Asks for an old C that TMA cannot bring, of a consumer's part of a tile from (row, column) of D on, to be in the L2
  // by when it is read.
  XGEMM_DEVICE static void prefetch_c(const WgmmaTmaParams& p, int row, int column, const Matrix& c) {
    if (Cta::kPlanes > 1 || p.c_old_by_tma) return;  // beside sums of parts there are no registers for it
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
  XGEMM_DEVICE static void store(const WgmmaTmaParams& p, SharedStorage& smem, const Place& place,
                                 const Epilogue& epilogue, Ring& ring, int group, int warp, int row, int column,
                                 const Matrix& c, const float (&acc)[Cta::kSlabs][kRegisters]) {
    if constexpr (!kReadsC && kByChunks)
      return Chunks::template store<false>(p, smem, place, epilogue, ring, group, warp, row, column, {c}, acc);
    const int tile_group = kConfig.ping_pong ? 0 : group;
    const int lane = gpu::opaque(gpu::lane_index());  // what follows from it would be kept all the time
    const OldLane old = OldLane::make(warp, lane);
    if constexpr (kReadsC) {
      OldC::begin(smem, ring, group);
      if (OldC::by_consumers(p)) {  // all that fits is on its way at a time
        Ring each = ring;
        XGEMM_NO_UNROLL
        for (int chunk = 0; chunk < OldC::kTileChunks; ++chunk) {
          OldC::wait_for(smem, each, chunk);
          if (place.stores(chunk, tile_group)) {
            const int of_slab = chunk % OldC::kChunks * Cta::kChunk;
            old.bring(OldC::chunk_of(smem.slots[each.slot], tile_group, chunk),
                      NewLane::make(p, row + chunk / OldC::kChunks * 64 + 16 * warp, column + of_slab, lane, c));
          }
          if (OldC::ends_slot(chunk)) each.next();
        }
        gpu::copy_async_commit();
        gpu::copy_async_wait<0>();
        gpu::fence_async_shared();  // TMA writes there next
      }
    }
    XGEMM_UNROLL
    for (int chunk = 0; chunk < OldC::kTileChunks; ++chunk) {
      const int slab = chunk / OldC::kChunks, first = chunk % OldC::kChunks * kFragments;
      if constexpr (kReadsC) OldC::wait_for(smem, ring, chunk);
      if (place.stores(chunk, tile_group)) {
        const NewLane now = NewLane::make(p, row + 64 * slab + 16 * warp, column + 8 * first, lane, c);
        const float* const waiting = OldC::chunk_of(smem.slots[ring.slot], tile_group, chunk);
        XGEMM_UNROLL
        for (int f = 0; f < kFragments; ++f) {
          XGEMM_UNROLL
          for (int half = 0; half < 2; ++half) {
            Pair pair{};
            if constexpr (kReadsC) pair = old.load(waiting, f, half);
            const auto finished = [&](float old_c, int r) {
              return finish_sum<kReadsC, Cta::kTransposed>(epilogue, p, acc[slab][4 * (first + f) + r], old_c,
                                                           row + 64 * slab + 16 * warp, column + 8 * (first + f), r);
            };
            now.store({finished(pair.low, 2 * half), finished(pair.high, 2 * half + 1)}, f, half);
          }
        }
      }
      if constexpr (kReadsC) OldC::release(p, smem, place, ring, chunk, group);
    }
  }

 private:
  static constexpr int kFragments = OldLane::kFragments;
  using Pair = typename OldLane::Pair;

  // Where a thread's sums of a chunk lie in C.
  struct NewLane {
    float* c;  // the first one
    std::int64_t ld;
    int rows, columns;  // of D from there on

    XGEMM_DEVICE static NewLane make(const WgmmaTmaParams& p, int warp_row, int first_column, int lane,
                                     const Matrix& c) {
      const int row = warp_row + gpu::wgmma_row(lane, 0), column = first_column + gpu::wgmma_column(lane, 0);
      const std::int64_t ld = gpu::opaque(p.c_ld);
      const std::int64_t line = Cta::kTransposed ? row : column, at = Cta::kTransposed ? column : row;
      return {c.data(p) + line * ld + at, ld, Cta::rows_of(p) - row, Cta::columns_of(p) - column};
    }

    // Element e of a pair, two columns in a row of D.
    XGEMM_DEVICE float* address(int fragment, int half, int e) const {
      const int row = 8 * half, column = 8 * fragment + e;
      return c + (Cta::kTransposed ? row * ld + column : column * ld + row);
    }
    XGEMM_DEVICE int inside(int fragment, int half) const {  // elements of a pair
      if (8 * half >= rows || 8 * fragment >= columns) return 0;
      return 8 * fragment + 1 < columns ? 2 : 1;
    }

    // What a pointer leads to need not be aligned.
    XGEMM_DEVICE static bool starts_pair(const float* at) {
      return !kFollows<Epilogue> || reinterpret_cast<std::uintptr_t>(at) % sizeof(Pair) == 0;
    }

    XGEMM_DEVICE void store(const Pair& pair, int fragment, int half) const {
      const int count = inside(fragment, half);
      if (Cta::kTransposed && count == 2 && starts_pair(address(fragment, half, 0))) {
        gpu::write<gpu::Space::global>(reinterpret_cast<gpu::Vector<float, 2>*>(address(fragment, half, 0)),
                                       gpu::Vector<float, 2>{{pair.low, pair.high}});
      } else {
        if (count > 0) gpu::write<gpu::Space::global>(address(fragment, half, 0), pair.low);
        if (count > 1) gpu::write<gpu::Space::global>(address(fragment, half, 1), pair.high);
      }
    }
  };
};

}  // namespace xgemm::kernels
