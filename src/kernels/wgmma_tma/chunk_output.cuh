// How 16-bit C leaves a wgmma_tma kernel: by chunks of 64 rows x kChunk columns of D, registers -> stmatrix -> buffer
// -> TMA store, which runs under the next chunk and the next tile's mainloop. What TMA cannot store (rows beyond whole
// vectors, a C that is not aligned) the consumer's threads copy from the buffers. Old C arrives through the slots of
// the ring, after the last slice of K, and is read with ldmatrix into the layout of the accumulators.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/matrix_view.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/sm90/warpgroup.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"
#include "kernels/wgmma_tma/fragment.cuh"
#include "kernels/wgmma_tma/line_loader.cuh"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig, class Epilogue>
struct WgmmaTmaChunkOutput {
  using Cta = WgmmaTmaCta<kConfig>;
  using Element = typename Cta::ElementC;
  using Place = typename Cta::Place;
  using Ring = typename Cta::Ring;
  using SharedStorage = typename Cta::SharedStorage;
  using Tile = typename Cta::Tile;
  static_assert(sizeof(Element) == 2, "ldmatrix and stmatrix move 16-bit elements");

  static constexpr bool kTransposed = Cta::kTransposed;
  static constexpr int kChunk = Cta::kChunk;
  static constexpr int kChunkElements = Cta::kChunkElements;
  static constexpr int kChunks = Cta::kGroupColumns / kChunk;  // of one slab
  static constexpr int kTileChunks = Cta::kSlabs * kChunks;    // of a consumer
  static constexpr int kBuffers = Cta::kBuffers;
  static_assert(kBuffers >= 1, "the ring leaves no room for a chunk of C");
  // Chunks that are converted, then handed to the copy engine, together: while it reads those, the next ones go to the
  // other buffers.
  static constexpr int kChunkBatch = kBuffers >= kTileChunks ? kTileChunks : kBuffers > 1 ? kBuffers / 2 : 1;
  // Where threads bring old C, none where the copy engine of another CTA writes.
  static constexpr int kSlotBytes =
      kConfig.by_lines() ? Cta::kXElements * static_cast<int>(sizeof(Element)) : kConfig.slot_bytes();
  static constexpr int kChunksPerSlot =
      kSlotBytes / static_cast<int>(kChunkElements * sizeof(Element)) / Cta::kTileGroups;
  static_assert(kChunksPerSlot >= 1, "a slot of the ring must hold a chunk of C for each consumer");
  // Slots that old C takes.
  static constexpr int kSlots = (kTileChunks + kChunksPerSlot - 1) / kChunksPerSlot;

  XGEMM_DEVICE static void prefetch_maps(const WgmmaTmaParams& p) {
    if (p.c_whole_m != 0) gpu::tma_prefetch_map(p.c);
  }

  // The producer's part: old C to the ring. matrix: its number, or where it lies.
  template <class Entry>
  XGEMM_DEVICE static void load_c(const WgmmaTmaParams& p, SharedStorage& smem, const Place& place, Ring& ring,
                                  const Tile& tile, Entry matrix) {
    XGEMM_NO_UNROLL
    for (int s = 0; s < kSlots; ++s) {
      const int first = s * kChunksPerSlot;
      const int left = kTileChunks - first;
      const int chunks = left < kChunksPerSlot ? left : kChunksPerSlot;
      gpu::Mbarrier& full = smem.full[ring.slot];
      const auto for_stored = [&](const auto& f) {
        XGEMM_NO_UNROLL
        for (int g = 0; g < Cta::kTileGroups; ++g) {
          if (!Cta::reaches_c(p, tile, g)) continue;
          XGEMM_NO_UNROLL
          for (int i = 0; i < chunks; ++i) {
            const int row = tile.row + Cta::group_row(g), column = tile.column + Cta::group_column(g);
            if (place.stores(first + i, g) && is_loaded(p, first + i, row, column)) f(g, i);
          }
        }
      };
      if (Cta::template wait_to_ask<Epilogue>(smem, ring)) {
        int stored = 0;
        for_stored([&](int, int) { ++stored; });
        gpu::mbarrier_arrive_expect(full, stored * kChunkElements * static_cast<int>(sizeof(Element)));
        for_stored([&](int g, int i) {
          const int d_row = tile.row + Cta::group_row(g) + (first + i) / kChunks * 64;
          const int d_column = tile.column + Cta::group_column(g) + (first + i) % kChunks * kChunk;
          gpu::tma_load(old_chunk(smem.slots[ring.slot], g, i), p.c_old, full, kTransposed ? d_column : d_row,
                        kTransposed ? d_row : d_column, matrix);
        });
      }
      ring.next();
    }
  }

