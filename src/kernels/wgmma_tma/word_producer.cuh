// The producers of a wgmma_tma CTA whose operands TMA cannot address: warpgroups that bring their lines into the slots
// as TMA would have.
//
// They are divided into teams, which take slots in turn: what one waits for is in flight while the others store.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/matrix_view.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"
#include "kernels/wgmma_tma/line_loader.cuh"
#include "kernels/wgmma_tma/units.cuh"

namespace xgemm::kernels {

// Of one operand: slices of a tile, as a team loads them.
template <class Element, gpu::Major kMajor, int kTileK, int kExtent, int kPiece, int kThreads>
struct SliceLoader {
  static constexpr bool kAlongK = kMajor == gpu::Major::k;
  static constexpr int kPieces = kAlongK ? 1 : kExtent / kPiece;
  static constexpr int kLineBytes = (kAlongK ? kTileK : kPiece) * static_cast<int>(sizeof(Element));
  using Lines = LineLoader<Element, kAlongK ? kExtent : kTileK, kLineBytes, kThreads>;

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
      loader.pieces[i] = kAlongK ? Lines::make(data, operand.stride, mn, k, thread, gapless)
                                 : Lines::make(data, operand.stride, k, mn + i * kPiece, thread, gapless);
    }
    loader.left = extent - mn;
    return loader;
  }

  // k: what is left from the slice on.
  XGEMM_DEVICE void fetch(int k) {
    XGEMM_UNROLL
    for (int i = 0; i < kPieces; ++i) kAlongK ? pieces[i].fetch(left, k) : pieces[i].fetch(k, left - i * kPiece);
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

template <WgmmaTmaConfig kConfig, class Epilogue, class Output>
struct WgmmaTmaWordProducer {
  using Cta = WgmmaTmaCta<kConfig>;
  using Units = WgmmaTmaUnits<kConfig>;
  using Element = typename Cta::Element;

  static constexpr int kTeams = kConfig.teams;
  static constexpr int kTeamThreads = kConfig.producers * gpu::kGroupThreads / kTeams;
  using LoaderX = SliceLoader<Element, Cta::kMajorX, Cta::kTileK, Cta::kTileRows, Cta::kPieceX, kTeamThreads>;
  using LoaderY = SliceLoader<Element, Cta::kMajorY, Cta::kTileK, Cta::kYColumns, Cta::kPieceY, kTeamThreads>;
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
    const auto fill = [&](const auto& deposit) {
      gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
      deposit(smem.slots[ring.slot]);
      gpu::fence_async_shared();
      gpu::sync_warp();
      if (gpu::lane_index() == 0) gpu::mbarrier_arrive(smem.full[ring.slot]);
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
        x.fetch(left);
        y.fetch(left);
        fill([&](typename Cta::SharedStorage::Slot& slot) {
          x.deposit(slot.x[0]);
          y.deposit(slot.y[0]);
        });
        x.move(kTeams * Cta::kTileK);
        y.move(kTeams * Cta::kTileK);
        left -= kTeams * Cta::kTileK;
      }
      ahead -= slices.count();
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
      }
    }
  }
};

}  // namespace xgemm::kernels
