// The producers of a wgmma_tma CTA whose operands TMA cannot address: warpgroups that bring their lines into the slots
// as TMA would have.
//
// They are divided into teams, which take slots in turn: what one waits for is in flight while the others store. Lines
// that start on a vector of elements are copied to their slot by cp.async, which takes few instructions.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include "kernels/common/matrix_view.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"
#include "kernels/wgmma_tma/line_copier.cuh"
#include "kernels/wgmma_tma/line_loader.cuh"
#include "kernels/wgmma_tma/units.cuh"

namespace xgemm::kernels {

// Of one operand: slices of a tile, as a team loads them: through registers, or by copies of kVector elements.
template <class Element, int kVector, gpu::Major kMajor, int kTileK, int kExtent, int kPiece, int kThreads>
struct SliceLoader {
  static constexpr bool kAlongK = kMajor == gpu::Major::k;
  static constexpr int kPieces = kAlongK ? 1 : kExtent / kPiece;
  static constexpr int kLineBytes = (kAlongK ? kTileK : kPiece) * static_cast<int>(sizeof(Element));
  static constexpr int kLines = kAlongK ? kExtent : kTileK;
  static constexpr bool kCopies = kVector > 1;
  using Lines = std::conditional_t<kCopies, LineCopier<Element, kVector, kLines, kLineBytes, kThreads>,
                                   LineLoader<Element, kLines, kLineBytes, kThreads>>;

  Lines pieces[kPieces];
  int left;  // of the operand, from where the tile begins

  // k: where the slice begins.
  XGEMM_DEVICE static SliceLoader make(const WordLines& operand, int batch, int mn, int extent, int k, int k_extent,
                                       int thread) {
    SliceLoader loader;
    const auto* const data = entry_of<const Element>(operand, batch);
    const bool gapless = operand.stride == (kAlongK ? k_extent : extent);
    XGEMM_UNROLL
    for (int i = 0; i < kPieces; ++i) {
      const int line = kAlongK ? mn : k, element = kAlongK ? k : mn + i * kPiece;
      if constexpr (kCopies) {
        loader.pieces[i] = Lines::make(data, operand.stride, line, element, thread);
      } else {
        loader.pieces[i] = Lines::make(data, operand.stride, line, element, thread, gapless);
      }
    }
    loader.left = extent - mn;
    return loader;
  }

  // k: what is left from the slice on.
  XGEMM_DEVICE void fetch(int k) {
    XGEMM_UNROLL
    for (int i = 0; i < kPieces; ++i) kAlongK ? pieces[i].fetch(left, k) : pieces[i].fetch(k, left - i * kPiece);
  }
  // Of those that are copied: starts it.
  XGEMM_DEVICE void copy(Element* tile, int k) const {
    XGEMM_UNROLL
    for (int i = 0; i < kPieces; ++i) {
      Element* const to = tile + i * kPiece * kTileK;
      kAlongK ? pieces[i].copy(to, left, k) : pieces[i].copy(to, k, left - i * kPiece);
    }
  }
  XGEMM_DEVICE void move(int k) {
    XGEMM_UNROLL
    for (int i = 0; i < kPieces; ++i) kAlongK ? pieces[i].move(0, k) : pieces[i].move(k, 0);
  }
  XGEMM_DEVICE void deposit(Element* tile) {
    XGEMM_UNROLL
    for (int i = 0; i < kPieces; ++i) pieces[i].deposit(tile + i * kPiece * kTileK);
  }
};

// Slots of a team that copies are on their way to.
template <class Cta, int kTeams>
struct SlotsUnderWay {
  using SharedStorage = typename Cta::SharedStorage;
  // A team waits for a slot with so many undelivered ones. A consumer gives a slot back when it has the next one, so
  // that of all teams' slots two have to be delivered meanwhile.
  static constexpr int kMost = Cta::kStages / kTeams / 2;
  static_assert(kTeams * kMost <= Cta::kStages - 2);

  typename Cta::Ring oldest;
  int number = 0;

  // The copies to another slot have been started.
  XGEMM_DEVICE void add(SharedStorage& smem) {
    gpu::copy_async_commit();
    if (++number <= kMost) return;
    gpu::copy_async_wait<kMost>();
    deliver_oldest(smem);
  }
  XGEMM_DEVICE void deliver_all(SharedStorage& smem) {
    gpu::copy_async_wait<0>();
    while (number > 0) deliver_oldest(smem);
  }

  // The thread's part of a slot is there.
  XGEMM_DEVICE static void deliver(SharedStorage& smem, int slot) {
    gpu::fence_async_shared();
    gpu::sync_warp();
    if (gpu::lane_index() == 0) gpu::mbarrier_arrive(smem.full[slot]);
  }

