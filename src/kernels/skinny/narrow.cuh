// The narrow products of skinny in 16 bits: a matrix times one vector to eight on the tensor cores, which multiply
// eight at no more cost than one. X is read once for eight columns of Y, from global memory to the fragments of mma,
// past shared memory: which k stands where in a fragment is for the kernel to say, as long as X and Y agree. A warp
// multiplies 64 rows of X by 32 of k at a time:
//
//   X along k: lane 4g + q has eight elements of rows g,    X along its rows: it has eight rows, from 8g on, of eight
//   8 + g, ..., from k = 8q on                              of k, from 8q on, whose pairs along k it puts together
//
//            k: 0       8       16      24                          rows: 0       8              56
//          +-------+-------+-------+-------+                      +-------+-------+-----+-------+
//   row 0  |   0   |   1   |   2   |   3   |                  k 0 |   0   |   4   | ... |   28  |
//   row 1  |   4   |   5   |   6   |   7   |                    1 |   0   |   4   |     |   28  |
//          +-------+-------+-------+-------+                      +-------+-------+-----+-------+
//
// What starts off 16 bytes, or lies along neither axis, comes element by element, and so does what of k is no whole
// vector. Y comes as X along k does, or in elements. A CTA has 64 rows, whose k its warps share, as the CTAs of a
// cluster may (exchange.cuh).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/skinny/exchange.cuh"
#include "kernels/skinny/instances.h"
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
  static constexpr int kColumns = VectorShape::kColumns, kStep = VectorShape::kNarrowStep;
  static constexpr int kVector = 16 / static_cast<int>(sizeof(Element));
  static constexpr int kStride = kWarps * kStep;  // of k, from a warp's step to its next one
  static_assert(kRows == 64 && kTileK % kStride == 0);

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
    gpu::grid_wait_dependencies();
    XGEMM_NO_UNROLL
    for (; index < units; index += step) {
      XGEMM_NO_UNROLL
      for (int column = 0; column < kRows; column += kColumns) {
        const Task t = task_of(p, index, column, smem);
        if (t.columns <= 0) break;
        Sums sums = {};
        multiply(t, sums);
        finish(p, column, t, sums, smem, exchange);
      }
    }
  }

 private:
  static constexpr int kTiles = kRows / 16;  // of mma
  using Sums = float[kTiles][4];

  // A tile's rows of X, and some columns of Y.
  struct Task {
    const Element* x;
    const Element* y;
    std::int64_t x_row, x_k, y_column, y_k;  // strides
    std::int64_t depth;
    int rows, columns;
  };
  XGEMM_DEVICE static Task task_of(const TileParams& p, unsigned index, int column, SharedStorage& smem) {
    const Unit unit = vector_unit<kRows, kTileK>(p, index);
    // Kept there, and not in registers that loads need.
    if (gpu::thread_index() == 0) {
      const auto words = gpu::detail::bit_cast<UnitWords>(unit);
      for (int i = 0; i < UnitWords::kNumber; ++i) gpu::write<Space::shared>(&smem.unit.word[i], words.word[i]);
    }
    // Both operands as lines along k.
    const ConstMatrixArg b = p.b.transposed();
    const ConstMatrixArg x = long_m(p) ? p.a : b, y = long_m(p) ? b : p.a;
    const std::int64_t row = long_m(p) ? unit.row : unit.col;
    const std::int64_t vector = (long_m(p) ? unit.col : unit.row) + column;
    const std::int64_t rows = (long_m(p) ? p.m : p.n) - row, columns = vectors_of(p) - vector;
    const auto line = [&](const ConstMatrixArg& z, std::int64_t i) {
      return static_cast<const Element*>(z.data) + unit.batch * z.batch_stride + i * z.row_stride +
             unit.k * z.col_stride;
    };
    return {line(x, row),
            line(y, vector),
            x.row_stride,
            x.col_stride,
            y.row_stride,
            y.col_stride,
            Epilogue::make(p).has_product ? unit.depth : 0,
            static_cast<int>(rows < kRows ? rows : kRows),
            static_cast<int>(columns < kColumns ? columns : kColumns)};
  }

  // How X is read. Of CTAs that share a tile's K all read along the rows, or none: what k there is of it does not
  // count.
  enum class Lies { along_k, along_rows, anywhere };
  XGEMM_DEVICE static bool lies_along_rows(const Task& t) {
    return t.x_row == 1 && starts_on_vectors(t.x, t.x_k) && t.rows % kVector == 0;
  }
  XGEMM_DEVICE static bool starts_on_vectors(const Element* at, std::int64_t step) {
    return (reinterpret_cast<std::uintptr_t>(at) / sizeof(Element) | static_cast<std::uintptr_t>(step)) % kVector == 0;
  }

  XGEMM_DEVICE static void multiply(const Task& t, Sums& sums) {
    const bool y_in_vectors = t.y_k == 1 && starts_on_vectors(t.y, t.y_column);
    std::int64_t k = 0;
    if (t.x_k == 1 && starts_on_vectors(t.x, t.x_row)) {
      k = t.depth / kVector * kVector;
      y_in_vectors ? multiply<Lies::along_k, true>(t, 0, k, sums) : multiply<Lies::along_k, false>(t, 0, k, sums);
    } else if (lies_along_rows(t)) {
      k = t.depth;
      const bool in_vectors = y_in_vectors && k % kVector == 0;
      in_vectors ? multiply<Lies::along_rows, true>(t, 0, k, sums) : multiply<Lies::along_rows, false>(t, 0, k, sums);
    }
    if (k < t.depth) multiply<Lies::anywhere, false>(t, k, t.depth, sums);
  }

  // A lane's elements of a step, in pairs along k: of a column of Y, and of eight rows of X.
  using Pairs = std::uint32_t[kStep / 8];
  using Vector = gpu::Vector<Element, kVector>;
  XGEMM_DEVICE static std::uint32_t pair(Element first, Element second) {
    return gpu::detail::bit_cast<std::uint32_t>(gpu::Vector<Element, 2>{{first, second}});
  }
  template <int kWidth>
  XGEMM_DEVICE static gpu::Vector<Element, kWidth> read_or_zero(const Element* from, bool inside) {
    return gpu::read_line_or_zero(reinterpret_cast<const gpu::Vector<Element, kWidth>*>(from), inside);
  }

  template <Lies kLies, bool kVectorsOfY>
  XGEMM_DEVICE static void multiply(const Task& t, std::int64_t begin, std::int64_t end, Sums& sums) {
    // Of k, a lane's elements side by side; where they come one by one, neighbouring lanes have neighbours.
    constexpr bool kSideBySide = kLies != Lies::anywhere;
    constexpr int kNext = kSideBySide ? 1 : 4;
    const int g = gpu::lane_index() / 4, q = gpu::lane_index() % 4;
    const int own_k = kSideBySide ? kVector * q : q;
    const std::int64_t first = begin + gpu::warp_index() * kStep;
    const Element* x = t.x + (kLies == Lies::along_rows ? kVector * g : g) * t.x_row + (first + own_k) * t.x_k;
    const Element* y = t.y + g * t.y_column + (first + own_k) * t.y_k;
    const int rows = kLies == Lies::along_rows ? t.rows - kVector * g : t.rows - g;  // from this lane's first one on
    const bool has_column = g < t.columns;
    XGEMM_NO_UNROLL
    for (std::int64_t left = end - first - own_k; left > -own_k; left -= kStride) {
      const int inside = static_cast<int>(left < kStep ? left : kStep);
      Pairs of_y;
      if constexpr (kVectorsOfY) {
        copy(read_or_zero<kVector>(y, has_column && inside > 0), of_y);
      } else {
        elements(y, kNext, t.y_k, has_column ? inside : 0, of_y);
      }
      // Elements wait in a register each.
      constexpr int kRowsAtOnce = kLies == Lies::anywhere ? 4 : 8;
      const Element* rest = x;
      XGEMM_UNROLL
      for (int r = 0; r < 8; r += kRowsAtOnce, rest += gpu::opaque(8 * kRowsAtOnce * t.x_row)) {
        Pairs of_x[kRowsAtOnce];
        load<kLies>(t, rest, rows - 8 * r, inside, of_x);
        XGEMM_UNROLL
        for (int i = 0; i < kRowsAtOnce; i += 2) {
          XGEMM_UNROLL
          for (int w = 0; w < 4; w += 2)
            gpu::mma<Element>(sums[(r + i) / 2], {of_x[i][w], of_x[i + 1][w], of_x[i][w + 1], of_x[i + 1][w + 1]},
                              {of_y[w], of_y[w + 1]});
        }
        gpu::keep_order();
      }
      x += kStride * t.x_k;
      y += kStride * t.y_k;
    }
  }

  XGEMM_DEVICE static void copy(const Vector& from, Pairs& to) {
    XGEMM_UNROLL
    for (int w = 0; w < 4; ++w) to[w] = pair(from[2 * w], from[2 * w + 1]);
  }

  // A lane's eight elements of a line, each so many of k after the one before, of which there are `inside` of k.
  XGEMM_DEVICE static void elements(const Element* from, int next, std::int64_t stride, int inside, Pairs& to) {
    Vector all;
    XGEMM_UNROLL
    for (int e = 0; e < kVector; ++e, from += gpu::opaque(next * stride))  // no pointer for each
      all[e] = read_or_zero<1>(from, e * next < inside)[0];
    copy(all, to);
  }

  // rows, inside: what there is of X from x on, along its rows and along k.
  template <Lies kLies, int kNumber>
  XGEMM_DEVICE static void load(const Task& t, const Element* x, int rows, int inside, Pairs (&of_x)[kNumber]) {
    if constexpr (kLies == Lies::along_rows) {
      Vector lines[8];
      XGEMM_UNROLL
      for (int j = 0; j < 8; ++j, x += gpu::opaque(t.x_k)) lines[j] = read_or_zero<kVector>(x, rows > 0 && j < inside);
      XGEMM_UNROLL
      for (int r = 0; r < 8; ++r) {
        XGEMM_UNROLL
        for (int w = 0; w < 4; ++w) of_x[r][w] = pair(lines[2 * w][r], lines[2 * w + 1][r]);
      }
    } else {
      XGEMM_UNROLL
      for (int r = 0; r < kNumber; ++r, x += gpu::opaque(8 * t.x_row)) {
        const bool has_row = 8 * r < rows;
        if constexpr (kLies == Lies::along_k) {
          copy(read_or_zero<kVector>(x, has_row && inside > 0), of_x[r]);
        } else {
          elements(x, 4, t.x_k, has_row ? inside : 0, of_x[r]);
        }
      }
    }
  }

  // Adds up what warps and CTAs have of the same rows, and stores it.
  XGEMM_DEVICE static void finish(const TileParams& p, int column, const Task& t, const Sums& sums, SharedStorage& smem,
                                  Exchange& exchange) {
    const int g = gpu::lane_index() / 4, q = gpu::lane_index() % 4;
    float* const fragment = smem.of_warps[gpu::warp_index()].data + 2 * q * kLine + g;
    XGEMM_UNROLL
    for (int i = 0; i < kTiles; ++i) {
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
      const bool along_rows = lies_along_rows(t), columns_along_n = long_m(p);
      store_unit<kConfig, kRows, kRows>(Epilogue::make(p), p, unit, 0, 0, [&](const auto& c) {
        XGEMM_NO_UNROLL
        for (int i = gpu::thread_index(); i < t.columns * kRows; i += kThreads) {
          const float sum =
              sharers > 1 ? gpu::read<Space::shared>(smem.of_all.data + place(i)) : sum_of_warps(place(i));
          const int of_fragments = i % kRows, j = column + i / kRows;
          const int row = along_rows ? of_fragments % 8 * kVector + of_fragments / 8 : of_fragments;
          c.store(columns_along_n ? row : j, columns_along_n ? j : row, sum);
        }
      });
    }
    gpu::sync_threads();  // nobody writes what is read
  }
};

}  // namespace xgemm::kernels
