// The vectors of skinny: products of a matrix and a vector (GEMV), of any type. Nothing is used twice but the vector,
// which the L1 holds, so that warps need neither shared memory for it nor a barrier: what counts is how many bytes of
// the matrix are on their way.
//
// The kernel computes d = X y for each column of C, with X = op(A), or for each row where these are fewer, with X the
// transpose of op(B). Each y is a task of its own: few rows give work to few CTAs, and other CTAs' y read X from L2.
//
//   an instance for an X along k, or along neither     two for an X along its rows: 8 lanes across them, or 4 or
//   axis: a warp for each row                          16, and all others of the CTA share k, of 8 warps or of 32, the
//                                                      latter of fp32 and fp64
//
//          k                                              k: 0    1    ...
//        +-----------------------+                      +--------+--------+-----
//   warp | lane 0 | lane 1 | ... |                      | lane 0 | lane 8 |
//        +-----------------------+                      | lane 1 |  ...   |
//   warp | ...                                          | ...    |        |
//
// Operands that lie otherwise come element by element, and those off 16 bytes, but for rows of an X along k: they come
// in vectors from their first aligned element on, and what of y belongs to a vector is cut out of two of y's. A y that
// is not contiguous, or off 16 bytes, is put together in shared memory for them.
//
// Where rows are few, CTAs of a cluster share K (exchange.cuh). Where they are many and short, in fp32, a CTA has
// task after task, and warps two rows at once. Eight columns of 16 bits narrow.cuh multiplies at once.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/kernel.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/skinny/cut_out.cuh"
#include "kernels/skinny/exchange.cuh"
#include "kernels/skinny/instances.h"
#include "kernels/skinny/shuffle_words.cuh"
#include "kernels/skinny/vector_units.cuh"

namespace xgemm::kernels {

// kFollows: the matrices of a batch are found by pointers. As a choice at run time that costs registers, of which it
// has more in fewer CTAs.
template <TileConfig kConfig, class Epilogue, bool kFollows>
struct MatrixVector {
  static constexpr VectorShape kShape = VectorShape::of(kConfig);
  // The one whose threads take all registers of an SM has no twin.
  using ByPointers = std::conditional_t<kShape.ctas_per_sm == 1, MatrixVector, MatrixVector<kConfig, Epilogue, true>>;
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  using Sum = typename Epilogue::Sum;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr bool kAlongK = kShape.kind == VectorShape::Kind::row_of_warp;
  static constexpr int kRows = kShape.rows, kWarps = kShape.warps;
  static constexpr bool kPairs = !kFollows && kShape.pairs_rows(sizeof(Element), 0);
  static constexpr bool kWarpPerRow = kWarps == kRows;  // a warp stores a row's sum; else the first one, all rows'
  static constexpr int kTileK = kConfig.cta_k;
  static constexpr int kThreads = kWarps * gpu::kWarpSize;
  static constexpr int kMinBlocksPerSm = kShape.ctas_per_sm - (kFollows ? 1 : 0);
  static constexpr bool kStartsEarly = true;
  static constexpr int kVector = 16 / static_cast<int>(sizeof(Element));
  static_assert(kConfig.cta_m == kRows && kConfig.cta_n == kRows, "a tile is long along m or along n");

  static constexpr int kGathered = VectorShape::kGathered;

  static constexpr int at_once(int width) { return kShape.at_once(sizeof(Element), width); }

  // Of warps that share k: a line for each, so much longer than its rows that reads across the lines meet all banks.
  static constexpr int kSumLine = kRows + 1;
  using Exchange = VectorExchange<Sum, kRows>;
  struct SharedStorage {
    SharedArray<Sum, kAlongK ? 1 : kWarps * kSumLine> sums;
    SharedArray<Element, kAlongK ? kGathered : 1> y;
    typename Exchange::SharedStorage exchange;
  };

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    // Where a warp has a row this costs more registers than it saves time.
    if constexpr (kFollows && !kAlongK) prefetch_pointers<kThreads>(p.batch_count, gpu::thread_index(), p.c, p.a, p.b);
    if constexpr (kPairs) {
      if (takes_pairs(p)) return run_pairs(p);
    }
    // The first task is worked out while the kernel before ends.
    if (Place(p, 0).tile >= p.schedule.units) return;
    Exchange exchange(p.schedule.cluster.k);
    if constexpr (kFollows) gpu::grid_wait_dependencies();
    Task task = task_of(p, Place(p, 0));
    task.depth = gpu::opaque(task.depth), task.rows = gpu::opaque(task.rows);
    gpu::grid_wait_dependencies();
    for (int turn = 0;;) {
      if (!Epilogue::make(p).has_product) task.depth = 0;
      Sum sum = row_sum(task, smem);
      if (const int sharers = p.schedule.cluster.k; sharers > 1)
        sum = exchange.run(smem.exchange, sharers, has_sum() ? own_row() : -1, {{sum}})[0];
      if (has_sum() && Exchange::stores(p.schedule.cluster.k)) store(p, Place(p, gpu::opaque(turn)), sum);
      const Place next(p, ++turn);
      if (next.tile >= p.schedule.units) return;
      task = task_of(p, next);
    }
  }

