// The vectors of skinny where k is short and X lies along its rows: products of a matrix and a vector, many of them, as
// attention has them when it decodes. A warp brings half a kilobyte of one k after the other, and adds nothing across
// lanes or warps:
//
//               k: 0       1      ...
//               +-------+-------+-----
//   lane 0      |       :       |      -- 16 bytes; rows may start in it
//   lane 1      |       |       |
//   ...         |       |       |
//   lane 31     |       :       |      -- 16 bytes, where the last rows may end
//               +-------+-------+-----
//
// Rows start anywhere: lanes bring the vectors that enclose them, and cut theirs out of their own and the next lane's.
// Where nothing lies before or after a tile's rows, the first and the last ones come in elements, each to a lane of its
// own. Sums leave through shared memory, row by row.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/skinny/cut_out.cuh"
#include "kernels/skinny/instances.h"
#include "kernels/skinny/shuffle_words.cuh"
#include "kernels/skinny/vector_units.cuh"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue>
struct WideRows {
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  using Sum = typename Epilogue::Sum;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr VectorShape kShape = VectorShape::of(kConfig);
  static constexpr int kRows = kShape.rows, kTileK = kConfig.cta_k;
  static constexpr int kWarps = kShape.warps, kThreads = kWarps * gpu::kWarpSize;
  static constexpr int kMinBlocksPerSm = kShape.ctas_per_sm;
  static constexpr bool kStartsEarly = true;
  static constexpr int kVector = 16 / static_cast<int>(sizeof(Element));
  static_assert(kRows == (gpu::kWarpSize - 1) * kVector && kConfig.cta_m == kRows && kConfig.cta_n == kRows);

