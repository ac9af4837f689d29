// smem_tiled: a CTA stages slices of A and B through shared memory, so that each element is read from global memory
// once per CTA instead of once per thread; still one thread per element of C.
//
//                 cta_k                       cta_n
//               +-------+                  +---------+
//        cta_m  |   A   |          cta_k   |    B    |       for each slice of K: load both tiles, barrier,
//               +-------+                  +---------+       cta_k multiply-adds per thread, barrier
//
// Shared layout. Lanes of a warp run down a column of C. A's tile is stored with m contiguous, so the lanes read
// neighbouring banks; B's with n contiguous, so lanes that share a column read one word (broadcast) and others their
// neighbour's bank. An operand that is contiguous along k is transposed on the way in: its lanes write down a column of
// the tile, which the padding spreads over the banks (see kPadding).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/kernel.cuh"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue = LinearCombinationOf<kConfig.type>>
struct SmemTiled {
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  using Sum = gpu::SumOf<kConfig.type>;
  static constexpr int kTileM = kConfig.cta_m;
  static constexpr int kTileN = kConfig.cta_n;
  static constexpr int kTileK = kConfig.cta_k;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMinBlocksPerSm = 1;
  static_assert(kConfig.thread_m == 1 && kConfig.thread_n == 1, "one thread computes one element");
  static_assert(kConfig.stages == 1 && kConfig.copy == Copy::direct, "one slice at a time, loaded and used");
  static_assert(!kConfig.any_strides, "tiles are loaded along an axis of stride 1");
  static_assert(kThreads % gpu::kWarpSize == 0 && kThreads <= 1024, "a CTA is made of 1 to 32 whole warps");

  // Stored column-wise, a transposed operand's 32 lanes write kTileK / vector elements along k (one vector each) times
  // 32 * vector / kTileK lines. A pad of 32 / kTileK words per column shifts each column of banks by just so much that
  // what the lanes write lies in different banks.
  static constexpr int kPaddingWords = kTileK < gpu::kWarpSize ? gpu::kWarpSize / kTileK : 1;
  static constexpr int kPadding = sizeof(Element) < 4 ? kPaddingWords * 4 / int{sizeof(Element)} : kPaddingWords;
  static constexpr bool kTransposeA = kConfig.a_contiguous == layout::Axis::col;
  static constexpr bool kTransposeB = kConfig.b_contiguous == layout::Axis::row;
  static constexpr int kStrideA = kTileM + (kTransposeA ? kPadding : 0);
  static constexpr int kStrideB = kTileN + (kTransposeB ? kPadding : 0);

  struct SharedStorage {
    SharedArray<Element, kStrideA * kTileK> a;
    SharedArray<Element, kStrideB * kTileK> b;
  };

  using LoaderA = TileLoaderA<kConfig>;
  using LoaderB = TileLoaderB<kConfig>;

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    const Epilogue epilogue = Epilogue::make(p);
    const auto a_tile = shared_view<kTileM, kTileK, 1, kStrideA>(smem.a.data);
    const auto b_tile = shared_view<kTileK, kTileN, kStrideB, 1>(smem.b.data);
    const int i = gpu::thread_index() % kTileM;
    const int j = gpu::thread_index() / kTileM;

    for_each_unit<kTileM, kTileN, kTileK>(p, epilogue.has_product, [&](const Unit& unit) {
      const auto a = view_a<kConfig>(p, unit);
      const auto b = view_b<kConfig>(p, unit);
      Sum acc = 0;
      for (std::int64_t k0 = 0; k0 < unit.depth; k0 += kTileK) {
        LoaderA::copy(a.template block<kTileM, kTileK>(unit.row, k0), a_tile);
        LoaderB::copy(b.template block<kTileK, kTileN>(k0, unit.col), b_tile);
        gpu::sync_threads();
        XGEMM_UNROLL
        for (int k = 0; k < kTileK; ++k) {
          acc = gpu::fma(gpu::to_sum<Element>(a_tile(i, k)), gpu::to_sum<Element>(b_tile(k, j)), acc);
        }
        gpu::sync_threads();  // before the next slice overwrites this one
      }
      store_unit<kConfig, kTileM, kTileN>(epilogue, p, unit, 0, 0, [&](const auto& c) { c.store(i, j, acc); });
    });
  }
};

}  // namespace xgemm::kernels