 private:
  // Two tasks in each round, of rows that half of a round's loads bring.
  XGEMM_DEVICE static void run_pairs(const TileParams& p) {
    constexpr int kLoads = VectorShape::kLoadsOfPair, kStep = gpu::kWarpSize * kVector;
    gpu::grid_wait_dependencies();
    XGEMM_NO_UNROLL
    for (int turn = 0; Place(p, turn).tile < p.schedule.units; turn += 2) {
      const Element *x[2], *y[2];
      int inside[2];
      XGEMM_UNROLL
      for (int r = 0; r < 2; ++r) {
        Place at(p, turn + r);
        const bool in_turn = at.tile < p.schedule.units;
        if (!in_turn) at.tile = 0;  // any that there is
        const Task task = task_of(p, at);
        const int k = gpu::lane_index() * kVector;
        const bool is_there = in_turn && gpu::warp_index() < task.rows;
        x[r] = task.x + k, y[r] = task.y + k;
        inside[r] = is_there && Epilogue::make(p).has_product ? static_cast<int>(task.depth) - k : 0;
      }
      gpu::Vector<Element, kVector> of_x[2][kLoads];
      XGEMM_UNROLL
      for (int r = 0; r < 2; ++r) {
        XGEMM_UNROLL
        for (int u = 0; u < kLoads; ++u) of_x[r][u] = read_or_zero<kVector>(x[r] + u * kStep, u * kStep < inside[r]);
      }
      Sum of_rows[2];
      XGEMM_UNROLL
      for (int r = 0; r < 2; ++r) {
        Sum sums[kVector] = {};
        XGEMM_UNROLL
        for (int u = 0; u < kLoads; ++u) {
          gpu::keep_order();  // else all of y would be on its way at once, and take registers
          add_products(of_x[r][u], read_or_zero<kVector>(y[r] + u * kStep, u * kStep < inside[r]), sums);
        }
        XGEMM_UNROLL
        for (int e = 1; e < kVector; ++e) sums[0] += sums[e];
        of_rows[r] = sums[0];
      }
      XGEMM_UNROLL
      for (int r = 0; r < 2; ++r) {
        of_rows[r] = sum_over_lanes(of_rows[r]);
        const Place at(p, gpu::opaque(turn) + r);
        if (has_sum() && at.tile < p.schedule.units) store(p, at, of_rows[r]);
      }
    }
  }

  // Which tile, and which vector of it, a CTA has in which turn. Worked out again where it is needed, and not kept in
  // registers that loads need.
  struct Place {
    unsigned tile;
    int vector;

    XGEMM_DEVICE Place(const TileParams& p, int turn) {
      const auto tasks = static_cast<unsigned>(VectorShape::tasks_of_tile(gpu::opaque(vectors_of(p)), kRows));
      const auto of_ctas = [&](std::int64_t ctas) { return static_cast<unsigned>(ctas >> sharer_bits(p)); };
      const unsigned task = of_ctas(gpu::block_x()) + static_cast<unsigned>(turn) * of_ctas(gpu::grid_x());
      tile = tasks == 1 ? task : task / tasks;
      vector = static_cast<int>(task - tile * tasks);
    }
  };

  XGEMM_DEVICE static const Element* matrix(const ConstMatrixArg& x, std::int64_t batch) {
    if constexpr (kFollows) return entry_of<const Element>(x, batch);
    return static_cast<const Element*>(x.data) + batch * x.batch_stride;
  }

  // A thread has the sum of one row, or of none.
  XGEMM_DEVICE static int own_row() { return kWarpPerRow ? gpu::warp_index() : gpu::lane_index(); }
  XGEMM_DEVICE static bool has_sum() { return (kWarpPerRow ? gpu::lane_index() : gpu::warp_index()) == 0; }

