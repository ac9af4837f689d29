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

// A tile of one operand, as the CTAs that share it load it: each its part, multicast to all. Only the rows
// (K-major) and pieces (MN-major) with something inside of the operand: TMA would fill the others with zeros, but at
// a price. Where many CTAs ask for rows beyond the end of a matrix, their loads take up to twice as long as those of
// rows that exist.
template <class Element, gpu::Major kMajor, int kTileK, int kExtent, int kChunkMn>
struct OperandLoader {
  static constexpr int kPieces = kExtent / kChunkMn;  // MN-major: kChunkMn wide columns of k
  static constexpr int kPieceElements = kChunkMn * kTileK;

  const gpu::TensorMap* map;
  int existing;  // rows or pieces of the tile
  int mn, k;     // where the part of this CTA begins: mn in the operand, k in the slice,
  int offset;    // and in the tile, in elements
  int count;     // pieces of the part that exist; 1 or 0 of a K-major tile
  int cta_mask;  // the CTAs that get it

  // peer: which of the CTAs that share the tile this one is. What is opaque the compiler would work out anew for every
  // slot.
  XGEMM_DEVICE static OperandLoader make(const gpu::TensorMap& whole, const gpu::TensorMap& tail,
                                         const OperandShare& share, int mn, int extent, int peer, int cta_mask) {
    const int left = extent - mn < 0 ? 0 : extent - mn < kExtent ? extent - mn : kExtent;
    const int first = peer * share.step_mn;
    if constexpr (kMajor == gpu::Major::k) {
      return {
          left < first + share.lines ? &tail : &whole, left,    gpu::opaque(mn + first), 0, gpu::opaque(first * kTileK),
          gpu::opaque(first < left ? 1 : 0),           cta_mask};
    }
    const int pieces = (left + kChunkMn - 1) / kChunkMn;
    const int k = peer * share.step_k;
    const int rest = k < kTileK ? pieces - first : 0;
    return {&whole,
            pieces,
            gpu::opaque(mn + first * kChunkMn),
            gpu::opaque(k),
            gpu::opaque(first * kPieceElements + k * kChunkMn),
            gpu::opaque(rest < share.pieces ? rest : share.pieces),
            cta_mask};
  }

  // What arrives in a CTA, from all peers.
  XGEMM_DEVICE int bytes() const {
    return existing * (kMajor == gpu::Major::k ? kTileK : kPieceElements) * static_cast<int>(sizeof(Element));
  }

  // matrix: the number of one that the operand's tensor holds, or where it lies.
  template <bool kMulticast, class Entry>
  XGEMM_DEVICE void load(Element* tile, gpu::Mbarrier& full, int slice_k, Entry matrix) const {
    if constexpr (kMajor == gpu::Major::k) {
      if (count > 0) copy<kMulticast>(tile + offset, full, slice_k, mn, matrix);
    } else {
      XGEMM_UNROLL
      for (int i = 0; i < kPieces; ++i) {
        if (i < count)
          copy<kMulticast>(tile + offset + i * kPieceElements, full, mn + i * kChunkMn, slice_k + k, matrix);
      }
    }
  }

 private:
  template <bool kMulticast, class Entry>
  XGEMM_DEVICE void copy(Element* destination, gpu::Mbarrier& full, int x, int y, Entry matrix) const {
    if constexpr (kMulticast) {
      gpu::tma_load_multicast(destination, *map, full, static_cast<unsigned>(cta_mask), x, y, matrix);
    } else {
      gpu::tma_load(destination, *map, full, x, y, matrix);
    }
  }
};

template <WgmmaTmaConfig kConfig, class Epilogue, class Output>
struct WgmmaTmaProducer {
  using Cta = WgmmaTmaCta<kConfig>;
  using Units = WgmmaTmaUnits<kConfig>;
  using LoaderX = OperandLoader<typename Cta::Element, Cta::kMajorX, Cta::kTileK, Cta::kTileRows, Cta::kPieceX>;
  using LoaderY = OperandLoader<typename Cta::Element, Cta::kMajorY, Cta::kTileK, Cta::kYColumns, Cta::kPieceY>;

  struct Loaders {
    LoaderX x;
    LoaderY y;
  };

  XGEMM_DEVICE static void prefetch_maps(const WgmmaTmaParams& p) {
    if (p.k == 0) return;
    gpu::tma_prefetch_map(p.x);
    gpu::tma_prefetch_map(p.y);
    gpu::tma_prefetch_map(p.x_tail);
    gpu::tma_prefetch_map(p.y_tail);
  }

  // Where the loads begin: all that can be known before the CTAs meet.
  struct Start {
    typename Cta::Tile tile;
    Loaders loaders;
  };
  XGEMM_DEVICE static Start start(const WgmmaTmaParams& p, const typename Cta::Place& place) {
    const typename Cta::Tile tile = Units::make(p).at(p, place);
    return {tile, loaders_of(p, place, tile)};
  }

