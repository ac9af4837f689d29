// The vectors of skinny where k is short, in fp32 and fp64 (narrow_rows.cuh has those of 16 bits): products of a matrix
// and a vector, many of them, as attention has them when it decodes. A warp has 32 rows of the matrix at once, so that
// enough bytes are on their way though each row is short; wide_rows.cuh has warps of hundreds, where X lies along them.
//
//   X along k: lanes share a row, 4 of them          X along its rows, or along neither axis and in elements: lanes
//                                                    lie across the rows, and what lanes there are more share k
//         k                                                k: 0    1    ...
//        +--------+--------+--------+--------+           +---------+---------+-----
//   row 0| lane 0 | lane 1 | lane 2 | lane 3 | lane 0..  | lane 0  | lane 8  |
//   row 1| lane 4 |  ...   |        |        |           | lane 1  |  ...    |
//        +--------+--------+--------+--------+           | ...     |         |
//
// Lanes that share rows add their sums by shuffles, after which each of the 32 lanes has that of one row. Nothing is in
// shared memory, and no warp waits for another. X and y are as in vector.cuh; rows are of vectors of 16 bytes, or of
// elements where these start anywhere.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/skinny/instances.h"
#include "kernels/skinny/shuffle_words.cuh"
#include "kernels/skinny/vector_units.cuh"

namespace xgemm::kernels {

// kFollows: the matrices of a batch are found by pointers. As a choice at run time that costs registers.
template <TileConfig kConfig, class Epilogue, bool kFollows>
struct ShortRows {
  using ByPointers = ShortRows<kConfig, Epilogue, true>;
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  using Sum = typename Epilogue::Sum;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr VectorShape kShape = VectorShape::of(kConfig);
  static constexpr int kWarpRows = gpu::kWarpSize;
  static constexpr int kRows = kShape.rows, kTileK = kConfig.cta_k;
  static constexpr int kThreads = kShape.warps * gpu::kWarpSize;
  static constexpr int kMinBlocksPerSm = kShape.ctas_per_sm - (kFollows ? 1 : 0);  // else it has too few registers
  static constexpr bool kStartsEarly = true;
  static constexpr int kWords = sizeof(Sum) / 4;  // registers of a sum
  static constexpr int kVector = 16 / static_cast<int>(sizeof(Element));
  static_assert(kRows == kShape.warps * kWarpRows && kConfig.cta_m == kRows && kConfig.cta_n == kRows);
  using SharedStorage = NoSharedStorage;

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage&) {
    gpu::grid_launch_dependents();
    gpu::grid_wait_dependencies();
    const Epilogue epilogue = Epilogue::make(p);
    XGEMM_NO_UNROLL
    for (std::int64_t index = gpu::block_x(); index < p.schedule.units; index += gpu::grid_x()) {
      Task task = task_of(p, index);
      if (!epilogue.has_product) task.depth = 0;
      XGEMM_NO_UNROLL
      for (int j = 0; j < task.vectors; ++j, task.y += task.y_step) {
        int row = 0;
        const Sum sum = row_sum(task, row);
        // Worked out again, and not kept in registers that loads need.
        const Unit unit = unit_at_32<kRows, kRows, kTileK>(p, static_cast<unsigned>(gpu::opaque(index)));
        const int i = static_cast<int>(gpu::warp_index()) * kWarpRows + row;
        store_unit<kConfig, kRows, kRows, kFollows>(
            epilogue, p, unit, 0, 0, [&](const auto& c) { c.store(long_m(p) ? i : j, long_m(p) ? j : i, sum); });
      }
    }
  }

 private:
  XGEMM_DEVICE static const Element* matrix(const ConstMatrixArg& x, std::int64_t batch) {
    if constexpr (kFollows) return entry_of<const Element>(x, batch);
    return static_cast<const Element*>(x.data) + batch * x.batch_stride;
  }

  // A warp's rows of X, and y.
  struct Task {
    const Element* x;  // the first row
    const Element* y;  // the next vector
    std::int64_t row_stride, k_stride, y_stride, y_step, depth;
    int rows, vectors;
  };
  XGEMM_DEVICE static Task task_of(const TileParams& p, std::int64_t index) {
    const Unit unit = unit_at_32<kRows, kRows, kTileK>(p, static_cast<unsigned>(index));
    // Both operands as lines along k.
    const ConstMatrixArg b = p.b.transposed();
    const ConstMatrixArg x = long_m(p) ? p.a : b, y = long_m(p) ? b : p.a;
    const std::int64_t first = (long_m(p) ? unit.row : unit.col) + gpu::warp_index() * kWarpRows;
    const std::int64_t vector = long_m(p) ? unit.col : unit.row;
    const std::int64_t left = (long_m(p) ? p.m : p.n) - first, vectors = vectors_of(p) - vector;
    const auto line = [&](const ConstMatrixArg& z, std::int64_t i) {
      return matrix(z, unit.batch) + i * z.row_stride + unit.k * z.col_stride;
    };
    return {line(x, first),
            line(y, vector),
            x.row_stride,
            x.col_stride,
            y.col_stride,
            y.row_stride,
            unit.depth,
            static_cast<int>(left < kWarpRows ? left : kWarpRows),
            static_cast<int>(left <= 0         ? 0
                             : vectors < kRows ? vectors
                                               : kRows)};
  }

  XGEMM_DEVICE static bool on_vectors(const Element* at, std::int64_t step, std::int64_t length) {
    return reinterpret_cast<std::uintptr_t>(at) % 16 == 0 && step % kVector == 0 && length % kVector == 0;
  }

