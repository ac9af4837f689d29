// wgmma_tma: Hopper's tensor cores fed by the copy engine, fp32 sums.
//
// The kernel computes D = X Y with X (rows x k) and Y (k x columns). Rows of D lie along M of the wgmma instruction,
// columns along N. Either X = op(A), Y = op(B), D = C, or, transposed, X = op(B)^T, Y = op(A)^T, D = C^T; the choice
// (WgmmaTmaConfig::transposed) only says which way round a CTA tile lies on C. Both operands may be contiguous along K
// or along their other axis: wgmma and TMA take either, so no flag pair needs a transposing pass. As TF32, Y lies along
// K, and an X that does not goes from shared memory to wgmma through registers.
//
//   warpgroup 0      one thread issues TMA loads              ring of kStages slots in shared memory
//   warpgroups 1..   wgmma on the slots, then the epilogue     slot: [ X tile | Y tile ], swizzled
//
//            empty[s]                full[s]
//   producer --wait--> TMA --bytes--> --wait--> wgmma ---arrive---> empty[s]
//
//   CTA tile, 2 cooperative consumers     with ping_pong each consumer has whole tiles of its own, in turn,
//        kColumns                          so that one's epilogue runs under the other's mainloop
//      +-----------------+
//      | consumer 0      | 64 * i rows
//      +-----------------+
//      | consumer 1      |
//      +-----------------+
//
// Cluster: CTAs on neighbouring tiles, of a shape that the schedule says. The CTAs of a cluster row share X tiles: each
// loads its part and multicasts it to the row; Y likewise along cluster columns. A slot is free when the consumers of
// all these CTAs have released it, also of those that get nothing from this producer: in between, a slot may hold old
// C, which ties no CTA to another, and one that lags must not be overtaken by a phase. A cluster may have several such
// groups of CTAs, each with a part of K: they write their sums to each other's shared memory, and each adds up and
// stores its chunks of the tile.
//
// CTAs are persistent, and walk units of the schedule (common/schedule.h). Where these are many and short, CTAs with
// one consumer share an SM, each with the last slots of the ring alone (WgmmaTmaCta::storage). Of a part of a tile they
// leave the sums, in fragment order, in the workspace, and a second kernel (split_sum.cuh) adds them in the order of K.
//
// The parts:
//   cta.cuh                                what all roles share: ring, barriers, place in the cluster
//   units.cuh                              tiles, and the slices of K of them
//   producer.cuh                           the ring's loads, by the copy engine
//   following_producer.cuh                 the same of matrices that are found by pointers; of those that do not start
//                                          on 16 bytes by the warpgroup
//   word_producer.cuh, line_loader.cuh     the same by four warpgroups, of operands that start anywhere (wgmma_words),
//   line_copier.cuh                        or by one or two, of those whose lines start on 8 bytes
//   line_producer.cuh, line_stages.cuh     the same of an X that starts anywhere and a Y that does not
//   mainloop.cuh, mma_policy.h             slots to sums
//   exchange.cuh                           sums of a cluster along K
//   finisher.cuh                           bias, activation and scales, of instances that finish
//   old_c.cuh                              C that beta multiplies, by the ring to the consumers
//   chunk_output.cuh, register_output.cuh  sums to C, by boxes or by the consumers' threads
//   float_lane.cuh                         a thread's elements of fp32 in a box
//
// Edges: TMA fills zeros outside of k in both X and Y, so that zeros never meet an Inf, and stores nothing outside of
// C. Boxes of X and Y end at the edge of the operand: what would lie beyond is not loaded; the sums are of what was
// left in the slot, and end at the edge of C.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/dtype.cuh"
#include "kernels/common/epilogue.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/sm90/warpgroup.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/chunk_output.cuh"
#include "kernels/wgmma_tma/config.h"
#include "kernels/wgmma_tma/cta.cuh"
#include "kernels/wgmma_tma/exchange.cuh"
#include "kernels/wgmma_tma/finisher.cuh"
#include "kernels/wgmma_tma/following_producer.cuh"
#include "kernels/wgmma_tma/line_producer.cuh"
#include "kernels/wgmma_tma/mainloop.cuh"
#include "kernels/wgmma_tma/params.h"
#include "kernels/wgmma_tma/producer.cuh"
#include "kernels/wgmma_tma/register_output.cuh"
#include "kernels/wgmma_tma/units.cuh"
#include "kernels/wgmma_tma/word_producer.cuh"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig, class Epilogue = LinearCombination>
struct WgmmaTma {
  using Cta = WgmmaTmaCta<kConfig>;
  using Units = WgmmaTmaUnits<kConfig>;
  using Output = std::conditional_t<sizeof(typename Cta::ElementC) == 2, WgmmaTmaChunkOutput<kConfig, Epilogue>,
                                    WgmmaTmaRegisterOutput<kConfig, Epilogue>>;
  static constexpr bool kByThreads = kConfig.copy != Copy::bulk;
  using Producer =
      std::conditional_t<kByThreads,
                         std::conditional_t<!kConfig.by_lines(), WgmmaTmaWordProducer<kConfig, Epilogue, Output>,
                                            WgmmaTmaLineProducer<kConfig, Epilogue, Output>>,
                         std::conditional_t<kFollows<Epilogue>, WgmmaTmaFollowingProducer<kConfig, Epilogue, Output>,
                                            WgmmaTmaProducer<kConfig, Epilogue, Output>>>;
  using Mainloop = WgmmaTmaMainloop<kConfig>;
  static constexpr bool kFinishes = std::is_same_v<Epilogue, Finished>;
  using Finisher = std::conditional_t<kFinishes, WgmmaTmaFinisher<kConfig>, WgmmaTmaNoFinisher>;
  using Place = typename Cta::Place;
  using Params = std::conditional_t<kConfig.by_lines(), WgmmaTmaLineParams, WgmmaTmaParams>;
  // Epilogues of the kernels beside the plain one: that which finishes what a product is given as an epilogue, and that
  // which finds the matrices of a batch by pointers. The plain one's of instances without such kernels.
  using Finishing = std::conditional_t<kConfig.finishes, Finished, LinearCombination>;
  using Finding = std::conditional_t<kConfig.follows, Following, LinearCombination>;
  using SharedStorage = typename Cta::SharedStorage;

  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMinBlocksPerSm = kFinishes || kFollows<Epilogue> ? 1 : kConfig.most_ctas_per_sm();
  static constexpr int kMinArch = 900;
  static constexpr int kStages = Cta::kStages;
  static constexpr int kLineStages = kConfig.line_stages;
  static constexpr int kVector = kConfig.vector;
  static_assert(kVector == 1 || (kConfig.copy == Copy::prefetch && !kConfig.by_lines()));
  static constexpr int kGroups = Cta::kGroups;
  static constexpr int kProducerRegisters = kConfig.producer_registers(kFollows<Epilogue>);
  static constexpr int kConsumerRegisters = kConfig.consumer_registers(kFollows<Epilogue>);
  static_assert((kConfig.producers * kProducerRegisters + kConfig.consumers() * kConsumerRegisters) *
                    gpu::kGroupThreads <=
                65536);
  // Beside many sums there are no registers for it.
  static constexpr bool kFindsCEarly = kFollows<Epilogue> && !kConfig.many_accumulators();