  // The sum of a thread's row.
  XGEMM_DEVICE static void store(const TileParams& p, const Place& at, Sum sum) {
    const Epilogue epilogue = Epilogue::make(p);
    const Unit unit = vector_unit<kRows, kTileK>(p, at.tile);
    store_unit<kConfig, kRows, kRows, kFollows>(epilogue, p, unit, 0, 0, [&](const auto& c) {
      c.store(long_m(p) ? own_row() : at.vector, long_m(p) ? at.vector : own_row(), sum);
    });
  }

  // A tile's rows of X times one of its vectors. Strides are those along k.
  struct Task {
    const Element* x;  // this warp's row; of instances that share k, the tile's first one
    const Element* y;
    std::int64_t x_row_stride;  // of instances that share k
    std::int64_t x_stride, y_stride, depth;
    int rows;  // of the tile; 0 where it has no such vector
  };
  XGEMM_DEVICE static Task task_of(const TileParams& p, const Place& at) {
    const Unit unit = vector_unit<kRows, kTileK>(p, at.tile);
    const ConstMatrixArg b = p.b.transposed();
    const ConstMatrixArg x = long_m(p) ? p.a : b, y = long_m(p) ? b : p.a;
    const std::int64_t first = (long_m(p) ? unit.row : unit.col), line = (long_m(p) ? unit.col : unit.row) + at.vector;
    const std::int64_t left = vectors_of(p) - line, rows = left > 0 ? (long_m(p) ? p.m : p.n) - first : 0;
    const std::int64_t row = first + (kAlongK ? gpu::warp_index() : 0);
    return {matrix(x, unit.batch) + row * x.row_stride + unit.k * x.col_stride,
            matrix(y, unit.batch) + line * y.row_stride + unit.k * y.col_stride,
            x.row_stride,
            x.col_stride,
            y.col_stride,
            rows > 0 ? unit.depth : 0,
            static_cast<int>(rows < kRows ? rows : kRows)};
  }

  // Whether warps have two rows at once: short ones of whole vectors, as all y are, where a CTA has several tasks.
  XGEMM_DEVICE static bool takes_pairs(const TileParams& p) {
    const auto in_vectors = [](const ConstMatrixArg& z) {
      return z.col_stride == 1 && (z.row_stride | z.batch_stride) % kVector == 0 &&
             address(static_cast<const Element*>(z.data)) % 16 == 0;
    };
    constexpr VectorShape shape = kShape;  // which has no place in device code
    return p.schedule.cluster.k == 1 && Place(p, 1).tile < p.schedule.units && shape.pairs_rows(sizeof(Element), p.k) &&
           in_vectors(p.a) && in_vectors(p.b.transposed());
  }

  // The sum of this warp's row, in its first lane; of warps that are fewer, in the first one, that of a lane's row.
  XGEMM_DEVICE static Sum row_sum(const Task& t, SharedStorage& smem) {
    if constexpr (kAlongK) {
      const bool starts = t.y_stride == 1 && address(t.y) % 16 == 0;
      const bool in_vectors = t.x_stride == 1 && t.depth >= 2 * kVector;
      if (in_vectors && !starts) return sum_over_lanes(with_gathered_y(t, smem));
      if (gpu::warp_index() >= t.rows) return Sum{};
      return sum_over_lanes(in_vectors ? times_contiguous(t.x, t.y, t.depth)
                                       : along_k<1>(t.x, t.x_stride, t.y, t.y_stride, t.depth));
    } else {
      if (t.x_row_stride == 1 && t.rows % kVector == 0 && t.x_stride % kVector == 0 && address(t.x) % 16 == 0) {
        along_rows<kVector>(t, smem);
      } else {
        along_rows<1>(t, smem);
      }
      gpu::sync_threads();
      Sum sum{};
      if constexpr (kWarpPerRow) {
        sum =
            sum_over_lanes(gpu::read<Space::shared>(smem.sums.data + gpu::lane_index() * kSumLine + gpu::warp_index()));
      } else if (gpu::warp_index() == 0) {
        XGEMM_UNROLL
        for (int w = 0; w < kWarps; ++w)
          sum += gpu::read<Space::shared>(smem.sums.data + w * kSumLine + gpu::lane_index());
      }
      gpu::sync_threads();
      return sum;
    }
  }

