// How C leaves a wgmma_tma kernel: by chunks of 64 rows x kChunk columns of D, registers -> buffer -> TMA store, which
// runs under the next chunk and the next tile's mainloop. What TMA cannot store (rows beyond whole vectors, a C that is
// not aligned) the consumer's threads copy from the buffers. Old C (old_c.cuh) is read with ldmatrix into the layout of
// the accumulators; elements of 16 bits go to the buffers with stmatrix. Of fp32 so leaves what is large and has no old
// C (register_output.cuh).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/sm90/warpgroup.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"
#include "kernels/wgmma_tma/float_lane.cuh"
#include "kernels/wgmma_tma/fragment.cuh"
#include "kernels/wgmma_tma/old_c.cuh"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig, class Epilogue>
struct WgmmaTmaChunkOutput : WgmmaTmaOldC<kConfig, Epilogue> {
  using OldC = WgmmaTmaOldC<kConfig, Epilogue>;
  using Cta = WgmmaTmaCta<kConfig>;
  using Element = typename Cta::ElementC;
  using Place = typename Cta::Place;
  using Ring = typename Cta::Ring;
  using SharedStorage = typename Cta::SharedStorage;
  using FloatLane = WgmmaTmaFloatLane<kConfig, OldC>;  // of fp32

  static constexpr bool kTransposed = Cta::kTransposed;
  static constexpr int kChunk = Cta::kChunk;
  static constexpr int kRow = OldC::kRow;
  static constexpr int kChunks = OldC::kChunks;
  static constexpr int kTileChunks = OldC::kTileChunks;
  static constexpr int kBuffers = Cta::kBuffers;
  static_assert(kBuffers >= 1, "the ring leaves no room for a chunk of C");
  // Chunks that are converted, then handed to the copy engine, together: while it reads those, the next ones go to the
  // other buffers.
  static constexpr int kChunkBatch = kBuffers >= kTileChunks ? kTileChunks : kBuffers > 1 ? kBuffers / 2 : 1;
  XGEMM_DEVICE static void prefetch_maps(const WgmmaTmaParams& p) {
    if (p.c_whole_m != 0) gpu::tma_prefetch_map(p.c);
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
    XGEMM_DEVICE void store_box(const WgmmaTmaParams& p, const Element* buffer, int row, int column) const {
      if constexpr (Base::kMayFollow) {
        if (Cta::template follows<Epilogue>(p))
          return gpu::tma_store(p.c, buffer, row, column, gpu::BoxEntry::at(this->found));
      }
      gpu::tma_store(p.c, buffer, row, column, this->number);
    }
  };

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
        if (chunk < kTileChunks) f(chunk, smem.c.chunks[group][chunk % kBuffers]);
      }
    };
    const auto for_stored = [&](int first, const auto& f) {
      for_batch(first, [&](int chunk, const Element* buffer) {
        if (place.stores(chunk, tile_group)) f(chunk, buffer);
      });
    };
    const int lane = lane_index();
    static_assert(!kReadsC || sizeof(Element) == 2);
    XGEMM_UNROLL
    for (int first = 0; first < kTileChunks; first += kChunkBatch) {
      // The stores that last used these buffers have read them.
      if (is_storer(warp, lane)) {
        if (first == 0) {
          gpu::tma_store_wait_read<0>();
        } else {
          gpu::tma_store_wait_read<kBuffers / kChunkBatch - 1>();
        }
      }
      gpu::named_barrier_sync(1 + group, gpu::kGroupThreads);
      for_batch(first, [&](int chunk, Element* buffer) {
        if (kReadsC) OldC::wait_for(smem, ring, chunk);
        const Element* const old = OldC::chunk_of(smem.slots[ring.slot], tile_group, chunk);
        const float* sums = &acc[chunk / kChunks][chunk % kChunks * kChunk / 2];
        const int warp_row = row + chunk / kChunks * 64 + 16 * warp;
        const int first_column = column + chunk % kChunks * kChunk;
        // Without old C, chunks that others store are converted as well: asking here would take as long.
        if (!kReadsC || (place.stores(chunk, tile_group) && OldC::is_loaded(p, chunk, row, column))) {
          if constexpr (sizeof(Element) == 4) {
            finish_chunk(p, epilogue, sums, buffer, FloatLane::make(warp, lane), warp_row, first_column);
          } else {
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
        }
        if (kReadsC) OldC::release(p, smem, place, ring, chunk, group);
      });
      gpu::fence_async_shared();
      gpu::named_barrier_sync(1 + group, gpu::kGroupThreads);
      const auto at = [&](int chunk, const auto& f) {  // f(row, column) of C
        const int d_row = row + chunk / kChunks * 64;
        const int d_column = column + chunk % kChunks * kChunk;
        f(kTransposed ? d_column : d_row, kTransposed ? d_row : d_column);
      };
      if (is_storer(warp, lane)) {
        for_stored(first, [&](int chunk, const Element* buffer) {
          at(chunk, [&](int c_row, int c_column) {
            XGEMM_UNROLL
            for (int box = 0; box < OldC::kBoxes; ++box) {
              if (c_row + box * kRow < matrix.whole_m(p) && c_column < p.n)
                matrix.store_box(p, buffer + box * OldC::kBoxElements, c_row + box * kRow, c_column);
            }
          });
        });
        gpu::tma_store_commit();
      }
      if (!kWhole && matrix.whole_m(p) != p.m) {
        XGEMM_NO_UNROLL
        for (int chunk = first; chunk < first + kChunkBatch && chunk < kTileChunks; ++chunk) {
          if (!place.stores(chunk, tile_group)) continue;
          const Element* const buffer = smem.c.chunks[group][chunk % kBuffers];
          at(chunk, [&](int c_row, int c_column) {
            store_rest(p, buffer, gpu::kWarpSize * warp + lane, c_row, c_column, matrix);
          });
        }
      }
    }
  }

  // Before a consumer ends: its stores have read the buffers.
  XGEMM_DEVICE static void finish(int warp) {
    if (is_storer(warp, gpu::lane_index())) gpu::tma_store_wait_read<0>();
  }

 private:
  XGEMM_DEVICE static bool is_storer(int warp, int lane) { return warp == 0 && lane == 0; }
  // What follows from that of fp32 would be kept all the time.
  XGEMM_DEVICE static int lane_index() {
    return sizeof(Element) == 4 ? gpu::opaque(gpu::lane_index()) : gpu::lane_index();
  }

  // The element in a chunk's buffer that begins this lane's row for stmatrix and ldmatrix, for the kWide columns from
  // `column` on (8 or 16): matrices 0 and 1 are rows 0..7 and 8..15 of the warp, 2 and 3 the same of the next 8
  // columns.
  XGEMM_DEVICE static int lane_offset(int warp, int column) {
    const int lane = gpu::lane_index();
    const int row = 16 * warp + 8 * (lane / 8 % 2);
    const int column8 = column + 8 * (lane / 16);
    if constexpr (kTransposed) {  // buffer: 64 rows of kChunk columns
      return OldC::swizzled((row + lane % 8) * kRow + column8);
    } else {  // buffer: kChunk columns of 64 rows
      return OldC::swizzled((column8 + lane % 8) * kRow + row);
    }
  }

  // The rows of C from c_whole_m on, where they lie in this chunk: the last few, or all of a C that the copy engine
  // cannot address. An access of a warp is of 32 rows of a column, whatever they start on. Vectors that are aligned in
  // memory would be fewer accesses, but each of many columns, and the ends beside: more sectors for the L2 in all.
  // Accesses of what 64 bytes of memory have of a column ask for five sectors where these do for six, but there are
  // three for two, each within bounds of its own, and take longer.
  XGEMM_DEVICE static void store_rest(const WgmmaTmaParams& p, const Element* buffer, int thread, int c_row,
                                      int c_column, const Matrix& matrix) {
    constexpr int kRows = kTransposed ? kChunk : 64;  // of C
    constexpr int kColumns = kTransposed ? 64 : kChunk;
    constexpr int kPieces = (kRows + gpu::kWarpSize - 1) / gpu::kWarpSize;  // of a column
    const int first = matrix.whole_m(p) - c_row > 0 ? matrix.whole_m(p) - c_row : 0;
    const int rows = (p.m - c_row < kRows ? p.m - c_row : kRows) - first;
    if (rows <= 0) return;
    const int columns = p.n - c_column < kColumns ? p.n - c_column : kColumns;
    // Threads that share a column: of few rows, such as the last ones, a warp has several columns.
    const int log_places = rows > 8 ? 5 : 3;
    const int place = thread & ((1 << log_places) - 1), step = gpu::kGroupThreads >> log_places;
    int column = thread >> log_places;
    Element* c = matrix.data(p) + (c_column + column) * p.c_ld + c_row + first + place;
    XGEMM_NO_UNROLL
    for (; column < columns; column += step, c += step * p.c_ld) {
      Element values[kPieces] = {};
      const auto for_each_piece = [&](const auto& f) {  // f(value, rows from the thread's first one on)
        XGEMM_UNROLL
        for (int piece = 0; piece < kPieces; ++piece)
          if (place + gpu::kWarpSize * piece < rows) f(values[piece], gpu::kWarpSize * piece);
      };
      for_each_piece([&](Element& value, int row) {
        value = gpu::read<gpu::Space::shared>(buffer + OldC::place(column, first + place + row));
      });
      for_each_piece([&](const Element& value, int row) { gpu::write<gpu::Space::global>(c + row, value); });
    }
  }

  // The kWide (8 or 16) columns of a warp at `offset` of a chunk, (row, column) of D: registers, and old C where it
  // counts, to the buffer.
  template <bool kReadsC, int kWide>
  XGEMM_DEVICE static void convert(const WgmmaTmaParams& p, const Epilogue& epilogue, const float* sums,
                                   const Element* old, Element* buffer, int offset, int row, int column) {
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

  // The same of a chunk of fp32, of which a thread has pairs, without old C.
  XGEMM_DEVICE static void finish_chunk(const WgmmaTmaParams& p, const Epilogue& epilogue, const float* sums,
                                        float* buffer, const FloatLane& own, int row, int column) {
    XGEMM_UNROLL
    for (int f = 0; f < FloatLane::kFragments; ++f) {
      XGEMM_UNROLL
      for (int half = 0; half < 2; ++half) {
        const auto finished = [&](int r) {
          return finish_sum<false, kTransposed>(epilogue, p, sums[4 * f + r], 0.0f, row, column + 8 * f, r);
        };
        own.store(buffer, {finished(2 * half), finished(2 * half + 1)}, f, half);
      }
    }
  }
};

}  // namespace xgemm::kernels