 private:
  XGEMM_DEVICE void deliver_oldest(SharedStorage& smem) {
    deliver(smem, oldest.slot);
    oldest.skip(kTeams);
    --number;
  }
};

template <WgmmaTmaConfig kConfig, class Epilogue, class Output>
struct WgmmaTmaWordProducer {
  using Cta = WgmmaTmaCta<kConfig>;
  using Units = WgmmaTmaUnits<kConfig>;
  using Element = typename Cta::Element;

  static constexpr int kTeams = kConfig.teams;
  static constexpr int kTeamThreads = kConfig.producers * gpu::kGroupThreads / kTeams;
  template <gpu::Major kMajor, int kExtent, int kPiece>
  using Loader = SliceLoader<Element, kConfig.vector, kMajor, Cta::kTileK, kExtent, kPiece, kTeamThreads>;
  using LoaderX = Loader<Cta::kMajorX, Cta::kTileRows, Cta::kPieceX>;
  using LoaderY = Loader<Cta::kMajorY, Cta::kYColumns, Cta::kPieceY>;
  using UnderWay = SlotsUnderWay<Cta, kTeams>;
  static constexpr bool kCopies = kConfig.vector > 1;
  static_assert(!Cta::kTransposed && Cta::kPlanes == 1);

  struct Start {};
  XGEMM_DEVICE static void prefetch_maps(const WgmmaTmaParams&) {}
  XGEMM_DEVICE static Start start(const WgmmaTmaParams&, const typename Cta::Place&) { return {}; }

  XGEMM_DEVICE static void run(const WgmmaTmaParams& p, typename Cta::SharedStorage& smem,
                               const typename Cta::Place& place, const Start&) {
    const int team = gpu::warp_index() / (kTeamThreads / gpu::kWarpSize);
    const int thread = gpu::thread_index() % kTeamThreads;
    typename Cta::Ring ring = Cta::make_ring(p);  // the team's next slot
    ring.skip(team);
    int ahead = team;  // so many slots from the first one of what comes next
    unsigned exchange_phase = 0;
    UnderWay under_way{ring};
    const auto fill = [&](const auto& deposit) {
      gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
      deposit(smem.slots[ring.slot]);
      UnderWay::deliver(smem, ring.slot);
      ring.skip(kTeams);
    };
    if (p.follows()) gpu::grid_wait_dependencies();
    const Epilogue epilogue = Epilogue::make_early(p);
    XGEMM_NO_UNROLL
    for (Units units = Units::make(p); units.more(); units.next()) {
      const typename Cta::Tile tile = units.at(p, place);
      const typename Units::Slices slices = units.slices(p, epilogue.has_product, place.split);
      const int begin = (slices.begin + ahead) * Cta::kTileK;
      LoaderX x = LoaderX::make(p.x_lines, tile.batch, tile.row, Cta::rows_of(p), begin, p.k, thread);
      LoaderY y = LoaderY::make(p.y_lines, tile.batch, tile.column, Cta::columns_of(p), begin, p.k, thread);
      gpu::grid_wait_dependencies();
      XGEMM_NO_UNROLL
      for (int left = p.k - begin; ahead < slices.count(); ahead += kTeams) {
        if constexpr (kCopies) {
          gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
          x.copy(smem.slots[ring.slot].x[0], left);
          y.copy(smem.slots[ring.slot].y[0], left);
          ring.skip(kTeams);
          under_way.add(smem);
        } else {
          x.fetch(left);
          y.fetch(left);
          fill([&](typename Cta::SharedStorage::Slot& slot) {
            x.deposit(slot.x[0]);
            y.deposit(slot.y[0]);
          });
        }
        x.move(kTeams * Cta::kTileK);
        y.move(kTeams * Cta::kTileK);
        left -= kTeams * Cta::kTileK;
      }
      ahead -= slices.count();
      if constexpr (kCopies) {
        // Consumers use the ring otherwise when they have it all.
        if (place.shares_k() || (epilogue.reads_c() && !units.partial())) under_way.deliver_all(smem);
      }
      if (place.shares_k()) {
        // Of each warp, so that none misses a phase.
        gpu::sync_warp();
        Cta::lend_ring(smem, exchange_phase, gpu::lane_index() == 0);
      }
      if constexpr (Output::kSlots > 0) {
        if (!epilogue.reads_c() || units.partial()) continue;
        const typename Cta::Tile of_c = units.at(p, place);  // anew, rather than kept beside slices
        XGEMM_NO_UNROLL
        for (; ahead < Output::kSlots; ahead += kTeams) {
          fill([&](typename Cta::SharedStorage::Slot& slot) {
            Output::template load_lines<kTeamThreads>(p, slot, place, of_c, ahead, thread);
          });
        }
        ahead -= Output::kSlots;
        under_way.oldest = ring;
      }
    }
    if constexpr (kCopies) under_way.deliver_all(smem);
  }
};

}  // namespace xgemm::kernels