  XGEMM_DEVICE static std::uintptr_t address(const Element* p) { return reinterpret_cast<std::uintptr_t>(p); }

  template <int kWidth>
  XGEMM_DEVICE static gpu::Vector<Element, kWidth> read_or_zero(const Element* from, bool inside) {
    return gpu::read_line_or_zero(reinterpret_cast<const gpu::Vector<Element, kWidth>*>(from), inside);
  }

  // Of y, which may be in shared memory.
  template <Space kSpace, int kWidth>
  XGEMM_DEVICE static gpu::Vector<Element, kWidth> read_y_or_zero(const Element* from, bool inside) {
    using Read = gpu::Vector<Element, kWidth>;
    if constexpr (kSpace == Space::global) return read_or_zero<kWidth>(from, inside);
    return inside ? gpu::read<kSpace>(reinterpret_cast<const Read*>(from)) : Read{};
  }

  // A row of X along k times y, both contiguous, y on 16 bytes, and two vectors long.
  XGEMM_DEVICE static Sum times_contiguous(const Element* x, const Element* y, std::int64_t depth) {
    if (depth % kVector == 0 && address(x) % 16 == 0) return along_k<kVector>(x, 1, y, 1, depth);
    return times_contiguous_off_16_bytes<Space::global>(x, y, depth);
  }

  // Of a row of X that starts anywhere. Two vectors of y are read for each of X, so the last elements, of which there
  // is no second one, are added one by one, as the first ones are.
  template <Space kSpace>
  XGEMM_DEVICE static Sum times_contiguous_off_16_bytes(const Element* x, const Element* y, std::int64_t depth) {
    const int first = static_cast<int>((16 - address(x) % 16) % 16 / sizeof(Element));
    const std::int64_t in_vectors = (depth / kVector - 1) * kVector;
    Sum sum = along_k<kVector>(x + first, 1, y, 1, in_vectors, [first](const Element* from, bool inside) {
      return cut_out(read_y_or_zero<kSpace, kVector>(from, inside),
                     read_y_or_zero<kSpace, kVector>(from + kVector, inside), first);
    });
    const std::int64_t single = gpu::lane_index() + (gpu::lane_index() < first ? 0 : in_vectors);
    static_assert(2 * kVector - 1 < gpu::kWarpSize, "a lane for each of them");
    Sum sums[1] = {sum};
    add_products(read_or_zero<1>(x + single, single < depth), read_y_or_zero<kSpace, 1>(y + single, single < depth),
                 sums);
    return sums[0];
  }

  // A row of X along k times a y that lies otherwise: all warps need the same of it, and put it together.
  XGEMM_DEVICE static Sum with_gathered_y(const Task& t, SharedStorage& smem) {
    Sum sum{};
    XGEMM_NO_UNROLL
    for (std::int64_t k = 0, depth; k < t.depth; k += depth) {
      // So much that there are two vectors in the last round.
      depth = t.depth - k <= kGathered ? t.depth - k : kGathered - 2 * kVector;
      const Element* y = t.y + (k + gpu::thread_index()) * t.y_stride;
      gpu::Vector<Element, 1> mine[kGathered / kThreads];
      XGEMM_UNROLL
      for (int i = 0; i < kGathered / kThreads; ++i, y += kThreads * t.y_stride)
        mine[i] = read_or_zero<1>(y, gpu::thread_index() + i * kThreads < depth);
      gpu::sync_threads();  // nobody reads what was there
      XGEMM_UNROLL
      for (int i = 0; i < kGathered / kThreads; ++i)
        gpu::write<Space::shared>(smem.y.data + gpu::thread_index() + i * kThreads, mine[i][0]);
      gpu::sync_threads();
      if (gpu::warp_index() < t.rows) sum += times_contiguous_off_16_bytes<Space::shared>(t.x + k, smem.y.data, depth);
    }
    return sum;
  }

  template <int kWidth>
  XGEMM_DEVICE static Sum along_k(const Element* x, std::int64_t x_stride, const Element* y, std::int64_t y_stride,
                                  std::int64_t depth) {
    return along_k<kWidth>(x, x_stride, y, y_stride, depth,
                           [](const Element* from, bool inside) { return read_or_zero<kWidth>(from, inside); });
  }

