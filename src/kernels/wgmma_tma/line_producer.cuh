// The producers of a wgmma_tma CTA whose X has lines that start anywhere: a warp loads them, by TMA, to stages, teams
// of two warps take these in turn and shift what is there into the slots, and a warp loads Y. Of warps that load a lane
// asks; all walk the ring, so that its place is uniform (common/sm90/tma.cuh).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"
#include "kernels/wgmma_tma/line_stages.cuh"
#include "kernels/wgmma_tma/producer.cuh"
#include "kernels/wgmma_tma/units.cuh"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig, class Epilogue, class Output>
struct WgmmaTmaLineProducer {
  using Cta = WgmmaTmaCta<kConfig>;
  using Units = WgmmaTmaUnits<kConfig>;
  using Element = typename Cta::Element;
  using Place = typename Cta::Place;
  using SharedStorage = typename Cta::SharedStorage;
  using Tile = typename Cta::Tile;
  using Lines = WgmmaTmaLines<kConfig>;
  using Params = WgmmaTmaLineParams;
  static constexpr int kTeams = kConfig.teams;
  static constexpr int kTeam = Lines::kThreads / gpu::kWarpSize;  // warps
  static_assert(Cta::kPlanes == 1 && kConfig.by_lines() && kConfig.fillers() == kTeam + 1);
  // Slices arrive in any order, and a barrier knows only two phases: a team waits for the one that follows when it has
  // seen the one before.
  static_assert(kConfig.line_stages % kTeams == 0, "each stage is the same team's");
  static_assert(kTeams + Output::kSlots <= Cta::kStages, "from one slot of a team to its next");

  struct Start {};
  XGEMM_DEVICE static void prefetch_maps(const Params& p) {
    if (p.k == 0) return;
    gpu::tma_prefetch_map(p.y);
    gpu::tma_prefetch_map(p.y_tail);
    for (int i = 0; i < p.classes; ++i) gpu::tma_prefetch_map(p.x_classes[i]);
  }
  XGEMM_DEVICE static Start start(const Params&, const Place&) { return {}; }

  XGEMM_DEVICE static void run(const Params& p, SharedStorage& smem, const Place& place, const Start&) {
    constexpr int kShifters = kTeams * kTeam;
    const int warp = gpu::shuffle(gpu::warp_index(), 0);  // uniform, and the compiler knows it
    const Epilogue epilogue = Epilogue::make_early(p);
    if (warp < kShifters) {
      shift(p, smem, place, epilogue, warp / kTeam);
    } else if (warp == kShifters) {
      load_x(p, smem, place, epilogue);
    } else if (warp == kShifters + 1) {
      load_y(p, smem, place, epilogue);
    }
  }

 private:
  using Stages = RingOf<kConfig.line_stages>;

  // Of a warp that has waited for a slot, or a stage: whether the lane is to fill it.
  XGEMM_DEVICE static bool asks() {
    gpu::sync_warp();  // all lanes have seen this phase
    return gpu::lane_index() == 0;
  }

  XGEMM_DEVICE static void load_x(const Params& p, SharedStorage& smem, const Place& place, const Epilogue& epilogue) {
    Stages stages;
    XGEMM_NO_UNROLL
    for (Units units = Units::make(p); units.more(); units.next()) {
      const Tile tile = units.at(p, place);
      const typename Units::Slices slices = units.slices(p, epilogue.has_product, place.split);
      gpu::grid_wait_dependencies();
      XGEMM_NO_UNROLL
      for (int slice = slices.begin; slice < slices.end; ++slice) {
        gpu::mbarrier_wait(smem.lines_empty[stages.slot], stages.phase ^ 1);
        if (asks())
          Lines::load(p, smem.lines[stages.slot], smem.lines_full[stages.slot], tile.row, slice * Cta::kTileK,
                      tile.batch * p.x_batch_step);
        stages.next();
      }
    }
  }

