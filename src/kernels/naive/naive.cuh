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

template <TileConfig kConfig, class Epilogue = LinearCombinationOf<kConfig.type>>
struct Naive {
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  using Sum = gpu::SumOf<kConfig.type>;
  static constexpr int kTileM = kConfig.cta_m;
  static constexpr int kTileN = kConfig.cta_n;
  static constexpr int kTileK = kConfig.cta_k;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMinBlocksPerSm = gpu::kArch >= 800 ? 5 : 4;  // latency is hidden by other warps alone
  static_assert(kConfig.thread_m == 1 && kConfig.thread_n == 1, "one thread computes one element");
  static_assert(kConfig.vector == 1, "operands are read element by element");
  static_assert(kThreads % gpu::kWarpSize == 0 && kThreads <= 1024, "a CTA is made of 1 to 32 whole warps");

  using SharedStorage = NoSharedStorage;

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage&) {
    const Epilogue epilogue = Epilogue::make(p);
    for_each_unit<kTileM, kTileN, kTileK>(p, epilogue.has_product, [&](const Unit& unit) {
      const auto a = view_a<kConfig>(p, unit);
      const auto b = view_b<kConfig>(p, unit);
      const int row = gpu::thread_index() % kTileM;
      const int col = gpu::thread_index() / kTileM;
      const std::int64_t i = unit.row + row, j = unit.col + col;
      if (i >= p.m || j >= p.n) return;
      Sum acc = 0;
      for (std::int64_t k = 0; k < unit.depth; ++k) {
        acc = gpu::fma(gpu::to_sum<Element>(a.get(i, k)), gpu::to_sum<Element>(b.get(k, j)), acc);
      }
      store_unit<kConfig, 1, 1>(epilogue, p, unit, row, col, [&](const auto& c) { c.store(0, 0, acc); });
    });
  }
};

}  // namespace xgemm::kernels