  // This lane's part of a warp's row of X times y; read_y(pointer, whether it is inside) brings what of y belongs to a
  // vector.
  template <int kWidth, class ReadY>
  XGEMM_DEVICE static Sum along_k(const Element* x, std::int64_t x_stride, const Element* y, std::int64_t y_stride,
                                  std::int64_t depth, const ReadY& read_y) {
    constexpr int kStep = gpu::kWarpSize * kWidth, kAtOnce = at_once(kWidth);
    Sum sums[kWidth] = {};
    const int first = gpu::lane_index() * kWidth;
    x += first * x_stride;
    y += first * y_stride;
    XGEMM_NO_UNROLL
    for (std::int64_t left = depth - first; left > 0; left -= kAtOnce * kStep) {
      const int inside = static_cast<int>(left < kAtOnce * kStep ? left : kAtOnce * kStep);
      gpu::Vector<Element, kWidth> of_x[kAtOnce];
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u, x += kStep * x_stride) of_x[u] = read_or_zero<kWidth>(x, u * kStep < inside);
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u, y += kStep * y_stride)
        add_products(of_x[u], read_y(y, u * kStep < inside), sums);
    }
    XGEMM_UNROLL
    for (int e = 1; e < kWidth; ++e) sums[0] += sums[e];
    return sums[0];
  }

  template <int kWidth>
  XGEMM_DEVICE static void add_products(const gpu::Vector<Element, kWidth>& x, const gpu::Vector<Element, kWidth>& y,
                                        Sum (&sums)[kWidth]) {
    XGEMM_UNROLL
    for (int e = 0; e < kWidth; ++e)
      sums[e] = gpu::fma(gpu::to_sum<Element>(x[e]), gpu::to_sum<Element>(y[e]), sums[e]);
  }

  // A thread sums for kWidth rows every kShares-th k.
  template <int kWidth>
  XGEMM_DEVICE static void along_rows(const Task& t, SharedStorage& smem) {
    constexpr int kAcross = kRows / kWidth, kShares = kThreads / kAcross, kAtOnce = at_once(kWidth);
    const int row = gpu::thread_index() % kAcross * kWidth;
    const int share = gpu::thread_index() / kAcross;
    const Element* x = t.x + (kWidth > 1 ? row : row * t.x_row_stride) + share * t.x_stride;
    // Of y a lane brings one of the elements that the loads of a round need: neighbouring lanes need the same.
    const int mine = gpu::lane_index() % kAtOnce;
    const Element* y = t.y + (share + mine * kShares) * t.y_stride;

    const int first = kWidth == 1 && sizeof(Element) == 2 ? 0 : gpu::lane_index() / kAtOnce * kAtOnce;
    static_assert(kAcross % kAtOnce == 0);
    Sum sums[kWidth] = {};
    XGEMM_NO_UNROLL
    for (std::int64_t left = t.depth; left > 0; left -= kAtOnce * kShares) {
      const int inside = static_cast<int>(left < kAtOnce * kShares ? left : kAtOnce * kShares) - share;
      const int inside_x = row < t.rows ? inside : 0;
      gpu::Vector<Element, kWidth> of_x[kAtOnce];
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u, x += gpu::opaque(kShares * t.x_stride))
        of_x[u] = read_or_zero<kWidth>(x, u * kShares < inside_x);
      const Sum of_y = gpu::to_sum<Element>(read_or_zero<1>(y, mine * kShares < inside)[0]);
      y += kAtOnce * kShares * gpu::opaque(t.y_stride);
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        const Sum factor = shuffle_words(of_y, [&](auto word) { return gpu::shuffle(word, first + u); });
        XGEMM_UNROLL
        for (int e = 0; e < kWidth; ++e) sums[e] = gpu::fma(gpu::to_sum<Element>(of_x[u][e]), factor, sums[e]);
      }
    }
    XGEMM_UNROLL
    for (int distance = kAcross; distance < gpu::kWarpSize; distance *= 2) {
      XGEMM_UNROLL
      for (int e = 0; e < kWidth; ++e) sums[e] += across_lanes(sums[e], distance);
    }
    if (gpu::lane_index() < kAcross) {
      XGEMM_UNROLL
      for (int e = 0; e < kWidth; ++e)
        gpu::write<Space::shared>(smem.sums.data + gpu::warp_index() * kSumLine + row + e, sums[e]);
    }
  }

  XGEMM_DEVICE static Sum sum_over_lanes(Sum sum) {
    XGEMM_UNROLL
    for (int distance = gpu::kWarpSize / 2; distance >= 1; distance /= 2) sum += across_lanes(sum, distance);
    return sum;
  }
};

}  // namespace xgemm::kernels