  XGEMM_DEVICE static void run(const Params& p, SharedStorage& smem) {
    const int warp = gpu::shuffle(gpu::warp_index(), 0);  // uniform, and the compiler knows it
    const int group = warp / gpu::kWarpsPerGroup;
    const Place place = Place::make(p);
    // One warp works out where the loads begin while another makes the barriers: each takes some hundred cycles.
    typename Producer::Start start{};
    if (warp == 0) start = Producer::start(p, place);
    if (warp == 1 && gpu::lane_index() == 0) {
      Producer::prefetch_maps(p);
      Output::prefetch_maps(p);
      if constexpr (kFollows<Epilogue>) gpu::mbarrier_init(smem.filled, p.sharers);
      Cta::init_barriers(p, smem);
    }
    Cta::sync_cluster(p);
    gpu::grid_launch_dependents();
    // Only the producers and consume() touch global memory, and wait for the kernel before.
    if (group < kConfig.producers) {
      if constexpr (kProducerRegisters != 0) gpu::release_registers<kProducerRegisters>();
      if (kByThreads || kFollows<Epilogue> || (warp == 0 && gpu::lane_index() == 0))
        Producer::run(p, smem, place, start);
    } else {
      if constexpr (kConsumerRegisters != 0) gpu::acquire_registers<kConsumerRegisters>();
      consume(p, smem, place, group - kConfig.producers, warp % gpu::kWarpsPerGroup);
    }
  }