  // A warp's sums: an array for each element of the lanes' vectors, which lie so that neither lanes that write nor rows
  // that are read meet in a bank.
  static constexpr int kOfElement = gpu::kWarpSize + gpu::kWarpSize / kVector;
  struct SharedStorage {
    SharedArray<Sum, kVector * kOfElement> sums[kWarps];
  };

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    const auto vectors = static_cast<unsigned>(VectorShape::tasks_of_tile(vectors_of(p), kRows));
    const auto tasks = static_cast<unsigned>(p.schedule.units) * vectors, ctas = static_cast<unsigned>(gpu::grid_x());
    const std::int64_t rows = long_m(p) ? p.m : p.n;
    const int bits = VectorShape::sharer_bits((rows + kRows - 1) / kRows * vectors_of(p) * p.batch_count, p.k);
    const int sharers = 1 << bits, groups = kWarps >> bits;
    const int warp = gpu::warp_index(), share = warp & (sharers - 1);
    XGEMM_NO_UNROLL
    for (auto first = static_cast<unsigned>(gpu::block_x()); first < tasks; first += groups * ctas) {
      const unsigned i = first + (warp >> bits) * ctas;
      const bool has_task = i < tasks;
      const unsigned tile = !has_task ? 0 : vectors == 1 ? i : i / vectors;
      const int vector = static_cast<int>(i - tile * vectors);
      const Unit unit = vector_unit<kRows, kTileK>(p, tile);
      Task task = task_of(p, unit, vector);
      if (!has_task) task.rows = 0;
      if (!has_task || !Epilogue::make_early(p).has_product) task.depth = 0;
      gpu::grid_wait_dependencies();
      add_products(task.share_of(share, bits), smem.sums[warp].data);
      sharers > 1 ? gpu::sync_threads() : gpu::sync_warp();
      const Epilogue epilogue = Epilogue::make(p);
      XGEMM_NO_UNROLL
      for (int row = share * gpu::kWarpSize + gpu::lane_index(); row < task.rows; row += sharers * gpu::kWarpSize) {
        const auto sum_of = [&](int of) {
          return gpu::read<Space::shared>(smem.sums[warp - share + of].data + place_of(row));
        };
        Sum sum = sum_of(0);
        XGEMM_NO_UNROLL
        for (int of = 1; of < sharers; ++of) sum += sum_of(of);
        store_unit<kConfig, kRows, kRows>(epilogue, p, unit, 0, 0, [&](const auto& c) {
          c.store(long_m(p) ? row : vector, long_m(p) ? vector : row, sum);
        });
      }
      sharers > 1 ? gpu::sync_threads() : gpu::sync_warp();
    }
  }

 private:
  XGEMM_DEVICE static const Element* matrix(const ConstMatrixArg& x, std::int64_t batch) {
    return static_cast<const Element*>(x.data) + batch * x.batch_stride;
  }

  // A tile's rows of X times one of its vectors. Strides are those along k, but for row_stride.
  struct Task {
    const Element* x;
    const Element* y;
    std::int64_t row_stride, x_stride, y_stride, depth;
    int rows;             // of the tile; none where it has no such vector
    bool has_neighbours;  // a vector of 16 bytes of rows before the tile, and after it

    // Every so many k.
    XGEMM_DEVICE Task share_of(int share, int bits) const {
      Task task = *this;
      task.x += share * x_stride, task.y += share * y_stride;
      task.x_stride <<= bits, task.y_stride <<= bits;
      task.depth = (depth - share + (1 << bits) - 1) >> bits;
      return task;
    }
  };
  XGEMM_DEVICE static Task task_of(const TileParams& p, const Unit& unit, int vector) {
    const ConstMatrixArg b = p.b.transposed();
    const ConstMatrixArg x = long_m(p) ? p.a : b, y = long_m(p) ? b : p.a;
    const std::int64_t first = long_m(p) ? unit.row : unit.col, line = (long_m(p) ? unit.col : unit.row) + vector;
    const std::int64_t left = line < vectors_of(p) ? (long_m(p) ? p.m : p.n) - first : 0;
    return {matrix(x, unit.batch) + first * x.row_stride + unit.k * x.col_stride,
            matrix(y, unit.batch) + line * y.row_stride + unit.k * y.col_stride,
            x.row_stride,
            x.col_stride,
            y.col_stride,
            left > 0 ? unit.depth : 0,
            static_cast<int>(left < kRows ? left : kRows),
            first > 0 && left >= kRows + kVector};
  }

  XGEMM_DEVICE static void add_products(const Task& t, Sum* sums) {
    t.row_stride == 1 ? add_products<true>(t, sums) : add_products<false>(t, sums);
  }

  // kInVectors: else rows are not side by side, and come in elements.
  template <bool kInVectors>
  XGEMM_DEVICE static void add_products(const Task& t, Sum* of_warp) {
    constexpr int kAtOnce = kInVectors ? kShape.at_once(sizeof(Element), kVector) : 1;
    const int lane = gpu::lane_index();
    const bool on_vectors = (t.rows | t.x_stride) % kVector == 0 && off_16_bytes(t.x) == 0;
    // At an edge the first rows, a vector of them, and the last ones, less than two, have a lane each: vectors that
    // enclose those between are whole, wherever a k starts.
    const bool at_edge = kInVectors && !on_vectors && !t.has_neighbours;
    const int last = t.rows > 2 * kVector ? (t.rows - kVector + 1) / kVector * kVector : kVector;
    const int row = lane < kVector ? lane : last + lane - kVector;
    const bool has_row = at_edge && row < t.rows;
    const int end = t.rows + (t.has_neighbours && !on_vectors ? kVector : 0);  // of the vectors to read

    const Element* x = t.x;
    const Element* y = t.y + lane * t.y_stride;  // a lane brings one of a round's
    Sum sums[kVector] = {}, sum{};
    XGEMM_NO_UNROLL
    for (std::int64_t left = t.depth; left > 0; left -= kAtOnce) {
      const int inside = static_cast<int>(left < kAtOnce ? left : kAtOnce);
      gpu::Vector<Element, kVector> of_x[kAtOnce];
      gpu::Vector<Element, 1> of_row[kAtOnce];
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        const Element* const of_k = x + u * t.x_stride;
        if constexpr (kInVectors) {
          const int first = lane * kVector - off_16_bytes(of_k);
          of_x[u] =
              read_or_zero<kVector>(of_k + first, u < inside && (first >= 0 || !at_edge) && first + kVector <= end);
          of_row[u] = read_or_zero<1>(of_k + row, u < inside && has_row);
        } else {
          XGEMM_UNROLL
          for (int e = 0; e < kVector; ++e) {
            const int i = lane * kVector + e;
            of_x[u][e] = read_or_zero<1>(of_k + i * t.row_stride, u < inside && i < t.rows)[0];
          }
        }
      }
      const Sum of_y = gpu::to_sum<Element>(read_or_zero<1>(y, lane < inside)[0]);
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        const Sum factor = shuffle_words(of_y, [&](auto word) { return gpu::shuffle(word, u); });
        if constexpr (kInVectors) {
          if (!on_vectors) {
            const auto next =
                shuffle_words(of_x[u], [&](auto word) { return gpu::shuffle(word, (lane + 1) % gpu::kWarpSize); });
            of_x[u] = cut_out(of_x[u], next, off_16_bytes(x + u * t.x_stride));
            sum = gpu::fma(gpu::to_sum<Element>(of_row[u][0]), factor, sum);
          }
        }
        XGEMM_UNROLL
        for (int e = 0; e < kVector; ++e) sums[e] = gpu::fma(gpu::to_sum<Element>(of_x[u][e]), factor, sums[e]);
      }
      x += kAtOnce * t.x_stride, y += kAtOnce * t.y_stride;
    }
    if (!at_edge || (lane > 0 && (lane + 1) * kVector <= last)) {
      XGEMM_UNROLL
      for (int e = 0; e < kVector; ++e) gpu::write<Space::shared>(of_warp + e * kOfElement + lane, sums[e]);
    }
    if (has_row) gpu::write<Space::shared>(of_warp + place_of(row), sum);
  }

  // Of a row's sum.
  XGEMM_DEVICE static int place_of(int row) { return row % kVector * kOfElement + row / kVector; }

  // Elements from 16 bytes on.
  XGEMM_DEVICE static int off_16_bytes(const Element* at) {
    return static_cast<int>(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at)) % 16 / sizeof(Element));
  }

  template <int kWidth>
  XGEMM_DEVICE static gpu::Vector<Element, kWidth> read_or_zero(const Element* from, bool inside) {
    return gpu::read_line_or_zero(reinterpret_cast<const gpu::Vector<Element, kWidth>*>(from), inside);
  }
};

}  // namespace xgemm::kernels
