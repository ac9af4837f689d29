// The producer of a wgmma_tma CTA: one thread that keeps the ring full.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/epilogue.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"
#include "kernels/wgmma_tma/units.cuh"

namespace xgemm::kernels {

// A tile of one operand, as the kPeers CTAs that share it load it: each its part, multicast to all. Only the rows
// (K-major) and pieces (MN-major) with something inside of the operand: TMA would fill the others with zeros, but at
// a price. Where many CTAs ask for rows beyond the end of a matrix, their loads take up to twice as long as those of
// rows that exist.
template <class Element, gpu::Major kMajor, int kTileK, int kExtent, int kChunkMn, int kPeers>
struct OperandLoader {
  static constexpr int kRows = kExtent / kPeers;               // K-major: a part
  static constexpr int kPieces = kExtent / kChunkMn;           // MN-major: kChunkMn wide columns of k
  static constexpr bool kSplitPieces = kPieces % kPeers == 0;  // by columns; otherwise along k
  static constexpr int kPieceElements = kChunkMn * kTileK;

  const gpu::TensorMap& map;
  int mn;        // of the tile, in elements
  int existing;  // rows or pieces of the tile
  int peer;

  XGEMM_DEVICE static OperandLoader make(const gpu::TensorMap& whole, const gpu::TensorMap& tail, int mn, int extent,
                                         int peer) {
    const int left = extent - mn < 0 ? 0 : extent - mn < kExtent ? extent - mn : kExtent;
    if constexpr (kMajor == gpu::Major::k) return {left < (peer + 1) * kRows ? tail : whole, mn, left, peer};
    return {whole, mn, (left + kChunkMn - 1) / kChunkMn, peer};
  }

  // What arrives in a CTA, from all peers.
  XGEMM_DEVICE int bytes() const {
    return existing * (kMajor == gpu::Major::k ? kTileK : kPieceElements) * static_cast<int>(sizeof(Element));
  }

  // matrix: of those that the operand's tensor holds.
  XGEMM_DEVICE void load(Element* tile, gpu::Mbarrier& full, unsigned mask, int k, int matrix) const {
    if constexpr (kMajor == gpu::Major::k) {
      if (peer * kRows < existing) copy(tile + peer * kRows * kTileK, full, mask, k, mn + peer * kRows, matrix);
    } else if constexpr (kSplitPieces) {
      XGEMM_UNROLL
      for (int i = 0; i < kPieces / kPeers; ++i) {
        const int piece = peer * (kPieces / kPeers) + i;
        if (piece < existing) copy(tile + piece * kPieceElements, full, mask, mn + piece * kChunkMn, k, matrix);
      }
    } else {
      constexpr int kDepth = kTileK / kPeers;
      XGEMM_UNROLL
      for (int piece = 0; piece < kPieces; ++piece) {
        if (piece < existing) {
          copy(tile + piece * kPieceElements + peer * kDepth * kChunkMn, full, mask, mn + piece * kChunkMn,
               k + peer * kDepth, matrix);
        }
      }
    }
  }

 private:
  XGEMM_DEVICE void copy(Element* destination, gpu::Mbarrier& full, unsigned mask, int x, int y, int z) const {
    if constexpr (kPeers > 1) {
      gpu::tma_load_multicast(destination, map, full, mask, x, y, z);
    } else {
      gpu::tma_load(destination, map, full, x, y, z);
    }
  }
};

template <WgmmaTmaConfig kConfig, class Epilogue, class Output>
struct WgmmaTmaProducer {
  using Cta = WgmmaTmaCta<kConfig>;
  using Units = WgmmaTmaUnits<kConfig>;
  using LoaderX = OperandLoader<typename Cta::Element, Cta::kMajorX, Cta::kTileK, Cta::kTileRows, Cta::kPieceX,
                                Cta::kClusterColumns>;
  using LoaderY =
      OperandLoader<typename Cta::Element, Cta::kMajorY, Cta::kTileK, Cta::kYColumns, Cta::kPieceY, Cta::kClusterRows>;

  XGEMM_DEVICE static void prefetch_maps(const WgmmaTmaParams& p) {
    gpu::tma_prefetch_map(p.x);
    gpu::tma_prefetch_map(p.y);
    gpu::tma_prefetch_map(p.x_tail);
    gpu::tma_prefetch_map(p.y_tail);
  }

  XGEMM_DEVICE static void run(const WgmmaTmaParams& p, typename Cta::SharedStorage& smem,
                               const typename Cta::Place& place) {
    unsigned row_mask = 0;     // the CTAs of this cluster row: they share X
    unsigned column_mask = 0;  // the CTAs of this cluster column: they share Y
    for (int c = 0; c < Cta::kClusterColumns; ++c) row_mask |= 1u << Cta::Place::rank(place.row, c, place.split);
    for (int r = 0; r < Cta::kClusterRows; ++r) column_mask |= 1u << Cta::Place::rank(r, place.column, place.split);

    typename Cta::Ring ring;
    Units units = Units::make(p);
    typename Cta::Tile tile = units.at(place);  // takes a while: under the end of the kernel before
    gpu::grid_wait_dependencies();
    if constexpr (Cta::kPlanes > 1) {
      if (!holds(p.condition)) return;
    }
    const Epilogue epilogue = Epilogue::make(p);
    XGEMM_NO_UNROLL
    while (true) {
      const typename Units::Slices slices = units.slices(p, epilogue.has_product, place.split);
      const LoaderX x = LoaderX::make(p.x, p.x_tail, tile.row, Cta::rows_of(p), place.column);
      const LoaderY y = LoaderY::make(p.y, p.y_tail, tile.column, Cta::columns_of(p), place.row);
      const int bytes = Cta::kPlanes * (x.bytes() + y.bytes());
      const int x_batch = tile.batch * p.x_batch_step;
      const int y_batch = tile.batch * p.y_batch_step;
      XGEMM_NO_UNROLL
      for (int slice = slices.begin; slice < slices.end; ++slice) {
        typename Cta::SharedStorage::Slot& slot = smem.slots[ring.slot];
        gpu::Mbarrier& full = smem.full[ring.slot];
        gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
        gpu::mbarrier_arrive_expect(full, bytes);
        XGEMM_UNROLL
        for (int plane = 0; plane < Cta::kPlanes; ++plane) {
          // First what goes to more CTAs.
          if constexpr (Cta::kClusterRows > Cta::kClusterColumns) {
            y.load(slot.y[plane], full, column_mask, slice * Cta::kTileK, y_batch + plane);
            x.load(slot.x[plane], full, row_mask, slice * Cta::kTileK, x_batch + plane);
          } else {
            x.load(slot.x[plane], full, row_mask, slice * Cta::kTileK, x_batch + plane);
            y.load(slot.y[plane], full, column_mask, slice * Cta::kTileK, y_batch + plane);
          }
        }
        ring.next();
      }
      if (epilogue.reads_c() && !units.partial()) Output::load_c(p, smem, place, ring, tile);
      units.next();
      if (!units.more()) break;
      tile = units.at(place);
    }
    // A CTA stays until the consumers of the other CTAs have released all slots here: an arrival at a CTA that has
    // exited is a fault.
    if constexpr (Cta::kSharers > 1) {
      XGEMM_NO_UNROLL
      for (int s = 0; s < Cta::kStages; ++s) {
        gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
        ring.next();
      }
    }
  }
};

}  // namespace xgemm::kernels
