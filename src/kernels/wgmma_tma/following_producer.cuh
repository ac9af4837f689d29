// The producers of a wgmma_tma CTA that finds the matrices of a batch by pointers: a warpgroup. Where matrices start on
// 16 bytes, the first warp has TMA bring them. Others the warpgroup brings to the slots as TMA would have: in lines, a
// few at a time, as consumers leave it few registers.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/matrix_view.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"
#include "kernels/wgmma_tma/line_loader.cuh"
#include "kernels/wgmma_tma/producer.cuh"
#include "kernels/wgmma_tma/units.cuh"

namespace xgemm::kernels {

// A slice of one operand's tile. kChunks: of a thread, at a time, at most.
template <class Element, gpu::Major kMajor, int kTileK, int kExtent, int kPiece, int kThreads, int kChunks>
struct SliceFiller {
  static constexpr bool kAlongK = kMajor == gpu::Major::k;
  static constexpr int kPieces = kAlongK ? 1 : kExtent / kPiece;
  static constexpr int kLines = kAlongK ? kExtent : kTileK;
  static constexpr int kLineElements = kAlongK ? kTileK : kPiece;
  static constexpr int kLineBytes = kLineElements * static_cast<int>(sizeof(Element));
  static constexpr int kMostAtOnce = kChunks * kThreads * 16 / kLineBytes;
  static constexpr int kAtOnce = kLines % kMostAtOnce == 0 ? kMostAtOnce : kMostAtOnce / 2;
  using Lines = LineLoader<Element, kAtOnce, kLineBytes, kThreads>;
  static_assert(kLines % kAtOnce == 0);

  // mn, of `extent`, and k, of k_extent: where the slice begins. What is outside along mn is left as it is.
  XGEMM_DEVICE static void run(Element* tile, const Element* matrix, std::int64_t stride, int mn, int extent, int k,
                               int k_extent, int thread) {
    const bool gapless = stride == (kAlongK ? k_extent : extent);
    XGEMM_NO_UNROLL
    for (int i = 0; i < kPieces * kLines; i += kAtOnce) {
      const int piece = i / kLines * kPiece, line = i % kLines;
      if (mn + piece + (kAlongK ? line : 0) >= extent) break;
      auto lines = kAlongK ? Lines::make(matrix, stride, mn + line, k, thread, gapless)
                           : Lines::make(matrix, stride, k + line, mn + piece, thread, gapless);
      kAlongK ? lines.fetch(extent - mn - line, k_extent - k) : lines.fetch(k_extent - k - line, extent - mn - piece);
      lines.deposit(tile + i * kLineElements);
    }
  }
};

template <WgmmaTmaConfig kConfig, class Epilogue, class Output>
struct WgmmaTmaFollowingProducer {
  using Cta = WgmmaTmaCta<kConfig>;
  using Units = WgmmaTmaUnits<kConfig>;
  using Element = typename Cta::Element;
  using Slot = typename Cta::SharedStorage::Slot;
  using Bulk = WgmmaTmaProducer<kConfig, Epilogue, Output>;

  static constexpr int kThreads = gpu::kGroupThreads;
  // As the registers go, and the lines of the smallest slice.
  static constexpr int kChunks = kConfig.many_accumulators() || kConfig.cta_m * kConfig.cta_n < 64 * 64 ? 2 : 4;
  using FillerX = SliceFiller<Element, Cta::kMajorX, Cta::kTileK, Cta::kTileRows, Cta::kPieceX, kThreads, kChunks>;
  using FillerY = SliceFiller<Element, Cta::kMajorY, Cta::kTileK, Cta::kYColumns, Cta::kPieceY, kThreads, kChunks>;
  static_assert(Cta::kPlanes == 1);

  XGEMM_DEVICE static void prefetch_maps(const WgmmaTmaParams& p) { Bulk::prefetch_maps(p); }
  struct Start {};
  XGEMM_DEVICE static Start start(const WgmmaTmaParams&, const typename Cta::Place&) { return {}; }

