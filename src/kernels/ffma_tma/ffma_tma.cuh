// ffma_tma: IEEE fp32 on the FMA units, fed by the copy engine or by producer warps.
//
//   warpgroup 0      producers                                 ring of kStages slots in shared memory
//   the others       4 or 8 consumer warps: FFMA on the      slot: [ panels of A | panels of B ]
//                    slots, then the epilogue
//
//            empty[s]                          full[s]
//   producer --wait--> TMA, cp.async --bytes, arrivals--> --wait--> FFMA ---arrive---> empty[s]
//
// Slots have one layout (cta.cuh), whatever the flags and the alignment of the operands: consumers read both operands
// along m and n, and one instance serves every product. How a slice gets there is the producers' matter (producer.cuh)
// and is chosen by arguments.h for each operand.
//
// A warp computes lanes_m * thread_m x lanes_n * thread_n of C. Small tiles have fewer warps' worth of it than there
// are consumer warps: these then form groups that share K, and add their sums at the end (exchange.cuh).
//
// CTAs are persistent, and walk units of the schedule (common/schedule.h). Of a part of a tile they leave the sums,
// column after column, in the workspace, and a second kernel (split_sum.cuh) adds them in the order of K. CTAs of a
// cluster share one tile's K, and add their sums in shared memory.
//
// Edges: zeros stand beyond k in both operands, so that zeros never meet an Inf. Beyond m and n stand zeros, or what
// was left in the slot; the sums of it are not stored. Warps with nothing inside of C compute nothing, but may help to
// store.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/dtype.cuh"
#include "kernels/common/epilogue.cuh"
#include "kernels/common/matrix_view.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/warpgroup.cuh"
#include "kernels/common/target.cuh"
#include "kernels/common/units.cuh"
#include "kernels/ffma_tma/config.h"
#include "kernels/ffma_tma/cta.cuh"
#include "kernels/ffma_tma/exchange.cuh"
#include "kernels/ffma_tma/finisher.cuh"
#include "kernels/ffma_tma/mainloop.cuh"
#include "kernels/ffma_tma/output.cuh"
#include "kernels/ffma_tma/params.h"
#include "kernels/ffma_tma/producer.cuh"
#include "kernels/ffma_tma/staged_output.cuh"

namespace xgemm::kernels {

template <FfmaTmaConfig kConfig, class Epilogue = LinearCombination>
struct FfmaTma {
  using Cta = FfmaTmaCta<kConfig>;
  using Producer = FfmaTmaProducer<kConfig, Epilogue>;
  using Mainloop = FfmaTmaMainloop<kConfig, kFollows<Epilogue>>;
  using Exchange = FfmaTmaExchange<kConfig>;
  using Output = FfmaTmaOutput<kConfig>;
  using StagedOutput = FfmaTmaStagedOutput<kConfig>;
  static constexpr bool kFinishes = std::is_same_v<Epilogue, Finished>;
  using Params = FfmaTmaParams;
  using SharedStorage = typename Cta::SharedStorage;

  static constexpr int kThreads = kConfig.threads();
  static constexpr int kCtasPerSm = kConfig.ctas_per_sm;
  static constexpr int kMinArch = 900;

  XGEMM_DEVICE static void run(const Params& p, SharedStorage& smem) {
    const int warp = gpu::shuffle(gpu::warp_index(), 0);  // uniform, and the compiler knows it
    if (gpu::thread_index() == 0) {
      Producer::prefetch_maps(p);
      if (kConfig.stages_c() && p.c_vectors) gpu::tma_prefetch_map(p.c_map);
      Cta::init_barriers(smem, p, Producer::kBulkWarps, kFollows<Epilogue>);
    }
    if (Cta::sharers(p) > 1) {
      gpu::sync_warp();  // after what a single lane did
      gpu::cluster_arrive();
      gpu::cluster_wait();
    } else {
      gpu::sync_threads();
    }
    gpu::grid_launch_dependents();
    if (warp < Cta::kProducerWarps) {
      gpu::release_registers<kConfig.producer_registers()>();
      Producer::run(p, smem, warp);
    } else {
      gpu::acquire_registers<kConfig.consumer_registers()>();
      if constexpr (kFollows<Epilogue>) {
        constexpr int kProducers = Cta::kProducerWarps * gpu::kWarpSize;
        prefetch_pointers<kThreads - kProducers>(p.batch_count, gpu::thread_index() - kProducers, p.c, p.a, p.b);
      }
      consume(p, smem, warp - Cta::kProducerWarps);
    }
  }

