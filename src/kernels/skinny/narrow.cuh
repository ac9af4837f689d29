// The narrow products of skinny where k is long: a CTA has 64 rows, whose k its warps share, as the CTAs of a cluster
// may (exchange.cuh).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/skinny/exchange.cuh"
#include "kernels/skinny/instances.h"
#include "kernels/skinny/narrow_product.cuh"
#include "kernels/skinny/vector_units.cuh"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct Narrow {
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr VectorShape kShape = VectorShape::of(kConfig);
  static constexpr int kRows = kShape.rows, kWarps = kShape.warps, kTileK = kConfig.cta_k;
  static constexpr int kThreads = kWarps * gpu::kWarpSize;
  static constexpr int kMinBlocksPerSm = kShape.ctas_per_sm;
  static constexpr bool kStartsEarly = true;
  using Product = NarrowProduct<Element>;
  using Task = typename Product::Task;
  using Sums = typename Product::Sums;
  static constexpr int kColumns = Product::kColumns;
  static_assert(kRows == Product::kRows && kTileK % (kWarps * Product::kStep) == 0);

  // Sums: a line for each column, so much longer than its rows that the lines of a fragment lie in other banks.
  static constexpr int kLine = kRows + 4;
  using Columns = SharedArray<float, kColumns * kLine>;
  // Four rows of a column are exchanged at once.
  static constexpr int kEntries = kColumns * kRows / 4;
  using Exchange = VectorExchange<float, kEntries>;
  // A unit, in words that one access to shared memory has.
  struct UnitWords {
    static constexpr int kNumber = sizeof(Unit) / 16;
    gpu::Vector<float, 4> word[kNumber];
  };
  struct SharedStorage {
    Columns of_warps[kWarps];
    Columns of_all;
    UnitWords unit;
    typename Exchange::SharedStorage exchange;
  };

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    const auto units = static_cast<unsigned>(p.schedule.units), step = p.schedule.clusters;
    auto index = static_cast<unsigned>(gpu::block_x() >> sharer_bits(p));
    if (index >= units) return;
    Exchange exchange(p.schedule.cluster.k);
    XGEMM_NO_UNROLL
    for (; index < units; index += step) {
      XGEMM_NO_UNROLL
      for (int column = 0; column < kRows; column += kColumns) {
        const Task t = task_of(p, index, column, smem);
        if (t.columns <= 0) break;
        gpu::grid_wait_dependencies();
        Sums sums = {};
        const int k = Product::in_vectors(t) ? Product::template multiply<kWarps, 1>(t, gpu::warp_index(), sums) : 0;
        if (k < t.depth) Product::template multiply_rest<kWarps>(t, gpu::warp_index(), k, sums);
        finish(p, column, t, sums, smem, exchange);
      }
    }
  }

 private:
  XGEMM_DEVICE static Task task_of(const TileParams& p, unsigned index, int column, SharedStorage& smem) {
    Unit unit = vector_unit<kRows, kTileK>(p, index);
    // Kept there, and not in registers that loads need.
    if (gpu::thread_index() == 0) {
      const auto words = gpu::detail::bit_cast<UnitWords>(unit);
      for (int i = 0; i < UnitWords::kNumber; ++i) gpu::write<Space::shared>(&smem.unit.word[i], words.word[i]);
    }
    if (!Epilogue::make_early(p).has_product) unit.depth = 0;
    return Product::task_of(p, unit, 0, column, [&](const ConstMatrixArg& z) {
      return static_cast<const Element*>(z.data) + unit.batch * z.batch_stride;
    });
  }

  // Adds up what warps and CTAs have of the same rows, and stores it.
  XGEMM_DEVICE static void finish(const TileParams& p, int column, const Task& t, const Sums& sums, SharedStorage& smem,
                                  Exchange& exchange) {
    const int g = gpu::lane_index() / 4, q = gpu::lane_index() % 4;
    float* const fragment = smem.of_warps[gpu::warp_index()].data + 2 * q * kLine + g;
    XGEMM_UNROLL
    for (int i = 0; i < Product::kTiles; ++i) {
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e)
        gpu::write<Space::shared>(fragment + e % 2 * kLine + 16 * i + 8 * (e / 2), sums[i][e]);
    }
    gpu::sync_threads();
    const int sharers = p.schedule.cluster.k;
    const auto place = [](int element) { return element / kRows * kLine + element % kRows; };
    const auto sum_of_warps = [&](int at) {
      float sum = 0;
      XGEMM_UNROLL
      for (int w = 0; w < kWarps; ++w) sum += gpu::read<Space::shared>(smem.of_warps[w].data + at);
      return sum;
    };
    constexpr int kElements = kColumns * kRows;
    if (sharers > 1) {
      XGEMM_NO_UNROLL
      for (int i = gpu::thread_index(); i < kElements; i += kThreads)
        gpu::write<Space::shared>(smem.of_all.data + place(i), sum_of_warps(place(i)));
      gpu::sync_threads();
      const bool has_entry = gpu::thread_index() < kEntries;
      auto* const own = reinterpret_cast<typename Exchange::Entry*>(smem.of_all.data + place(4 * gpu::thread_index()));
      const auto all = exchange.run(smem.exchange, sharers, has_entry ? gpu::thread_index() : -1,
                                    has_entry ? gpu::read<Space::shared>(own) : typename Exchange::Entry{});
      if (has_entry) gpu::write<Space::shared>(own, all);
      gpu::sync_threads();
    }
    if (Exchange::stores(sharers)) {
      UnitWords words;
      for (int i = 0; i < UnitWords::kNumber; ++i) words.word[i] = gpu::read<Space::shared>(&smem.unit.word[i]);
      const auto unit = gpu::detail::bit_cast<Unit>(words);
      const bool along_rows = Product::lies_along_rows(t), columns_along_n = long_m(p);
      store_unit<kConfig, kRows, kRows>(Epilogue::make(p), p, unit, 0, 0, [&](const auto& c) {
        XGEMM_NO_UNROLL
        for (int i = gpu::thread_index(); i < t.columns * kRows; i += kThreads) {
          const float sum =
              sharers > 1 ? gpu::read<Space::shared>(smem.of_all.data + place(i)) : sum_of_warps(place(i));
          const int row = Product::row_of(along_rows, i % kRows), j = column + i / kRows;
          c.store(columns_along_n ? row : j, columns_along_n ? j : row, sum);
        }
      });
    }
    gpu::sync_threads();  // nobody writes what is read
  }
};

}  // namespace xgemm::kernels