  // The same by a team of threads, of one of those slots.
  template <int kThreads>
  XGEMM_DEVICE static void load_lines(const WgmmaTmaParams& p, typename SharedStorage::Slot& slot, const Place& place,
                                      const Tile& tile, int index, int thread) {
    constexpr int kLines = kTransposed ? 64 : kChunk;  // columns of C
    static_assert((kTransposed ? kChunk : 64) * sizeof(Element) == Cta::kSwizzleC, "a line is a column of C");
    const WordLines& c = p.c_lines;
    const auto* const data = entry_of<const Element>(c, tile.batch);
    XGEMM_NO_UNROLL
    for (int i = 0; i < Cta::kTileGroups * kChunksPerSlot; ++i) {
      const int g = i / kChunksPerSlot, chunk = index * kChunksPerSlot + i % kChunksPerSlot;
      if (chunk >= kTileChunks || !Cta::reaches_c(p, tile, g) || !place.stores(chunk, g)) continue;
      const int d_row = tile.row + Cta::group_row(g) + chunk / kChunks * 64;
      const int d_column = tile.column + Cta::group_column(g) + chunk % kChunks * kChunk;
      const int row = kTransposed ? d_column : d_row, column = kTransposed ? d_row : d_column;
      // No vector reaches into rows that others may be writing: a chunk is a matrix of its own.
      constexpr int kRows = kTransposed ? kChunk : 64;
      const int rows = p.m - row < kRows ? p.m - row : kRows;
      const int columns = p.n - column < kLines ? p.n - column : kLines;
      // Of many lines a few at a time: that is less code, and takes fewer registers.
      constexpr int kFew = kFollows<Epilogue> ? kThreads * 16 / Cta::kSwizzleC : kThreads < 128 ? 16 : kLines;
      constexpr int kAtOnce = kLines % kFew == 0 ? kFew : kLines;
      XGEMM_NO_UNROLL
      for (int first = 0; first < kLines; first += kAtOnce) {
        auto lines = LineLoader<Element, kAtOnce, Cta::kSwizzleC, kThreads>::make(
            data + column * c.stride + row, c.stride, columns, rows, first, 0, thread);
        lines.fetch(0, 0, columns - first, rows);
        lines.deposit(old_chunk(slot, g, i % kChunksPerSlot) + first * (Cta::kSwizzleC / int{sizeof(Element)}));
      }
    }
  }

  // A consumer's part of a tile that has nothing inside of C.
  XGEMM_DEVICE static void skip(SharedStorage& smem, const Place& place, Ring& ring, int slots, int group) {
    Cta::pass_slots(smem, place, ring, slots);
    if (slots != 0) Cta::pass_turn(smem, group);
  }

  // Which C of the batch.
  struct Matrix : Cta::template MatrixC<Epilogue> {
    using Base = typename Cta::template MatrixC<Epilogue>;

    XGEMM_DEVICE static Matrix make(const WgmmaTmaParams& p, int batch) { return {Base::make(p, batch)}; }
    XGEMM_DEVICE Matrix settled(const WgmmaTmaParams& p) const { return {Base::settled(p)}; }
    // The rows that TMA stores: none of a matrix off 16 bytes.
    XGEMM_DEVICE int whole_m(const WgmmaTmaParams& p) const {
      return Base::kMayFollow && !gpu::BoxEntry::holds(this->found) ? 0 : p.c_whole_m;
    }
    XGEMM_DEVICE void store_box(const WgmmaTmaParams& p, const char* buffer, int row, int column) const {
      if constexpr (Base::kMayFollow) {
        if (Cta::template follows<Epilogue>(p))
          return gpu::tma_store(p.c, buffer, row, column, gpu::BoxEntry::at(this->found));
      }
      gpu::tma_store(p.c, buffer, row, column, this->number);
    }
  };

  // It comes by the ring.
  XGEMM_DEVICE static void prefetch_c(const WgmmaTmaParams&, int, int, const Matrix&) {}