  XGEMM_DEVICE static void load_y(const Params& p, SharedStorage& smem, const Place& place, const Epilogue& epilogue) {
    using Loader = OperandLoader<Element, Cta::kMajorY, Cta::kTileK, Cta::kYColumns, Cta::kPieceY>;
    const int mask = p.column_mask << place.rank(place.column << p.row_bits, place.split);
    typename Cta::Ring ring = Cta::make_ring(p);
    unsigned exchange_phase = 0;
    XGEMM_NO_UNROLL
    for (Units units = Units::make(p); units.more(); units.next()) {
      const Tile tile = units.at(p, place);
      const Loader y = Loader::make(p.y, p.y_tail, p.y_share, tile.column, Cta::columns_of(p), place.row, mask);
      const int entry = tile.batch * p.y_batch_step;
      const typename Units::Slices slices = units.slices(p, epilogue.has_product, place.split);
      gpu::grid_wait_dependencies();
      XGEMM_NO_UNROLL
      for (int slice = slices.begin; slice < slices.end; ++slice) {
        gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
        if (asks()) {
          gpu::mbarrier_arrive_expect(smem.full[ring.slot], y.bytes());
          if (place.sharers == 1) {
            y.template load<false>(smem.slots[ring.slot].y[0], smem.full[ring.slot], slice * Cta::kTileK, entry);
          } else {
            y.template load<true>(smem.slots[ring.slot].y[0], smem.full[ring.slot], slice * Cta::kTileK, entry);
          }
        }
        ring.next();
      }
      if (place.shares_k()) {
        gpu::sync_warp();
        Cta::lend_ring(smem, exchange_phase, gpu::lane_index() == 0);
      }
      if (!epilogue.reads_c() || units.partial()) continue;
      XGEMM_NO_UNROLL
      for (int i = 0; i < Output::kSlots; ++i) {  // which the others fill
        gpu::mbarrier_wait(smem.empty[ring.slot], ring.phase ^ 1);
        if (asks()) gpu::mbarrier_arrive(smem.full[ring.slot]);
        ring.next();
      }
    }
    if (place.sharers > 1) Cta::wait_for_releases(smem, ring);
  }

  XGEMM_DEVICE static void shift(const Params& p, SharedStorage& smem, const Place& place, const Epilogue& epilogue,
                                 int team) {
    const int thread = gpu::thread_index() % Lines::kThreads;
    const Lines x = Lines::make(p, thread);
    typename Cta::Ring ring = Cta::make_ring(p);  // the unit's first slot
    Stages stages;                                // and stage
    int slice = team;                             // the team's next one, from there on
    unsigned exchange_phase = 0;
    const auto slot_of = [&](int number) {
      typename Cta::Ring at = ring;
      at.skip(number);
      gpu::mbarrier_wait(smem.empty[at.slot], at.phase ^ 1);
      return at.slot;
    };
    const auto fill = [&](int slot) {
      gpu::fence_async_shared();
      gpu::sync_warp();
      if (gpu::lane_index() == 0) gpu::mbarrier_arrive(smem.full[slot]);
    };
    XGEMM_NO_UNROLL
    for (Units units = Units::make(p); units.more(); units.next()) {
      const Tile tile = units.at(p, place);
      const int slices = units.slices(p, epilogue.has_product, place.split).count();
      XGEMM_NO_UNROLL
      for (; slice < slices; slice += kTeams) {
        Stages at = stages;
        at.skip(slice);
        gpu::mbarrier_wait(smem.lines_full[at.slot], at.phase);
        const int slot = slot_of(slice);
        x.deposit(smem.slots[slot].x[0], smem.lines[at.slot]);
        fill(slot);
        if (gpu::lane_index() == 0) gpu::mbarrier_arrive(smem.lines_empty[at.slot]);
      }
      slice -= slices;
      stages.skip(slices);
      ring.skip(slices);
      if (place.shares_k()) {
        // Of each warp, so that none misses a phase.
        gpu::sync_warp();
        Cta::lend_ring(smem, exchange_phase, gpu::lane_index() == 0);
      }
      if constexpr (Output::kSlots > 0) {
        if (!epilogue.reads_c() || units.partial()) continue;
        gpu::grid_wait_dependencies();
        XGEMM_NO_UNROLL
        for (int i = slice; i < Output::kSlots; i += kTeams) {  // those whose slices come next
          const int slot = slot_of(i);
          Output::template load_lines<Lines::kThreads>(p, smem.slots[slot], place, tile, i, thread);
          fill(slot);
        }
        ring.skip(Output::kSlots);
      }
    }
  }
};

}  // namespace xgemm::kernels