  // By one thread.
  XGEMM_DEVICE static void run(const WgmmaTmaParams& p, typename Cta::SharedStorage& smem,
                               const typename Cta::Place& place, const Start& start) {
    typename Cta::Ring ring = Cta::make_ring(p);
    unsigned exchange_phase = 0;
    Units units = Units::make(p);
    auto [tile, loaders] = start;
    if constexpr (Cta::kPlanes > 1) {
      if (!holds_early(p.condition)) return;
    }
    const Epilogue epilogue = Epilogue::make_early(p);
    XGEMM_NO_UNROLL
    while (true) {
      const typename Units::Slices slices = units.slices(p, epilogue.has_product, place.split);
      load_unit(p, smem, place, ring, slices, loaders, tile.batch * p.x_batch_step, tile.batch * p.y_batch_step);
      // The ring is where the CTAs exchange their sums, and none is a unit ahead of its producer.
      if (place.shares_k()) [[unlikely]] {
        Cta::lend_ring(smem, exchange_phase);
      }
      if (epilogue.reads_c() && !units.partial()) Output::load_c(p, smem, place, ring, tile, tile.batch);
      units.next();
      if (!units.more()) break;
      tile = units.at(p, place);
      loaders = loaders_of(p, place, tile, loaders.x.cta_mask, loaders.y.cta_mask);
    }
    if (place.sharers > 1) Cta::wait_for_releases(smem, ring);
  }

  XGEMM_DEVICE static Loaders loaders_of(const WgmmaTmaParams& p, const typename Cta::Place& place,
                                         const typename Cta::Tile& tile) {
    // The CTAs of this cluster row share X, those of this cluster column Y.
    const int row_mask = p.row_mask << place.rank(place.row, place.split);
    const int column_mask = p.column_mask << place.rank(place.column << p.row_bits, place.split);
    return loaders_of(p, place, tile, gpu::opaque(row_mask), gpu::opaque(column_mask));
  }

  // The slices of a unit, of matrices of which TMA is told as OperandLoader::load() is. By those of Cta::wait_to_ask().
  template <class Entry>
  XGEMM_DEVICE static void load_unit(const WgmmaTmaParams& p, typename Cta::SharedStorage& smem,
                                     const typename Cta::Place& place, typename Cta::Ring& ring,
                                     const typename Units::Slices& slices, const Loaders& loaders, Entry x_entry,
                                     Entry y_entry) {
    // A loop for each kind of cluster: one that asks with every slot takes as long as a small tile's products.
    if (place.sharers == 1) {
      load<false, false>(smem, ring, slices, loaders, x_entry, y_entry);
    } else if (p.row_bits == 0) {
      load<true, false>(smem, ring, slices, loaders, x_entry, y_entry);
    } else if (p.column_bits == 0) {
      load<false, true>(smem, ring, slices, loaders, x_entry, y_entry);
    } else {
      load<true, true>(smem, ring, slices, loaders, x_entry, y_entry);
    }
  }

 private:
  XGEMM_DEVICE static Loaders loaders_of(const WgmmaTmaParams& p, const typename Cta::Place& place,
                                         const typename Cta::Tile& tile, int row_mask, int column_mask) {
    return {LoaderX::make(p.x, p.x_tail, p.x_share, tile.row, Cta::rows_of(p), place.column, row_mask),
            LoaderY::make(p.y, p.y_tail, p.y_share, tile.column, Cta::columns_of(p), place.row, column_mask)};
  }

  static XGEMM_DEVICE int of_plane(int number, int plane) { return number + plane; }
  static XGEMM_DEVICE gpu::BoxEntry of_plane(gpu::BoxEntry entry, int) { return entry; }  // there is but one

  template <bool kMulticastX, bool kMulticastY, class Entry>
  XGEMM_DEVICE static void load(typename Cta::SharedStorage& smem, typename Cta::Ring& ring,
                                const typename Units::Slices& slices, const Loaders& loaders, Entry x_entry,
                                Entry y_entry) {
    const auto& [x, y] = loaders;
    const int bytes = Cta::kPlanes * (x.bytes() + y.bytes());
    gpu::grid_wait_dependencies();  // as late as can be: a product waits for its first slice
    XGEMM_NO_UNROLL
    for (int slice = slices.begin; slice < slices.end; ++slice) {
      typename Cta::SharedStorage::Slot& slot = smem.slots[ring.slot];
      gpu::Mbarrier& full = smem.full[ring.slot];
      if (Cta::template wait_to_ask<Epilogue>(smem, ring)) {
        gpu::mbarrier_arrive_expect(full, bytes);
        XGEMM_UNROLL
        for (int plane = 0; plane < Cta::kPlanes; ++plane) {
          // First what goes to more CTAs.
          if constexpr (kMulticastY && !kMulticastX)
            y.template load<kMulticastY>(slot.y[plane], full, slice * Cta::kTileK, of_plane(y_entry, plane));
          x.template load<kMulticastX>(slot.x[plane], full, slice * Cta::kTileK, of_plane(x_entry, plane));
          if constexpr (kMulticastX || !kMulticastY)
            y.template load<kMulticastY>(slot.y[plane], full, slice * Cta::kTileK, of_plane(y_entry, plane));
        }
      }
      ring.next();
    }
  }
};

}  // namespace xgemm::kernels