  // Stores the 2 * kRegisters columns from (row, column) on. kWhole: TMA stores all of C.
  template <bool kReadsC, bool kWhole = false, int kRegisters>
  XGEMM_DEVICE static void store(const WgmmaTmaParams& p, SharedStorage& smem, const Place& place,
                                 const Epilogue& epilogue, Ring& ring, int group, int warp, int row, int column,
                                 const Matrix& found, const float (&acc)[Cta::kSlabs][kRegisters]) {
    const int tile_group = kConfig.ping_pong ? 0 : group;
    const Matrix matrix = found.settled(p);
    // Calls f(chunk, its buffer) for the chunks of a batch, or for those of them that this CTA stores.
    const auto for_batch = [&](int first, const auto& f) {
      XGEMM_UNROLL
      for (int chunk = first; chunk < first + kChunkBatch; ++chunk) {
        if (chunk < kTileChunks) f(chunk, reinterpret_cast<char*>(smem.c.chunks[group][chunk % kBuffers]));
      }
    };
    const auto for_stored = [&](int first, const auto& f) {
      for_batch(first, [&](int chunk, const char* buffer) {
        if (place.stores(chunk, tile_group)) f(chunk, buffer);
      });
    };
    XGEMM_UNROLL
    for (int first = 0; first < kTileChunks; first += kChunkBatch) {
      // The stores that last used these buffers have read them.
      if (is_storer(warp)) {
        if (first == 0) {
          gpu::tma_store_wait_read<0>();
        } else {
          gpu::tma_store_wait_read<kBuffers / kChunkBatch - 1>();
        }
      }
      gpu::named_barrier_sync(1 + group, gpu::kGroupThreads);
      for_batch(first, [&](int chunk, char* buffer) {
        if (kReadsC && chunk % kChunksPerSlot == 0) gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
        const char* old =
            reinterpret_cast<const char*>(old_chunk(smem.slots[ring.slot], tile_group, chunk % kChunksPerSlot));
        const float* sums = &acc[chunk / kChunks][chunk % kChunks * kChunk / 2];
        const int warp_row = row + chunk / kChunks * 64 + 16 * warp;
        const int first_column = column + chunk % kChunks * kChunk;
        // Without old C, chunks that others store are converted as well: asking here would take as long.
        if (!kReadsC || (place.stores(chunk, tile_group) && is_loaded(p, chunk, row, column))) {
          XGEMM_UNROLL
          for (int c = 0; c < kChunk / 16 * 16; c += 16) {
            convert<kReadsC, 16>(p, epilogue, sums + c / 2, old, buffer, lane_offset(warp, c), warp_row,
                                 first_column + c);
          }
          if constexpr (kChunk % 16 != 0) {
            constexpr int kLast = kChunk - 8;
            convert<kReadsC, 8>(p, epilogue, sums + kLast / 2, old, buffer, lane_offset(warp, kLast), warp_row,
                                first_column + kLast);
          }
        }
        if (kReadsC && (chunk % kChunksPerSlot == kChunksPerSlot - 1 || chunk == kTileChunks - 1)) {
          gpu::sync_warp();
          Cta::release(smem, ring.slot, place);
          ring.next();
          if (chunk == kTileChunks - 1) Cta::pass_turn(smem, group);
        }
      });
      gpu::fence_async_shared();
      gpu::named_barrier_sync(1 + group, gpu::kGroupThreads);
      const auto at = [&](int chunk, const auto& f) {  // f(row, column) of C
        const int d_row = row + chunk / kChunks * 64;
        const int d_column = column + chunk % kChunks * kChunk;
        f(kTransposed ? d_column : d_row, kTransposed ? d_row : d_column);
      };
      if (is_storer(warp)) {
        for_stored(first, [&](int chunk, const char* buffer) {
          at(chunk, [&](int c_row, int c_column) {
            if (c_row < matrix.whole_m(p) && c_column < p.n) matrix.store_box(p, buffer, c_row, c_column);
          });
        });
        gpu::tma_store_commit();
      }
      if (!kWhole && matrix.whole_m(p) != p.m) {
        XGEMM_NO_UNROLL
        for (int chunk = first; chunk < first + kChunkBatch && chunk < kTileChunks; ++chunk) {
          if (!place.stores(chunk, tile_group)) continue;
          const auto* const buffer = reinterpret_cast<const char*>(smem.c.chunks[group][chunk % kBuffers]);
          at(chunk, [&](int c_row, int c_column) { store_rest(p, buffer, c_row, c_column, matrix); });
        }
      }
    }
  }

  // Before a consumer ends: its stores have read the buffers.
  XGEMM_DEVICE static void finish(int warp) {
    if (is_storer(warp)) gpu::tma_store_wait_read<0>();
  }

 private:
  // Whether old C comes for a chunk of a part of a tile, which begins at (row, column): of matrices that are found by
  // pointers not where nothing of the chunk is in C (TensorBox::anywhere).
  XGEMM_DEVICE static bool is_loaded(const WgmmaTmaParams& p, int chunk, int row, int column) {
    if constexpr (!kFollows<Epilogue>) return true;
    return row + chunk / kChunks * 64 < Cta::rows_of(p) && column + chunk % kChunks * kChunk < Cta::columns_of(p);
  }

  XGEMM_DEVICE static bool is_storer(int warp) { return warp == 0 && gpu::lane_index() == 0; }

  XGEMM_DEVICE static Element* old_chunk(typename SharedStorage::Slot& slot, int tile_group, int chunk) {
    return reinterpret_cast<Element*>(&slot) + (tile_group * kChunksPerSlot + chunk) * kChunkElements;
  }

