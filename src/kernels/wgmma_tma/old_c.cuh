// How old C comes to the consumers of a wgmma_tma kernel: by the slots of the ring, after the last slice of K, in
// chunks of 64 rows of D x kChunk columns. TMA brings it, or, where it lies as it may, threads do: of 16 bits the
// producers; of fp32 the consumers, each thread its own elements.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/matrix_view.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"
#include "kernels/wgmma_tma/line_loader.cuh"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig, class Epilogue>
struct WgmmaTmaOldC {
  using Cta = WgmmaTmaCta<kConfig>;
  using Element = typename Cta::ElementC;
  using Place = typename Cta::Place;
  using Ring = typename Cta::Ring;
  using SharedStorage = typename Cta::SharedStorage;
  using Tile = typename Cta::Tile;

  static constexpr bool kTransposed = Cta::kTransposed;
  static constexpr int kChunk = Cta::kChunk;
  static constexpr int kChunks = Cta::kGroupColumns / kChunk;  // of one slab
  static constexpr int kTileChunks = Cta::kSlabs * kChunks;    // of a consumer
  // A chunk is boxes of kLines columns of C, kRow elements of each.
  static constexpr int kRow = kConfig.c_row();
  static constexpr int kLines = kTransposed ? 64 : kChunk;
  static constexpr int kBoxElements = kRow * kLines;
  static constexpr int kBoxes = Cta::kChunkElements / kBoxElements;
  static constexpr int kSwizzle = kConfig.c_swizzle();
  // Where threads bring old C, none where the copy engine of another CTA writes.
  static constexpr int kSlotBytes =
      kConfig.by_lines() ? Cta::kXElements * static_cast<int>(sizeof(Element)) : kConfig.slot_bytes();
  static constexpr int kChunksPerSlot =
      kSlotBytes / static_cast<int>(Cta::kChunkElements * sizeof(Element)) / Cta::kTileGroups;
  static_assert(kChunksPerSlot >= 1, "a slot of the ring must hold a chunk of C for each consumer");
  static constexpr int kSlots = (kTileChunks + kChunksPerSlot - 1) / kChunksPerSlot;
  static_assert(kSlots <= Cta::kStages && (kConfig.by_lines() || kSlots == kConfig.old_c_slots()));

  static constexpr bool kAlwaysByConsumers = sizeof(Element) == 4 && kFollows<Epilogue>;
  XGEMM_DEVICE static bool by_consumers(const WgmmaTmaParams& p) {
    return kAlwaysByConsumers || (sizeof(Element) == 4 && kConfig.copy == Copy::bulk && !p.c_old_by_tma);
  }

  XGEMM_DEVICE static constexpr bool begins_slot(int chunk) { return chunk % kChunksPerSlot == 0; }
  XGEMM_DEVICE static constexpr bool ends_slot(int chunk) {
    return chunk % kChunksPerSlot == kChunksPerSlot - 1 || chunk == kTileChunks - 1;
  }
  XGEMM_DEVICE static Element* chunk_of(typename SharedStorage::Slot& slot, int tile_group, int chunk) {
    return reinterpret_cast<Element*>(&slot) +
           (tile_group * kChunksPerSlot + chunk % kChunksPerSlot) * Cta::kChunkElements;
  }

  // Where an element of a box lies, and where the one in row `at` of a line of a chunk does.
  XGEMM_DEVICE static int swizzled(int element) {
    constexpr int kSize = sizeof(Element);
    return kSwizzle == 0 ? element : element ^ (element >> 3 & (kSwizzle - 16) / kSize);
  }
  XGEMM_DEVICE static int place(int line, int at) {
    return at / kRow * kBoxElements + swizzled(line * kRow + at % kRow);
  }

  // The producer's part: asks TMA for it. matrix: its number, or where it lies.
  template <class Entry>
  XGEMM_DEVICE static void load_c(const WgmmaTmaParams& p, SharedStorage& smem, const Place& place, Ring& ring,
                                  const Tile& tile, Entry matrix) {
    if (by_consumers(p)) return lend_slots(smem, place, ring);
    if constexpr (!kAlwaysByConsumers) ask_for_c(p, smem, place, ring, tile, matrix);
  }