  XGEMM_DEVICE static void run(const WgmmaTmaParams& p, typename Cta::SharedStorage& smem,
                               const typename Cta::Place& place, const Start&) {
    const int thread = gpu::thread_index();
    // TMA, and for all what other CTAs are asked. All lanes of the warp walk the ring: its place is uniform.
    const bool asks = gpu::shuffle(gpu::warp_index(), 0) == 0;
    typename Cta::Ring ring = Cta::make_ring(p);
    unsigned exchange_phase = 0, filled_phase = 0;
    gpu::grid_wait_dependencies();
    const Epilogue epilogue = Epilogue::make(p);
    XGEMM_NO_UNROLL
    for (Units units = Units::make(p); units.more(); units.next()) {
      const typename Cta::Tile tile = units.at(p, place);
      const typename Units::Slices slices = units.slices(p, epilogue.has_product, place.split);
      if (slices.count() > 0) {  // else there may be no pointers
        const auto* const x = uniform_entry_of<const Element>(p.x_lines, tile.batch, true);
        const auto* const y = uniform_entry_of<const Element>(p.y_lines, tile.batch, true);
        if (gpu::BoxEntry::holds(x) && gpu::BoxEntry::holds(y)) {
          if (asks) {
            Bulk::load_unit(p, smem, place, ring, slices, Bulk::loaders_of(p, place, tile), gpu::BoxEntry::at(x),
                            gpu::BoxEntry::at(y));
          } else {
            ring.skip(slices.count());
          }
        } else {
          fill(smem, place, ring, filled_phase, slices.count(), thread, [&](Slot& slot, int slice) {
            const int k = (slices.begin + slice) * Cta::kTileK;
            FillerX::run(slot.x[0], x, p.x_lines.stride, tile.row, Cta::rows_of(p), k, p.k, thread);
            FillerY::run(slot.y[0], y, p.y_lines.stride, tile.column, Cta::columns_of(p), k, p.k, thread);
          });
        }
      }
      if (place.shares_k() && asks) Cta::lend_ring(smem, exchange_phase, thread == 0);
      if (!epilogue.reads_c() || units.partial()) continue;
      if constexpr (Output::kAlwaysByConsumers) {
        asks ? Output::lend_slots(smem, place, ring) : ring.skip(Output::kSlots);
      } else {
        const auto* const c = uniform_entry_of<const Element>(p.c_lines, tile.batch, true);
        if (!gpu::BoxEntry::holds(c)) {
          fill(smem, place, ring, filled_phase, Output::kSlots, thread, [&](Slot& slot, int index) {
            Output::template load_lines<kThreads>(p, slot, place, tile, index, thread);
          });
        } else if (asks) {
          Output::load_c(p, smem, place, ring, tile, gpu::BoxEntry::at(c));
        } else {
          ring.skip(Output::kSlots);
        }
      }
    }
    if (asks && place.sharers > 1) Cta::wait_for_releases(smem, ring);
  }

 private:
  // Calls f(slot, i) for so many slots, which it is to fill. Before that the other warps wait for the one that has
  // asked for what came before: a barrier of the ring knows but two phases. After it the CTAs that share operands meet,
  // all of which fill these slots: TMA may write over them next, asked by any of the CTAs. phase: of `filled`.
  template <class F>
  XGEMM_DEVICE static void fill(typename Cta::SharedStorage& smem, const typename Cta::Place& place,
                                typename Cta::Ring& ring, unsigned& phase, int slots, int thread, const F& f) {
    constexpr int kBarrier = 1 + Cta::kGroups;  // those before are the consumers'
    gpu::named_barrier_sync(kBarrier, kThreads);
    XGEMM_NO_UNROLL
    for (int i = 0; i < slots; ++i) {
      gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
      f(smem.slots[ring.slot], i);
      gpu::fence_async_shared();
      gpu::named_barrier_sync(kBarrier, kThreads);
      if (thread == 0) gpu::mbarrier_arrive(smem.full[ring.slot]);
      ring.next();
    }
    if (place.sharers == 1) return;
    if (thread < place.sharers) gpu::mbarrier_arrive_remote_release(smem.filled, place.rank(thread, place.split));
    gpu::mbarrier_wait_cluster(smem.filled, phase);
    phase ^= 1;
  }
};

}  // namespace xgemm::kernels
