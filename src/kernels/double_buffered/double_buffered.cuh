// double_buffered: as thread_tiled, and the next slices of A and B are on their way while this one is multiplied, each
// to a stage of its own. One barrier per slice.
//
//  * Copy::prefetch: two stages, the double buffer of the name. The next slice is loaded into registers before the
//    multiplication, and stored to the other stage after it.
//  * Copy::async: cp.async (sm_80), past the registers. Copies run stages - 1 slices ahead, of 2 to 4 stages; the
//    instances have three.
//
//     barrier | start slice i + stages - 1 | multiply slice i | deposit what went through registers | barrier | ...
//
// The barrier says that slice i is there, and that all threads are done with slice i - 1, whose stage the slices
// started after it fill. cp.async cannot transpose: an operand that is contiguous along k takes the way through
// registers in either form.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/kernel.cuh"
#include "kernels/common/thread_tile.cuh"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue = LinearCombination>
struct DoubleBuffered {
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  static constexpr int kTileM = kConfig.cta_m;
  static constexpr int kTileN = kConfig.cta_n;
  static constexpr int kTileK = kConfig.cta_k;
  static constexpr int kStages = kConfig.stages;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMinBlocksPerSm = min_blocks_for_thread_tile<kConfig>();
  static constexpr bool kAsync = kConfig.copy == Copy::async;
  static_assert(kConfig.copy != Copy::direct, "slices are fetched ahead");
  static_assert(kAsync ? kStages >= 2 && kStages <= 4 : kStages == 2,
                "registers hold one slice ahead, cp.async up to 3");
  static_assert(!kAsync || kConfig.min_compute_capability >= 80, "cp.async exists from sm_80 on");
  static_assert(!kConfig.any_strides, "tiles are loaded along an axis of stride 1");
  static_assert(kThreads % gpu::kWarpSize == 0 && kThreads <= 1024, "a CTA is made of 1 to 32 whole warps");

  using Slice = SliceLayout<kConfig>;
  union SharedStorage {
    typename Slice::Storage stage[kStages];
    typename ThreadTile<kConfig>::Columns columns;
  };

  using LoaderA = typename Slice::LoaderA;
  using LoaderB = typename Slice::LoaderB;
  static constexpr bool kAsyncA = kAsync && !Slice::kTransposeA && LoaderA::kCanCopyAsync;
  static constexpr bool kAsyncB = kAsync && !Slice::kTransposeB && LoaderB::kCanCopyAsync;

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    const Epilogue epilogue = Epilogue::make(p);
    ThreadTile<kConfig> tile;

    for_each_unit<kTileM, kTileN, kTileK>(p, epilogue.has_product, [&](const Unit& unit) {
      const Operands operands = {view_a<kConfig>(p, unit), view_b<kConfig>(p, unit), unit.row, unit.col};
      tile.clear();
      if (unit.depth > 0) multiply(operands, unit.depth, smem, tile);
      store_unit<kConfig, kTileM, kTileN>(epilogue, p, unit, 0, 0, [&](const auto& c) { tile.store(c, smem.columns); });
    });
  }

 private:
  using ViewA = decltype(view_a<kConfig>(GemmParams{}, Unit{}));
  using ViewB = decltype(view_b<kConfig>(GemmParams{}, Unit{}));

  struct Operands {
    ViewA a;
    ViewB b;
    std::int64_t row, col;  // of the CTA tile

    XGEMM_DEVICE auto block_a(std::int64_t k0) const { return a.template block<kTileM, kTileK>(row, k0); }
    XGEMM_DEVICE auto block_b(std::int64_t k0) const { return b.template block<kTileK, kTileN>(k0, col); }
  };

  // Of a slice that goes through registers: between its loads and its stores.
  struct InFlight {
    typename LoaderA::Fragment a;
    typename LoaderB::Fragment b;
  };

  // Starts the copies of the slice at k0. A group of copies is committed for every slice, also for those beyond the
  // last: the wait counts groups.
  XGEMM_DEVICE static void start(const Operands& operands, std::int64_t k0, std::int64_t depth,
                                 typename Slice::Storage& stage, InFlight& in_flight) {
    if (k0 < depth) {
      if constexpr (kAsyncA) {
        LoaderA::copy_async(operands.block_a(k0), Slice::tile_a(stage));
      } else {
        LoaderA::fetch(operands.block_a(k0), in_flight.a);
      }
      if constexpr (kAsyncB) {
        LoaderB::copy_async(operands.block_b(k0), Slice::tile_b(stage));
      } else {
        LoaderB::fetch(operands.block_b(k0), in_flight.b);
      }
    }
    if constexpr (kAsyncA || kAsyncB) gpu::copy_async_commit();
  }

  // The other half of start() for what went through registers.
  XGEMM_DEVICE static void deposit(std::int64_t k0, std::int64_t depth, typename Slice::Storage& stage,
                                   const InFlight& in_flight) {
    if (k0 >= depth) return;
    if constexpr (!kAsyncA) LoaderA::deposit(in_flight.a, Slice::tile_a(stage));
    if constexpr (!kAsyncB) LoaderB::deposit(in_flight.b, Slice::tile_b(stage));
  }

  XGEMM_DEVICE static void multiply(const Operands& operands, std::int64_t depth, SharedStorage& smem,
                                    ThreadTile<kConfig>& tile) {
    InFlight in_flight;
    XGEMM_UNROLL
    for (int s = 0; s < kStages - 1; ++s) {
      start(operands, std::int64_t{s} * kTileK, depth, smem.stage[s], in_flight);
      deposit(std::int64_t{s} * kTileK, depth, smem.stage[s], in_flight);
    }
    int stage = 0, free_stage = kStages - 1;
    XGEMM_NO_UNROLL
    for (std::int64_t k0 = 0; k0 < depth; k0 += kTileK) {
      if constexpr (kAsyncA || kAsyncB) gpu::copy_async_wait<kStages - 2>();
      gpu::sync_threads();
      const std::int64_t ahead = k0 + (kStages - 1) * kTileK;
      start(operands, ahead, depth, smem.stage[free_stage], in_flight);
      tile.multiply_ahead(Slice::tile_a(smem.stage[stage]), Slice::tile_b(smem.stage[stage]));
      deposit(ahead, depth, smem.stage[free_stage], in_flight);
      free_stage = stage;
      stage = stage + 1 < kStages ? stage + 1 : 0;
    }
    gpu::sync_threads();  // before the next tile's copies
  }
};

}  // namespace xgemm::kernels
