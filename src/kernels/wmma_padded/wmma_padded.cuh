// wmma_padded: tensor cores through WMMA, 16 x 16 x 16 a time, fp32 sums; rows in shared memory padded against bank
// conflicts (sm_80).
//
//   global -> shared     cp.async of 16 bytes, stages - 1 slices ahead
//   shared               in the operands' own order, `pad` elements between lines. Lines of a power of two of bytes
//                        put the lines of a fragment into few banks; 16 bytes more each and eight lines fill all of
//                        them. The price: the stores of cp.async, which walk along lines, now conflict where lines meet
//   shared -> registers  wmma.load by rows or by columns, as the operand lies: no flags need a transposing pass
//   registers -> C       fragments are opaque, so sums go through shared memory as they are, and each warp stores its
//                        part by vectors down the columns
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/common/wmma.cuh"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue = LinearCombination>
struct WmmaPadded {
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  static constexpr int kTileM = kConfig.cta_m;
  static constexpr int kTileN = kConfig.cta_n;
  static constexpr int kTileK = kConfig.cta_k;
  static constexpr int kWarpM = kConfig.warp_m;
  static constexpr int kWarpN = kConfig.warp_n;
  static constexpr int kStages = kConfig.stages;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kWarps = kThreads / gpu::kWarpSize;
  static constexpr int kMinBlocksPerSm = 1;
  static constexpr int kFragment = 16;
  static_assert(kConfig.min_compute_capability >= 80, "cp.async and bf16 fragments exist from sm_80 on");
  static_assert(kConfig.copy == Copy::async && kStages >= 2 && kStages <= 4);
  static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "warps share a tile out evenly");
  static_assert(kWarpM % kFragment == 0 && kWarpN % kFragment == 0 && kTileK % kFragment == 0);
  static_assert(kConfig.pad % 8 == 0, "lines of a fragment start at multiples of 16 bytes");

  static constexpr bool kColumnMajorA = kConfig.a_contiguous == Axis::row;
  static constexpr bool kColumnMajorB = kConfig.b_contiguous == Axis::row;
  static constexpr int kLdA = (kColumnMajorA ? kTileM : kTileK) + kConfig.pad;
  static constexpr int kLdB = (kColumnMajorB ? kTileK : kTileN) + kConfig.pad;
  struct Stage {
    alignas(128) Element a[kLdA * (kColumnMajorA ? kTileK : kTileM)];
    alignas(128) Element b[kLdB * (kColumnMajorB ? kTileN : kTileK)];
  };
  // Sums of one fragment column of a warp. Four elements between columns keep the pairs of columns that a lane holds
  // out of each other's banks.
  static constexpr int kLdC = kWarpM + 4;
  struct Sums {
    alignas(128) float data[kLdC * kFragment];
  };
  union SharedStorage {
    Stage stage[kStages];
    Sums c[kWarps];  // once the slices are multiplied
  };

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    for_each_unit<kTileM, kTileN, kTileK>(p, Epilogue::make(p).has_product, [&](const Unit& unit) {
      Accumulator sums[kWarpM / kFragment][kWarpN / kFragment];
      XGEMM_UNROLL
      for (int i = 0; i < kWarpM / kFragment; ++i) {
        XGEMM_UNROLL
        for (int j = 0; j < kWarpN / kFragment; ++j) gpu::wmma_fill(sums[i][j], 0.0f);
      }
      if (unit.depth > 0) {
        multiply(view_a<kConfig>(p, unit), view_b<kConfig>(p, unit), unit.row, unit.col, unit.depth, smem, sums);
        gpu::sync_threads();  // the stages are free
      }
      const int warp = gpu::opaque(gpu::warp_index());
      const Epilogue epilogue = Epilogue::make(p);
      store_unit<kConfig, kWarpM, kWarpN>(epilogue, p, unit, warp_m(warp), warp_n(warp),
                                          [&](const auto& c) { store(c, sums, smem.c[warp]); });
      gpu::sync_threads();  // before the next tile's copies
    });
  }

 private:
  using Accumulator = gpu::WmmaFragment<float, gpu::WmmaUse::accumulator>;
  using FragmentA = gpu::WmmaFragment<Element, gpu::WmmaUse::a, kColumnMajorA>;
  using FragmentB = gpu::WmmaFragment<Element, gpu::WmmaUse::b, kColumnMajorB>;

  // Where a warp's part of the CTA tile begins.
  XGEMM_DEVICE static int warp_m(int warp) { return warp % (kTileM / kWarpM) * kWarpM; }
  XGEMM_DEVICE static int warp_n(int warp) { return warp / (kTileM / kWarpM) * kWarpN; }

  XGEMM_DEVICE static auto tile_a(Stage& stage) {
    return shared_view < kTileM, kTileK, kColumnMajorA ? 1 : kLdA, kColumnMajorA ? kLdA : 1 > (stage.a);
  }
  XGEMM_DEVICE static auto tile_b(Stage& stage) {
    return shared_view < kTileK, kTileN, kColumnMajorB ? 1 : kLdB, kColumnMajorB ? kLdB : 1 > (stage.b);
  }

  // A group of copies is committed for every slice, also for those beyond the last: the wait counts groups.
  template <class ViewA, class ViewB>
  XGEMM_DEVICE static void copy(const ViewA& a, const ViewB& b, std::int64_t row, std::int64_t col, std::int64_t k,
                                std::int64_t depth, Stage& stage) {
    if (k < depth) {
      TileLoaderA<kConfig>::copy_async(a.template block<kTileM, kTileK>(row, k), tile_a(stage));
      TileLoaderB<kConfig>::copy_async(b.template block<kTileK, kTileN>(k, col), tile_b(stage));
    }
    gpu::copy_async_commit();
  }

  template <class ViewA, class ViewB>
  XGEMM_DEVICE static void multiply(const ViewA& a, const ViewB& b, std::int64_t row, std::int64_t col,
                                    std::int64_t depth, SharedStorage& smem,
                                    Accumulator (&sums)[kWarpM / kFragment][kWarpN / kFragment]) {
    XGEMM_UNROLL
    for (int s = 0; s < kStages - 1; ++s) copy(a, b, row, col, std::int64_t{s} * kTileK, depth, smem.stage[s]);
    const int row_a = warp_m(gpu::warp_index()), col_b = warp_n(gpu::warp_index());
    int stage = 0, free_stage = kStages - 1;
    XGEMM_NO_UNROLL
    for (std::int64_t k0 = 0; k0 < depth; k0 += kTileK) {
      gpu::copy_async_wait<kStages - 2>();
      gpu::sync_threads();  // the slice is there, and the one before it is multiplied
      copy(a, b, row, col, k0 + (kStages - 1) * kTileK, depth, smem.stage[free_stage]);
      XGEMM_UNROLL
      for (int k = 0; k < kTileK; k += kFragment) {
        FragmentA fragments_a[kWarpM / kFragment];
        FragmentB fragments_b[kWarpN / kFragment];
        XGEMM_UNROLL
        for (int i = 0; i < kWarpM / kFragment; ++i)
          gpu::wmma_load(fragments_a[i], tile_a(smem.stage[stage]).address(row_a + i * kFragment, k), kLdA);
        XGEMM_UNROLL
        for (int j = 0; j < kWarpN / kFragment; ++j)
          gpu::wmma_load(fragments_b[j], tile_b(smem.stage[stage]).address(k, col_b + j * kFragment), kLdB);
        XGEMM_UNROLL
        for (int i = 0; i < kWarpM / kFragment; ++i) {
          XGEMM_UNROLL
          for (int j = 0; j < kWarpN / kFragment; ++j) gpu::wmma_multiply(sums[i][j], fragments_a[i], fragments_b[j]);
        }
      }
      free_stage = stage;
      stage = stage + 1 < kStages ? stage + 1 : 0;
    }
    gpu::copy_async_wait<0>();
  }

  // By fragment columns of the warp's part of C.
  template <class Output>
  XGEMM_DEVICE static void store(const Output& c, const Accumulator (&sums)[kWarpM / kFragment][kWarpN / kFragment],
                                 Sums& gathered) {
    const int lane = gpu::opaque(gpu::lane_index());
    constexpr int kVector = 4;
    const bool vectors = (reinterpret_cast<std::uintptr_t>(c.view().data()) |
                          static_cast<std::uintptr_t>(c.view().col_stride()) * sizeof(ElementC)) %
                             (kVector * sizeof(ElementC)) ==
                         0;
    XGEMM_UNROLL
    for (int j = 0; j < kWarpN / kFragment; ++j) {
      XGEMM_UNROLL
      for (int i = 0; i < kWarpM / kFragment; ++i)
        gpu::wmma_store<true>(gathered.data + i * kFragment, sums[i][j], kLdC);
      gpu::sync_warp();
      if (vectors) {
        store_columns<kVector>(c, gathered, j * kFragment, lane);
      } else {
        store_columns<1>(c, gathered, j * kFragment, lane);
      }
      gpu::sync_warp();
    }
  }

  template <int kWidth, class Output>
  XGEMM_DEVICE static void store_columns(const Output& c, Sums& gathered, int col, int lane) {
    const auto tile = shared_view<kWarpM, kFragment, 1, kLdC>(gathered.data);
    constexpr int kPerColumn = kWarpM / kWidth;
    XGEMM_NO_UNROLL
    for (int at = lane; at < kPerColumn * kFragment; at += gpu::kWarpSize) {
      const int i = at % kPerColumn * kWidth, j = at / kPerColumn;
      const gpu::Vector<float, kWidth> sum = tile.template load<kWidth>(i, j);
      c.template store<kWidth>(i, col + j, sum.data);
    }
  }
};

}  // namespace xgemm::kernels
