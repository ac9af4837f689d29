// thread_tiled: as smem_tiled, and each thread computes a tile of C in registers. An outer product of two fragments
// does thread_m * thread_n multiply-adds for thread_m + thread_n words from shared memory, where smem_tiled reads two
// words for each multiply-add.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/kernel.cuh"
#include "kernels/common/thread_tile.cuh"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue = LinearCombination>
struct ThreadTiled {
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  static constexpr int kTileM = kConfig.cta_m;
  static constexpr int kTileN = kConfig.cta_n;
  static constexpr int kTileK = kConfig.cta_k;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMinBlocksPerSm = min_blocks_for_thread_tile<kConfig>();
  static_assert(kConfig.stages == 1 && kConfig.copy == Copy::direct, "one slice at a time, loaded and used");
  static_assert(!kConfig.any_strides, "tiles are loaded along an axis of stride 1");
  static_assert(kThreads % gpu::kWarpSize == 0 && kThreads <= 1024, "a CTA is made of 1 to 32 whole warps");

  using Slice = SliceLayout<kConfig>;
  union SharedStorage {
    typename Slice::Storage slice;
    typename ThreadTile<kConfig>::Columns columns;
  };
  using LoaderA = typename Slice::LoaderA;
  using LoaderB = typename Slice::LoaderB;

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    const Epilogue epilogue = Epilogue::make(p);
    const auto a_tile = Slice::tile_a(smem.slice);
    const auto b_tile = Slice::tile_b(smem.slice);
    ThreadTile<kConfig> tile;

    for_each_unit<kTileM, kTileN, kTileK>(p, epilogue.has_product, [&](const Unit& unit) {
      const auto a = view_a<kConfig>(p, unit);
      const auto b = view_b<kConfig>(p, unit);
      tile.clear();
      XGEMM_NO_UNROLL
      for (std::int64_t k0 = 0; k0 < unit.depth; k0 += kTileK) {
        LoaderA::copy(a.template block<kTileM, kTileK>(unit.row, k0), a_tile);
        LoaderB::copy(b.template block<kTileK, kTileN>(k0, unit.col), b_tile);
        gpu::sync_threads();
        tile.multiply(a_tile, b_tile);
        gpu::sync_threads();  // before the next slice overwrites this one
      }
      store_unit<kConfig, kTileM, kTileN>(epilogue, p, unit, 0, 0, [&](const auto& c) { tile.store(c, smem.columns); });
    });
  }
};

}  // namespace xgemm::kernels