 private:
  XGEMM_DEVICE static void consume(const Params& p, SharedStorage& smem, int warp) {
    const int lane = gpu::lane_index();
    const int lane_m = lane_along_m(lane);
    const int lane_n = kConfig.lanes_m == 4 ? lane_of_eight(lane) : lane_of_four(lane);
    const int group = warp / kConfig.group_warps();
    const int group_warp = warp % kConfig.group_warps();
    const int warp_row = group_warp % kConfig.warps_m() * kConfig.warp_m();
    const int warp_column = group_warp / kConfig.warps_m() * kConfig.warp_n();
    const Mainloop mainloop = Mainloop::make(group, warp_row, warp_column, lane_m, lane_n);
    typename Cta::Ring ring;
    if constexpr (!kFollows<Epilogue>) {
      if (!holds_early(p.condition)) return;
    }
    const Epilogue epilogue = Epilogue::make_early(p);
    const unsigned sharers = Cta::sharers(p);
    const auto compute = [&](const Unit& unit) {
      const bool inside = unit.row + warp_row < p.m && unit.col + warp_column < p.n;
      gpu::grid_wait_dependencies();
      typename Cta::Sums sums = {};
      if (inside) {
        mainloop.run(smem, ring, group, unit.depth, sums);
      } else {
        pass(smem, ring, Cta::slices(unit.depth));
      }
      const Place place = {group_warp, warp_row, warp_column, warp_row + 4 * lane_m,
                           warp_column + 4 * lane_n + Output::column_of(group * Cta::kShareN)};
      if constexpr (Cta::kGroups == 1) {
        const Matrix c = Matrix::make(p, unit);
        if (inside || stores_together(p, unit, c)) finish_and_store(p, smem, unit, c, epilogue, place, sums);
      } else {
        typename Exchange::Share share = {};
        Exchange::run(smem, group, group_warp * gpu::kWarpSize + lane, sums, share);
        bool stores = inside;
        if constexpr (kConfig.shares_k()) {
          if (stores && sharers > 1) stores = Exchange::run_in_cluster(smem, sharers, warp, share);
        }
        if (stores) finish_and_store(p, smem, unit, Matrix::make(p, unit), epilogue, place, share);
      }
    };
    for_each_unit_32<Cta::kTileM, Cta::kTileN, Cta::kTileK>(p, epilogue.has_product, compute, sharers);
    if constexpr (kConfig.stages_c()) StagedOutput::wait_until_read();
  }

  // Which C of the batch: its number, or where it begins.
  struct Matrix {
    std::int64_t number;
    float* found;  // by a pointer

    XGEMM_DEVICE static Matrix make(const Params& p, const Unit& unit) {
      return {unit.batch, kFollows<Epilogue> ? uniform_entry_of<float>(p.c, unit.batch, true) : nullptr};
    }
    XGEMM_DEVICE float* data(const Params& p) const {
      return kFollows<Epilogue> ? found : entry_of<float>(p.c, number, false);
    }
    // Whether its columns start and end on vectors.
    XGEMM_DEVICE bool has_vectors(const Params& p) const {
      return p.c_vectors && (!kFollows<Epilogue> || gpu::BoxEntry::holds(found));
    }
    XGEMM_DEVICE void store_box(const Params& p, const float* stage, int row, int column) const {
      if constexpr (kFollows<Epilogue>) {
        gpu::tma_store(p.c_map, stage, row, column, gpu::BoxEntry::at(found));
      } else {
        gpu::tma_store(p.c_map, stage, row, column, static_cast<int>(number));
      }
    }
  };

  // The lanes of a warp as 4 x 8. Both operands are the same in neighbouring lanes, those of numbers that differ in bit
  // 0 or in bit 1: shared memory then serves half a warp at a time, not a quarter.
  XGEMM_DEVICE static int lane_of_four(int lane) { return (lane & 1) | (lane >> 1 & 2); }
  XGEMM_DEVICE static int lane_of_eight(int lane) { return (lane >> 1 & 1) | (lane >> 2 & 6); }

  XGEMM_DEVICE static int lane_along_m(int lane) {
    return kConfig.lanes_m == 4 ? lane_of_four(lane) : lane_of_eight(lane);
  }
  // The lane before this one along m, of the same columns; before the first, the last.
  XGEMM_DEVICE static int lane_before(int lane) {
    const int m = lane_along_m(lane) - 1;
    return kConfig.lanes_m == 4 ? (lane & ~0b101) | (m & 1) | (m & 2) << 1
                                : (lane & ~0b11010) | (m & 1) << 1 | (m & 6) << 2;
  }

  // A warp with nothing inside of C.
  XGEMM_DEVICE static void pass(SharedStorage& smem, typename Cta::Ring& ring, int slices) {
    Cta::release_last(smem, ring);
    XGEMM_NO_UNROLL
    for (int slice = 0; slice < slices; ++slice) {
      gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
      Cta::release(smem, ring.slot);
      ring.next();
    }
  }

  // A warp's number in its group, and where it and the thread begin in the tile.
  struct Place {
    int group_warp;
    int warp_row, warp_column;
    int row, column;
  };