 private:
  // A consumer: a whole warpgroup.
  XGEMM_DEVICE static void consume(const Params& p, SharedStorage& smem, const Place& place, int group, int warp) {
    const int tile_group = kConfig.ping_pong ? 0 : group;
    const Mainloop mainloop = Mainloop::make(smem, tile_group);
    typename Cta::Ring ring = Cta::make_ring(p);
    unsigned exchange_phase = 0;
    int tiles_to_skip = group;              // ping-pong
    unsigned turn_phase = 1 - (group & 1);  // the first turn of consumer 0 is open
    if constexpr (kFollows<Epilogue>)
      prefetch_all_pointers(p, group * gpu::kGroupThreads + gpu::thread_index() % gpu::kGroupThreads);
    if constexpr (Cta::kPlanes > 1) {
      if (!holds_early(p.condition)) return;
    }
    const Epilogue epilogue = Epilogue::make_early(p);
    XGEMM_NO_UNROLL
    for (Units units = Units::make(p); units.more(); units.next()) {
      const int slices = units.slices(p, epilogue.has_product, place.split).count();
      const int c_slots = epilogue.reads_c() && !units.partial() ? Output::kSlots : 0;
      if constexpr (kConfig.ping_pong) {
        if (tiles_to_skip != 0) {
          tiles_to_skip = 0;
          ring.skip(slices + c_slots);
          continue;
        }
        tiles_to_skip = 1;
      }
      // Takes a while: before the turn comes, and not between the products and the epilogue.
      const typename Cta::Tile tile = units.at(p, place);
      const bool inside = Cta::reaches_c(p, tile, tile_group);
      gpu::grid_wait_dependencies();
      [[maybe_unused]] Finisher finisher;
      if constexpr (kFinishes) {
        finisher = Finisher::make(p, tile.row + Cta::group_row(tile_group) + 16 * warp,
                                  tile.column + Cta::group_column(tile_group));
      }
      if constexpr (kConfig.ping_pong) {
        // A barrier knows only two phases: a consumer may wait for its slots when the other has seen all of its own.
        gpu::mbarrier_wait(smem.turn[group], turn_phase);
        turn_phase ^= 1;
      }
      // Of matrices that are found by pointers it takes a while to know where C begins.
      [[maybe_unused]] typename Output::Matrix early;
      if constexpr (kFindsCEarly) early = Output::Matrix::make(p, tile.batch);
      const auto c = [&] {
        if constexpr (kFindsCEarly) return early;
        return Output::Matrix::make(p, tile.batch);
      };
      if (inside && epilogue.reads_c() && !units.partial())
        Output::prefetch_c(p, tile.row + Cta::group_row(tile_group), tile.column + Cta::group_column(tile_group), c());
      typename Cta::Sums acc;
      mainloop.run(smem, place, ring, slices, acc, inside, c_slots == 0, group, p.bf16);
      if (units.partial()) {
        store_partial(p, units, place, tile_group, acc);
        continue;
      }
      if constexpr (Cta::kSharesK) {
        if (place.shares_k()) [[unlikely]] {
          WgmmaTmaExchange<kConfig>::run(smem, place, exchange_phase, group, inside, acc);
        }
      }
      const int row = tile.row + Cta::group_row(tile_group);
      const int column = tile.column + Cta::group_column(tile_group);
      if constexpr (Cta::kPlanes > 1) {
        if (inside) multiply_factors(p, row + 16 * warp, column, tile.batch, acc);
      }
      if (!inside) {
        Output::skip(smem, place, ring, epilogue.reads_c() ? Output::kSlots : 0, group);
      } else if constexpr (kFinishes) {
        finisher.run(p, row + 16 * warp, column, epilogue.alpha, acc);
        Output::template store<false, true>(p, smem, place, epilogue, ring, group, warp, row, column, c(), acc);
      } else if (epilogue.reads_c()) {
        Output::template store<true>(p, smem, place, epilogue, ring, group, warp, row, column, c(), acc);
      } else {
        Output::template store<false>(p, smem, place, epilogue, ring, group, warp, row, column, c(), acc);
      }
    }
    Output::finish(warp);
  }

