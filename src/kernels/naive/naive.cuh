// naive: one thread per element of C, operands straight from global memory. Serves every problem: any strides, any
// alignment. Lanes of a warp run down a column of C, so C and a non-transposed A are read in whole sectors.
//
//           cta_n columns
//          +---------------+
//   cta_m  | t0  t32 ...   |     thread t: row t % cta_m, column t / cta_m
//          | t1  t33       |
//          +---------------+
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/kernel.cuh"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue = LinearCombination>
struct Naive {
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  static constexpr int kTileM = kConfig.cta_m;
  static constexpr int kTileN = kConfig.cta_n;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMinBlocksPerSm = 1;
  static constexpr int kMinArch = 10 * kConfig.min_compute_capability;
  static_assert(kConfig.thread_m == 1 && kConfig.thread_n == 1, "one thread computes one element");
  static_assert(kConfig.vector == 1, "operands are read element by element");
  static_assert(kThreads % gpu::kWarpSize == 0 && kThreads <= 1024, "a CTA is made of 1 to 32 whole warps");

  using SharedStorage = NoSharedStorage;

  XGEMM_HOST_DEVICE static constexpr GridDim grid(const GemmParams& p) { return tile_grid<kTileM, kTileN>(p); }

  XGEMM_DEVICE static void run(const GemmParams& p, SharedStorage&) {
    const Epilogue epilogue = Epilogue::make(p);
    const std::int64_t depth = effective_k(epilogue, p);
    for_each_tile<kTileM, kTileN, 1>(p, [&](std::int64_t batch, std::int64_t tile_m, std::int64_t tile_n) {
      const auto a = view_a<kConfig>(p, batch);
      const auto b = view_b<kConfig>(p, batch);
      const std::int64_t i = tile_m * kTileM + gpu::thread_index() % kTileM;
      const std::int64_t j = tile_n * kTileN + gpu::thread_index() / kTileM;
      const auto c = output_tile<kConfig, 1, 1>(epilogue, p, batch, i, j);
      if (!c.view().contains(0, 0)) return;
      float acc = 0.0f;
      for (std::int64_t k = 0; k < depth; ++k) {
        acc = gpu::fma(gpu::to_float(a.get(i, k)), gpu::to_float(b.get(k, j)), acc);
      }
      c.store(0, 0, acc);
    });
  }
};

}  // namespace xgemm::kernels