  // The byte offset in a chunk's buffer of this lane's row for stmatrix and ldmatrix, for the kWide columns from
  // `column` on (8 or 16): matrices 0 and 1 are rows 0..7 and 8..15 of the warp, 2 and 3 the same of the next 8
  // columns.
  XGEMM_DEVICE static int lane_offset(int warp, int column) {
    const int lane = gpu::lane_index();
    const int row = 16 * warp + 8 * (lane / 8 % 2);
    const int column8 = column + 8 * (lane / 16);
    if constexpr (kTransposed) {  // buffer: 64 rows of kChunk columns
      return swizzled((row + lane % 8) * Cta::kChunkRowBytes + column8 * 2);
    } else {  // buffer: kChunk columns of 64 rows
      return swizzled((column8 + lane % 8) * Cta::kChunkRowBytes + row * 2);
    }
  }
  XGEMM_DEVICE static int swizzled(int offset) {
    return Cta::kSwizzleC == 0 ? offset : offset ^ (offset >> 3 & (Cta::kSwizzleC - 16));
  }

  // The rows of C from c_whole_m on, where they lie in this chunk: the last m % 8, or all of a C that the copy engine
  // cannot address. An access of a warp is of 32 rows of a column, whatever they start on. Vectors that are aligned in
  // memory would be fewer accesses, but each of many columns, and the ends beside: more sectors for the L2 in all.
  // Accesses of what 64 bytes of memory have of a column ask for five sectors where these do for six, but there are
  // three for two, each within bounds of its own, and take longer.
  XGEMM_DEVICE static void store_rest(const WgmmaTmaParams& p, const char* buffer, int c_row, int c_column,
                                      const Matrix& matrix) {
    constexpr int kRows = kTransposed ? kChunk : 64;  // of C
    constexpr int kColumns = kTransposed ? 64 : kChunk;
    constexpr int kPieces = (kRows + gpu::kWarpSize - 1) / gpu::kWarpSize;  // of a column
    const int first = matrix.whole_m(p) - c_row > 0 ? matrix.whole_m(p) - c_row : 0;
    const int rows = (p.m - c_row < kRows ? p.m - c_row : kRows) - first;
    if (rows <= 0) return;
    const int columns = p.n - c_column < kColumns ? p.n - c_column : kColumns;
    // Threads that share a column: of few rows, such as the last m % 8, a warp has several columns.
    const int log_places = rows > 8 ? 5 : 3;
    const int thread = gpu::thread_index() % gpu::kGroupThreads;
    const int place = thread & ((1 << log_places) - 1), step = gpu::kGroupThreads >> log_places;
    int column = thread >> log_places;
    Element* c = matrix.data(p) + (c_column + column) * p.c_ld + c_row + first + place;
    XGEMM_NO_UNROLL
    for (; column < columns; column += step, c += step * p.c_ld) {
      const int line = column * Cta::kChunkRowBytes;
      Element values[kPieces] = {};
      const auto for_each_piece = [&](const auto& f) {  // f(value, rows from the thread's first one on)
        XGEMM_UNROLL
        for (int piece = 0; piece < kPieces; ++piece)
          if (place + gpu::kWarpSize * piece < rows) f(values[piece], gpu::kWarpSize * piece);
      };
      for_each_piece([&](Element& value, int row) {
        const int at = line + ((first + place + row) * static_cast<int>(sizeof(Element)) ^ line ^ swizzled(line));
        value = gpu::read<gpu::Space::shared>(reinterpret_cast<const Element*>(buffer + at));
      });
      for_each_piece([&](const Element& value, int row) { gpu::write<gpu::Space::global>(c + row, value); });
    }
  }

  // The kWide (8 or 16) columns of a warp at `offset` of a chunk, (row, column) of D: registers, and old C where it
  // counts, to the buffer.
  template <bool kReadsC, int kWide>
  XGEMM_DEVICE static void convert(const WgmmaTmaParams& p, const Epilogue& epilogue, const float* sums,
                                   const char* old, char* buffer, int offset, int row, int column) {
    std::uint32_t pairs[kWide / 4];
    if constexpr (kReadsC) gpu::load_matrices<!kTransposed>(pairs, old + offset);
    XGEMM_UNROLL
    for (int e = 0; e < kWide / 4; ++e) {
      const float low = kReadsC ? gpu::unpack_low<Element>(pairs[e]) : 0.0f;
      const float high = kReadsC ? gpu::unpack_high<Element>(pairs[e]) : 0.0f;
      pairs[e] = gpu::pack_pair<Element>(
          finish_sum<kReadsC, kTransposed>(epilogue, p, sums[2 * e], low, row, column, 2 * e),
          finish_sum<kReadsC, kTransposed>(epilogue, p, sums[2 * e + 1], high, row, column, 2 * e + 1));
    }
    gpu::store_matrices<!kTransposed>(buffer + offset, pairs);
  }
};

}  // namespace xgemm::kernels
