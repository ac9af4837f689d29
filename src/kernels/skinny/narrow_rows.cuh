// The narrow products of skinny where k is short, many of them, as attention has them when it decodes: each warp has 64
// rows of the matrix to itself. Nothing is in shared memory, and no warp waits for another.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/skinny/instances.h"
#include "kernels/skinny/narrow_product.cuh"
#include "kernels/skinny/vector_units.cuh"

namespace xgemm::kernels {

// kFollows: the matrices of a batch are found by pointers.
template <TileConfig kConfig, class Epilogue, bool kFollows>
struct NarrowRows {
  using ByPointers = NarrowRows<kConfig, Epilogue, true>;
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr VectorShape kShape = VectorShape::of(kConfig);
  static constexpr int kRows = kShape.rows, kTileK = kConfig.cta_k;
  static constexpr int kThreads = kShape.warps * gpu::kWarpSize;
  static constexpr int kMinBlocksPerSm = kShape.ctas_per_sm;
  static constexpr bool kStartsEarly = true;
  using Product = NarrowProduct<Element>;
  using Task = typename Product::Task;
  using Sums = typename Product::Sums;
  static_assert(kRows == kShape.warps * Product::kRows && kConfig.cta_m == kRows && kConfig.cta_n == kRows);
  using SharedStorage = NoSharedStorage;

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage&) {
    gpu::grid_launch_dependents();
    if constexpr (kFollows) gpu::grid_wait_dependencies();  // pointers are read at once
    const auto units = static_cast<unsigned>(p.schedule.units), step = static_cast<unsigned>(gpu::grid_x());
    XGEMM_NO_UNROLL
    for (auto index = static_cast<unsigned>(gpu::block_x()); index < units; index += step) {
      XGEMM_NO_UNROLL
      for (int column = 0; column < kRows; column += Product::kColumns) {
        const Task t = task_of(p, index, column);
        if (t.columns <= 0 || t.rows <= 0) break;
        gpu::grid_wait_dependencies();
        Sums sums = {};
        const int k = Product::in_vectors(t) ? Product::template multiply<1, 2>(t, 0, sums) : 0;
        // Worked out again, and not kept in registers that loads need.
        const auto again = static_cast<unsigned>(gpu::opaque(static_cast<int>(index)));
        if (k < t.depth) Product::template multiply_rest<1>(task_of(p, again, column), 0, k, sums);
        store(p, again, column, sums);
      }
    }
  }

 private:
  XGEMM_DEVICE static int first_row() { return gpu::warp_index() * Product::kRows; }

  XGEMM_DEVICE static Task task_of(const TileParams& p, unsigned index, int column) {
    Unit unit = vector_unit<kRows, kTileK>(p, index);
    if (!Epilogue::make_early(p).has_product) unit.depth = 0;
    return Product::task_of(p, unit, first_row(), column, [&](const ConstMatrixArg& z) {
      if constexpr (kFollows) return entry_of<const Element>(z, unit.batch);
      return static_cast<const Element*>(z.data) + unit.batch * z.batch_stride;
    });
  }

  struct At {
    int i, j;
  };
  struct Single {
    float sum;
    XGEMM_DEVICE float operator[](int) const { return sum; }
  };
  // Of each column, which some lanes have, all store two rows of those that fragments have in their order.
  XGEMM_DEVICE static void store(const TileParams& p, unsigned index, int column, const Sums& sums) {
    const Unit unit = vector_unit<kRows, kTileK>(p, index);
    const Task t = task_of(p, index, column);
    const bool along_rows = Product::lies_along_rows(t);
    const int lane = gpu::lane_index();
    store_unit<kConfig, kRows, kRows, kFollows>(Epilogue::make(p), p, unit, 0, 0, [&](const auto& c) {
      XGEMM_NO_UNROLL
      for (int j = 0; j < t.columns; ++j) {
        const auto at = [&](int half) {
          const int row = first_row() + Product::row_of(along_rows, 32 * half + lane), vector = column + j;
          return long_m(p) ? At{row, vector} : At{vector, row};
        };
        const auto sum = [&](int half) { return Single{column_sum(sums, half, j)}; };
        c.template store<1, 2, 2>(at, sum);
      }
    });
  }

  // Of the 64 rows in the order of fragments, that of row 32 * half + lane.
  XGEMM_DEVICE static float column_sum(const Sums& sums, int half, int j) {
    const int lane = gpu::lane_index();
    float sum = 0;
    XGEMM_UNROLL
    for (int i = 0; i < 4; ++i) {
      const auto& of_tile = sums[2 * half + i / 2];
      const float own = j % 2 == 0 ? of_tile[i % 2 * 2] : of_tile[i % 2 * 2 + 1];
      const float its = gpu::shuffle(own, lane % 8 * 4 + j / 2);
      sum = i == lane / 8 ? its : sum;
    }
    return sum;
  }
};

}  // namespace xgemm::kernels