  // By the consumers' threads.
  XGEMM_DEVICE static void prefetch_all_pointers(const Params& p, int thread) {
    constexpr int kConsumers = kConfig.consumers() * gpu::kGroupThreads;
    const auto& s = p.schedule;
    const auto entries = std::int64_t{s.position(s.tile_of(s.units - 1)).batch} + 1;
    prefetch_pointers<kConsumers>(entries, thread, p.c_lines, p.x_lines, p.y_lines);
  }

  // Undoes the scaling of operands that are given in parts. (row, column): of the warp's first sum. To the end of
  // a tile there are factors.
  XGEMM_DEVICE static void multiply_factors(const Params& p, int row, int column, int batch, typename Cta::Sums& sums) {
    const int lane = gpu::opaque(gpu::lane_index());  // what follows from it would be kept all the time
    const float* const factors_x = p.factors_x + batch * p.factors_x_step + row;
    const float* const factors_y = p.factors_y + batch * p.factors_y_step + column;
    float of_rows[Cta::kSlabs][2];
    XGEMM_UNROLL
    for (int i = 0; i < Cta::kSlabs; ++i) {
      XGEMM_UNROLL
      for (int half = 0; half < 2; ++half)
        of_rows[i][half] = gpu::read<gpu::Space::global>(factors_x + 64 * i + gpu::wgmma_row(lane, 2 * half));
    }
    XGEMM_UNROLL
    for (int j = 0; j < Cta::kSlabRegisters; j += 4) {
      const auto of_columns = gpu::read<gpu::Space::global>(
          reinterpret_cast<const gpu::Vector<float, 2>*>(factors_y + gpu::wgmma_column(lane, j)));
      XGEMM_UNROLL
      for (int i = 0; i < Cta::kSlabs; ++i) {
        XGEMM_UNROLL
        for (int r = 0; r < 4; ++r)
          sums[i][j + r] = gpu::multiply(gpu::multiply(sums[i][j + r], of_rows[i][r / 2]), of_columns[r % 2]);
      }
    }
  }

  // The sums of a part of a tile, in fragment order: the second kernel's threads meet them again.
  XGEMM_DEVICE static void store_partial(const Params& p, const Units& units, const Place& place, int tile_group,
                                         const typename Cta::Sums& acc) {
    constexpr int kSlabVectors = Cta::kSlabRegisters / 4;
    const auto cta = static_cast<std::int64_t>(units.schedule.partial_index(units.unit)) * place.sharers + place.row +
                     (place.column << p.row_bits);
    auto* out = reinterpret_cast<gpu::Vector<float, 4>*>(p.partials) +
                (cta * Cta::kTileGroups + tile_group) * (Cta::kSlabs * kSlabVectors * gpu::kGroupThreads) +
                gpu::thread_index() % gpu::kGroupThreads;
    XGEMM_UNROLL
    for (int i = 0; i < Cta::kSlabs; ++i) {
      XGEMM_UNROLL
      for (int v = 0; v < kSlabVectors; ++v) {
        const float* f = &acc[i][4 * v];
        const gpu::Vector<float, 4> sums = {{f[0], f[1], f[2], f[3]}};
        gpu::write<gpu::Space::global>(out + (i * kSlabVectors + v) * gpu::kGroupThreads, sums);
      }
    }
  }
};

}  // namespace xgemm::kernels