  // The sum of a row, which this lane is told the number of.
  XGEMM_DEVICE static Sum row_sum(const Task& t, int& row) {
    if (t.k_stride == 1) {
      if (t.y_stride == 1 && on_vectors(t.x, t.row_stride, t.depth) && on_vectors(t.y, 0, 0))
        return along_k<kVector>(t, row);
      return along_k<1>(t, row);
    }
    if (t.row_stride == 1 && on_vectors(t.x, t.k_stride, t.rows)) return along_rows<kVector>(t, row);
    return along_rows<1>(t, row);
  }

  template <int kWidth>
  XGEMM_DEVICE static gpu::Vector<Element, kWidth> read_or_zero(const Element* from, bool inside) {
    return gpu::read_line_or_zero(reinterpret_cast<const gpu::Vector<Element, kWidth>*>(from), inside);
  }

  template <int kWidth>
  XGEMM_DEVICE static Sum along_k(const Task& t, int& row) {
    constexpr int kLanes = 4;                         // of a row
    constexpr int kGroups = gpu::kWarpSize / kLanes;  // rows at a time; kLanes times as many are all
    constexpr int kStep = kLanes * kWidth, kAtOnce = (kWidth == 1 ? 4 : 2) / kWords;
    const int lane = gpu::lane_index() % kLanes, group = gpu::lane_index() / kLanes;
    Sum sums[kLanes] = {};
    const Element* x = t.x + group * t.row_stride + lane * kWidth;
    const Element* y = t.y + lane * kWidth * t.y_stride;
    XGEMM_NO_UNROLL
    for (std::int64_t left = t.depth - lane * kWidth; left > 0; left -= kAtOnce * kStep) {
      gpu::Vector<Element, kWidth> of_x[kAtOnce][kLanes], of_y[kAtOnce];
      const Element* from = x;
      XGEMM_UNROLL
      for (int r = 0; r < kLanes; ++r, from += gpu::opaque(kGroups * t.row_stride)) {  // no pointer for each
        XGEMM_UNROLL
        for (int u = 0; u < kAtOnce; ++u)
          of_x[u][r] = read_or_zero<kWidth>(from + u * kStep, u * kStep < left && r * kGroups + group < t.rows);
      }
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u) of_y[u] = read_or_zero<kWidth>(y + u * kStep * t.y_stride, u * kStep < left);
      x += kAtOnce * kStep;
      y += kAtOnce * kStep * t.y_stride;
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        XGEMM_UNROLL
        for (int e = 0; e < kWidth; ++e) {
          const Sum factor = gpu::to_sum<Element>(of_y[u][e]);
          XGEMM_UNROLL
          for (int r = 0; r < kLanes; ++r) sums[r] = gpu::fma(gpu::to_sum<Element>(of_x[u][r][e]), factor, sums[r]);
        }
      }
    }
    XGEMM_UNROLL
    for (int distance = 1; distance < kLanes; distance *= 2) add_across(sums, distance);
    row = lane * kGroups + group;
    return chosen(sums, lane);
  }

  // A lane sums for kWidth rows every kShares-th k; there are as many shares as rows of a lane.
  template <int kWidth>
  XGEMM_DEVICE static Sum along_rows(const Task& t, int& row) {
    constexpr int kAcross = gpu::kWarpSize / kWidth, kShares = kWidth, kAtOnce = (kWidth == 1 ? 16 : 8) / kWords;
    const int across = gpu::lane_index() % kAcross * kWidth, share = gpu::lane_index() / kAcross;
    const bool inside = across < t.rows;
    Sum sums[kWidth] = {};
    const Element* x = t.x + across * t.row_stride + share * t.k_stride;
    const Element* y = t.y + share * t.y_stride;
    XGEMM_NO_UNROLL
    for (std::int64_t left = t.depth - share; left > 0; left -= kAtOnce * kShares) {
      gpu::Vector<Element, kWidth> of_x[kAtOnce];
      gpu::Vector<Element, 1> of_y[kAtOnce];
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        of_x[u] = read_or_zero<kWidth>(x, inside && u * kShares < left);
        of_y[u] = read_or_zero<1>(y, u * kShares < left);
        x += gpu::opaque(kShares * t.k_stride);
        y += gpu::opaque(kShares * t.y_stride);
      }
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        const Sum factor = gpu::to_sum<Element>(of_y[u][0]);
        XGEMM_UNROLL
        for (int e = 0; e < kWidth; ++e) sums[e] = gpu::fma(gpu::to_sum<Element>(of_x[u][e]), factor, sums[e]);
      }
    }
    XGEMM_UNROLL
    for (int distance = kAcross; distance < gpu::kWarpSize; distance *= 2) add_across(sums, distance);
    row = across + share;
    return chosen(sums, share);
  }

  template <int kNumber>
  XGEMM_DEVICE static void add_across(Sum (&sums)[kNumber], int distance) {
    XGEMM_UNROLL
    for (int i = 0; i < kNumber; ++i) sums[i] += across_lanes(sums[i], distance);
  }
  // sums[i], of registers.
  template <int kNumber>
  XGEMM_DEVICE static Sum chosen(const Sum (&sums)[kNumber], int i) {
    Sum x = sums[0];
    XGEMM_UNROLL
    for (int j = 1; j < kNumber; ++j) x = i == j ? sums[j] : x;
    return x;
  }
};

}  // namespace xgemm::kernels
