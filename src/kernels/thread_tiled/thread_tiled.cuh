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
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMinBlocksPerSm = min_blocks_for_thread_tile<kConfig>();
  static constexpr int kMinArch = 10 * kConfig.min_compute_capability;
  static constexpr int kTileGroup = 8;
  static_assert(kConfig.stages == 1 && kConfig.copy == Copy::direct, "one slice at a time, loaded and used");
  static_assert(!kConfig.any_strides, "tiles are loaded along an axis of stride 1");
  static_assert(kThreads % gpu::kWarpSize == 0 && kThreads <= 1024, "a CTA is made of 1 to 32 whole warps");

  using Slice = SliceLayout<kConfig>;
  using SharedStorage = typename Slice::Storage;
  using LoaderA = typename Slice::LoaderA;
  using LoaderB = typename Slice::LoaderB;

  XGEMM_HOST_DEVICE static constexpr GridDim grid(const GemmParams& p) { return tile_grid<kTileM, kTileN>(p); }

  XGEMM_DEVICE static void run(const GemmParams& p, SharedStorage& smem) {
    const Epilogue epilogue = Epilogue::make(p);
    const std::int64_t depth = effective_k(epilogue, p);
    const auto a_tile = Slice::tile_a(smem);
    const auto b_tile = Slice::tile_b(smem);
    ThreadTile<kConfig> tile;

    for_each_tile<kTileM, kTileN, kTileGroup>(p, [&](std::int64_t batch, std::int64_t tile_m, std::int64_t tile_n) {
      const auto a = view_a<kConfig>(p, batch);
      const auto b = view_b<kConfig>(p, batch);
      tile.clear();
      XGEMM_NO_UNROLL
      for (std::int64_t k0 = 0; k0 < depth; k0 += kTileK) {
        LoaderA::copy(a.template block<kTileM, kTileK>(tile_m * kTileM, k0), a_tile);
        LoaderB::copy(b.template block<kTileK, kTileN>(k0, tile_n * kTileN), b_tile);
        gpu::sync_threads();
        tile.multiply(a_tile, b_tile);
        gpu::sync_threads();  // before the next slice overwrites this one
      }
      tile.store(output_tile<kConfig, kTileM, kTileN>(epilogue, p, batch, tile_m * kTileM, tile_n * kTileN));
    });
  }
};

}  // namespace xgemm::kernels