 private:
  template <class Entry>
  XGEMM_DEVICE static void ask_for_c(const WgmmaTmaParams& p, SharedStorage& smem, const Place& place, Ring& ring,
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
            if (place.stores(first + i, g) && is_loaded(p, first + i, row, column)) f(g, first + i);
          }
        }
      };
      if (Cta::template wait_to_ask<Epilogue>(smem, ring)) {
        int stored = 0;
        for_stored([&](int, int) { ++stored; });
        gpu::mbarrier_arrive_expect(full, stored * Cta::kChunkElements * static_cast<int>(sizeof(Element)));
        for_stored([&](int g, int chunk) {
          const int d_row = tile.row + Cta::group_row(g) + chunk / kChunks * 64;
          const int d_column = tile.column + Cta::group_column(g) + chunk % kChunks * kChunk;
          const int row = kTransposed ? d_column : d_row, column = kTransposed ? d_row : d_column;
          Element* const to = chunk_of(smem.slots[ring.slot], g, chunk);
          XGEMM_UNROLL
          for (int box = 0; box < kBoxes; ++box)
            gpu::tma_load(to + box * kBoxElements, p.c_old, full, row + box * kRow, column, matrix);
        });
      }
      ring.next();
    }
  }

 public:
  // The same by a team of threads, of one of those slots.
  template <int kThreads>
  XGEMM_DEVICE static void load_lines(const WgmmaTmaParams& p, typename SharedStorage::Slot& slot, const Place& place,
                                      const Tile& tile, int index, int thread) {
    const WordLines& c = p.c_lines;
    const auto* const data = entry_of<const Element>(c, tile.batch);
    XGEMM_NO_UNROLL
    for (int i = 0; i < Cta::kTileGroups * kChunksPerSlot; ++i) {
      const int g = i / kChunksPerSlot, chunk = index * kChunksPerSlot + i % kChunksPerSlot;
      if (chunk >= kTileChunks || !Cta::reaches_c(p, tile, g) || !place.stores(chunk, g)) continue;
      const int d_row = tile.row + Cta::group_row(g) + chunk / kChunks * 64;
      const int d_column = tile.column + Cta::group_column(g) + chunk % kChunks * kChunk;
      const int row = kTransposed ? d_column : d_row, column = kTransposed ? d_row : d_column;
      const auto* const first = data + column * c.stride + row;
      load_chunk<kThreads>(chunk_of(slot, g, chunk), first, c.stride, p.m - row, p.n - column, thread);
    }
  }

  // A consumer's part of a tile that has nothing inside of C.
  XGEMM_DEVICE static void skip(SharedStorage& smem, const Place& place, Ring& ring, int slots, int group) {
    Cta::pass_slots(smem, place, ring, slots);
    if (slots != 0) Cta::pass_turn(smem, group);
  }

  // The slots are left to the consumers. When they have all released them, in all CTAs whose TMA writes here next, what
  // they wrote is behind them.
  XGEMM_DEVICE static void lend_slots(SharedStorage& smem, const Place& place, Ring& ring) {
    Ring lent = ring;
    XGEMM_NO_UNROLL
    for (int s = 0; s < kSlots; ++s, ring.next()) {
      if (Cta::template wait_to_ask<Epilogue>(smem, ring)) gpu::mbarrier_arrive(smem.full[ring.slot]);
    }
    if (place.sharers == 1) return;
    XGEMM_NO_UNROLL
    for (int s = 0; s < kSlots; ++s, lent.next()) gpu::mbarrier_wait_cluster(smem.empty[lent.slot], lent.phase);
  }

 private:
  // A chunk, of so many rows and columns, or as many as it has.
  template <int kThreads>
  XGEMM_DEVICE static void load_chunk(Element* chunk, const Element* from, std::int64_t stride, int rows, int columns,
                                      int thread) {
    if constexpr (sizeof(Element) == 4) {
      constexpr int kEach = Cta::kChunkElements / kThreads, kFew = 8;
      static_assert(kEach % kFew == 0);
      const auto for_few = [&](int first, const auto& f) {  // f(which, its place in the chunk, column, row)
        XGEMM_UNROLL
        for (int j = 0; j < kFew; ++j) {
          const int i = (first + j) * kThreads + thread, in_box = i % kBoxElements;
          f(j, i - in_box + swizzled(in_box), in_box / kRow, i / kBoxElements * kRow + i % kRow);
        }
      };
      XGEMM_NO_UNROLL
      for (int first = 0; first < kEach; first += kFew) {
        Element values[kFew];
        for_few(first, [&](int j, int, int column, int row) {
          const bool inside = row < rows && column < columns;
          values[j] = inside ? gpu::read<gpu::Space::global>(from + column * stride + row) : Element{};
        });
        for_few(first, [&](int j, int place, int, int) { gpu::write<gpu::Space::shared>(chunk + place, values[j]); });
      }
    } else {
      static_assert(kBoxes == 1 && kRow * sizeof(Element) == kSwizzle, "a line is a column of C");
      // No vector reaches into rows that others may be writing: a chunk is a matrix of its own.
      const int length = rows < kRow ? rows : kRow, lines = columns < kLines ? columns : kLines;
      // Of many lines a few at a time: that is less code, and takes fewer registers.
      constexpr int kFew = kFollows<Epilogue> ? kThreads * 16 / kSwizzle : kThreads < 128 ? 16 : kLines;
      constexpr int kAtOnce = kLines % kFew == 0 ? kFew : kLines;
      XGEMM_NO_UNROLL
      for (int first = 0; first < kLines; first += kAtOnce) {
        auto loader =
            LineLoader<Element, kAtOnce, kSwizzle, kThreads>::make(from, stride, first, 0, thread, stride == length);
        loader.fetch(lines - first, length);
        loader.deposit(chunk + first * kRow);
      }
    }
  }

 protected:
  // Whether old C comes for a chunk of a part of a tile, which begins at (row, column): of matrices that are found by
  // pointers not where nothing of the chunk is in C (TensorBox::anywhere).
  XGEMM_DEVICE static bool is_loaded(const WgmmaTmaParams& p, int chunk, int row, int column) {
    if constexpr (!kFollows<Epilogue>) return true;
    static_assert(!kFollows<Epilogue> || kAlwaysByConsumers || kBoxes == 1);
    return row + chunk / kChunks * 64 < Cta::rows_of(p) && column + chunk % kChunks * kChunk < Cta::columns_of(p);
  }

  // Before the first chunk is read, before each, and after it. Of ping-pong consumers the other one begins when this
  // one has all that it is sent, and its products run while this one stores; of 16 bits when this one has read it: to
  // wait for all of it first would take longer.
  XGEMM_DEVICE static void begin(SharedStorage& smem, const Ring& ring, int group) {
    if constexpr (kTurnsEarly) {
      Ring each = ring;
      XGEMM_UNROLL
      for (int s = 0; s < kSlots; ++s, each.next()) gpu::mbarrier_wait(smem.full[each.slot], each.phase);
      Cta::pass_turn(smem, group);
    }
  }
  XGEMM_DEVICE static void wait_for(SharedStorage& smem, const Ring& ring, int chunk) {
    if (!kTurnsEarly && begins_slot(chunk)) gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
  }
  XGEMM_DEVICE static void release(const WgmmaTmaParams& p, SharedStorage& smem, const Place& place, Ring& ring,
                                   int chunk, int group) {
    if (!ends_slot(chunk)) return;
    gpu::sync_warp();
    Cta::release(smem, ring.slot, place, by_consumers(p));
    ring.next();
    if (!kTurnsEarly && chunk == kTileChunks - 1) Cta::pass_turn(smem, group);
  }

 private:
  static constexpr bool kTurnsEarly = kConfig.ping_pong && sizeof(Element) == 4;
};

}  // namespace xgemm::kernels