  template <int kColumns>
  XGEMM_DEVICE static void finish_and_store(const Params& p, SharedStorage& smem, const Unit& unit, const Matrix& c,
                                            const Epilogue& epilogue, const Place& place,
                                            float (&sums)[kColumns][Cta::kThreadM]) {
    if constexpr (kFinishes) {  // parts are finished after they are added
      if (!unit.is_partial(p))
        FfmaTmaFinisher<kConfig>::run(p, unit.row + place.row, unit.col + place.column, epilogue.alpha, sums);
    }
    if constexpr (kConfig.stages_c()) {
      if (!unit.is_partial(p)) {
        const StagedOutput output = staged(p, smem, unit, c, place);
        const std::int64_t column = unit.col + place.warp_column;
        const auto store_box = [&](const float* stage) {
          c.store_box(p, stage, static_cast<int>(unit.row + place.warp_row), static_cast<int>(column));
        };
        with_finish(p, epilogue.of_zero_sums(), unit.row, column, [&](auto reads_c, const auto& finish) {
          constexpr bool kReadsC = decltype(reads_c)::value;
          if (stores_together(p, unit, c)) {
            output.template store_anywhere<kReadsC>(sums, finish);
          } else {
            output.template store_vectors<kReadsC>(sums, finish, store_box);
          }
        });
        return;
      }
    }
    store(p, unit, c, epilogue, place, sums);
  }

  // Whether sums of a unit are stored by warps together, those with nothing inside of C as well: the same for all.
  XGEMM_DEVICE static bool stores_together(const Params& p, const Unit& unit, const Matrix& c) {
    return kConfig.stages_c() && !unit.is_partial(p) &&
           !(c.has_vectors(p) && covers(p.fill, unit.row, unit.col, Cta::kTileM, Cta::kTileN));
  }

  XGEMM_DEVICE static StagedOutput staged(const Params& p, SharedStorage& smem, const Unit& unit, const Matrix& c,
                                          const Place& place) {
    const std::int64_t row = unit.row, column = unit.col + place.warp_column, ld = gpu::opaque(p.c.col_stride);
    const int warp = place.group_warp % kConfig.warps_m();
    return {smem.stage_c + (place.group_warp - warp),
            warp,
            (place.row - place.warp_row) / 4,
            (place.column - place.warp_column) / 4,
            c.data(p) + column * ld + row,
            ld,
            static_cast<int>(p.m - row),
            static_cast<int>(p.n - column),
            p.fill,
            static_cast<int>(column - row),
            p.fill == Fill::full && !kFollows<Epilogue>};
  }

  // Calls f(whether old C is read, as a constant; finish(sum, old, i, j)), of elements from (row, column) of C on.
  template <class F>
  XGEMM_DEVICE static void with_finish(const Params& p, const Epilogue& elements, std::int64_t row, std::int64_t column,
                                       const F& f) {
    if (elements.reads_c()) {
      f(std::true_type{}, [&](float sum, float old, int i, int j) {
        return elements.template apply<true>(sum, old, row + i, column + j, p);
      });
    } else {
      f(std::false_type{}, [&](float sum, float, int i, int j) {
        return elements.template apply<false>(sum, 0.0f, row + i, column + j, p);
      });
    }
  }

  // Sums of a part of a tile, or of a whole one that does not pass through the stage.
  template <int kColumns>
  XGEMM_DEVICE static void store(const Params& p, const Unit& unit, const Matrix& c, const Epilogue& epilogue,
                                 const Place& place, const float (&sums)[kColumns][Cta::kThreadM]) {
    const std::int64_t c_row = unit.row + place.row, c_column = unit.col + place.column;
    Output out;
    Epilogue elements = epilogue.of_zero_sums();
    bool vectors = true;
    if (unit.is_partial(p)) {
      const std::int64_t tile = p.schedule.partial_index(unit.index) * (Cta::kTileM * Cta::kTileN);
      out = {static_cast<float*>(p.partials) + tile + place.column * Cta::kTileM + place.row, Cta::kTileM, Cta::kTileM,
             Cta::kTileN};
      elements = Epilogue::identity();
    } else {
      const std::int64_t ld = gpu::opaque(p.c.col_stride);
      out = {c.data(p) + c_column * ld + c_row, ld, static_cast<int>(p.m - c_row), static_cast<int>(p.n - c_column)};
      if constexpr (!kConfig.stages_c()) {
        vectors = c.has_vectors(p) && covers(p.fill, unit.row + place.warp_row, unit.col + place.warp_column,
                                             kConfig.warp_m(), kConfig.warp_n());
      }
    }
    with_finish(p, elements, c_row, c_column, [&](auto reads_c, const auto& finish) {
      constexpr bool kReadsC = decltype(reads_c)::value;
      if (vectors) {
        out.template store_vectors<kReadsC>(sums, finish);
      } else if constexpr (!kConfig.stages_c()) {
        const int lane = gpu::lane_index();
        const typename Output::Edges edges = {lane_along_m(lane), lane_before(lane), p.fill,
                                              static_cast<int>(c_column - c_row)};
        out.template store_any<kReadsC>(edges, sums, finish);
      }
    });
  }
};

}  // namespace xgemm::kernels
