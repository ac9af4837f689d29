// Narrow products in 16 bits: rows of a matrix times one vector to eight on the tensor cores, which multiply eight at
// no more cost than one. X is read once for eight columns of Y, from global memory to the fragments of mma, past shared
// memory: which k stands where in a fragment is for the kernel to say, as long as X and Y agree. A warp multiplies 64
// rows of X by 32 of k at a time:
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
// vector. Y comes as X along k does, or in elements.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/common/mma.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/skinny/instances.h"
#include "kernels/skinny/vector_units.cuh"

namespace xgemm::kernels {

template <class Element>
class NarrowProduct {
 public:
  static constexpr int kRows = VectorShape::kNarrowRows, kColumns = VectorShape::kColumns;
  static constexpr int kStep = VectorShape::kNarrowStep;
  static constexpr int kVector = 16 / static_cast<int>(sizeof(Element));
  static constexpr int kTiles = kRows / 16;  // of mma
  static_assert(kRows == 64 && kColumns == 8);
  using Sums = float[kTiles][4];

  // Rows of X, and some columns of Y.
  struct Task {
    const Element* x;
    const Element* y;
    std::int64_t x_row, x_k, y_column, y_k;  // strides
    std::int64_t depth;
    int rows, columns;
  };
  // Of a unit, from a row of its tile and from one of its vectors on. matrix(operand) is where its entry begins.
  template <class Matrix>
  XGEMM_DEVICE static Task task_of(const TileParams& p, const Unit& unit, int row, int column, const Matrix& matrix) {
    // Both operands as lines along k.
    const ConstMatrixArg b = p.b.transposed();
    const ConstMatrixArg x = long_m(p) ? p.a : b, y = long_m(p) ? b : p.a;
    const std::int64_t first = (long_m(p) ? unit.row : unit.col) + row;
    const std::int64_t vector = (long_m(p) ? unit.col : unit.row) + column;
    const std::int64_t rows = (long_m(p) ? p.m : p.n) - first, columns = vectors_of(p) - vector;
    const auto line = [&](const ConstMatrixArg& z, std::int64_t i) {
      return matrix(z) + i * z.row_stride + unit.k * z.col_stride;
    };
    return {line(x, first),
            line(y, vector),
            x.row_stride,
            x.col_stride,
            y.row_stride,
            y.col_stride,
            unit.depth,
            static_cast<int>(rows < kRows ? rows : kRows),
            static_cast<int>(columns < kColumns ? columns : kColumns)};
  }

  // Whether X comes in vectors, at least some; else it comes element by element.
  XGEMM_DEVICE static bool in_vectors(const Task& t) { return lies_along_k(t) || lies_along_rows(t); }

  // A warp's sums of every kStride-th step of k, from the first_step-th on: of what of an X in vectors comes so, up to
  // the k that is returned, and of the rest from there on. kAtOnce: steps of an X along k under way.
  template <int kStride, int kAtOnce>
  XGEMM_DEVICE static int multiply(const Task& t, int first_step, Sums& sums) {
    const bool y_in_vectors = t.y_k == 1 && starts_on_vectors(t.y, t.y_column);
    const int first = first_step * kStep;
    if (lies_along_k(t)) {
      const std::int64_t end = t.depth / kVector * kVector;
      y_in_vectors ? steps<kStride, kAtOnce, Lies::along_k, true>(t, first, end, sums)
                   : steps<kStride, 1, Lies::along_k, false>(t, first, end, sums);
      return static_cast<int>(end);
    }
    const bool all_in_vectors = y_in_vectors && t.depth % kVector == 0;
    all_in_vectors ? steps<kStride, 1, Lies::along_rows, true>(t, first, t.depth, sums)
                   : steps<kStride, 1, Lies::along_rows, false>(t, first, t.depth, sums);
    return static_cast<int>(t.depth);
  }
  template <int kStride>
  XGEMM_DEVICE static void multiply_rest(const Task& t, int first_step, int from, Sums& sums) {
    steps<kStride, 1, Lies::anywhere, false>(t, std::int64_t{from} + first_step * kStep, t.depth, sums);
  }

  // Of CTAs that share a tile's K all read along the rows, or none: what k there is of it does not count.
  XGEMM_DEVICE static bool lies_along_rows(const Task& t) {
    return t.x_row == 1 && starts_on_vectors(t.x, t.x_k) && t.rows % kVector == 0;
  }

  // Which row of X has its sum where fragments have that of a row in their order: 16i + 8h + g of sums[i][2h + ...] in
  // lanes from 4g on.
  XGEMM_DEVICE static int row_of(bool along_rows, int of_fragments) {
    return along_rows ? of_fragments % 8 * kVector + of_fragments / 8 : of_fragments;
  }

 private:
  enum class Lies { along_k, along_rows, anywhere };  // X
  XGEMM_DEVICE static bool lies_along_k(const Task& t) {
    return t.x_k == 1 && t.depth >= kVector && starts_on_vectors(t.x, t.x_row);
  }
  XGEMM_DEVICE static bool starts_on_vectors(const Element* at, std::int64_t step) {
    return (reinterpret_cast<std::uintptr_t>(at) / sizeof(Element) | static_cast<std::uintptr_t>(step)) % kVector == 0;
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

  // Of k from `first` on.
  template <int kStride, int kAtOnce, Lies kLies, bool kVectorsOfY>
  XGEMM_DEVICE static void steps(const Task& t, std::int64_t first, std::int64_t end, Sums& sums) {
    // Of k, a lane's elements side by side; where they come one by one, neighbouring lanes have neighbours.
    constexpr bool kSideBySide = kLies != Lies::anywhere;
    constexpr int kNext = kSideBySide ? 1 : 4, kNextStep = kStride * kStep;
    const int g = gpu::lane_index() / 4, q = gpu::lane_index() % 4;
    const int own_k = kSideBySide ? kVector * q : q;
    const Element* x = t.x + (kLies == Lies::along_rows ? kVector * g : g) * t.x_row + (first + own_k) * t.x_k;
    const Element* y = t.y + g * t.y_column + (first + own_k) * t.y_k;
    const int rows = kLies == Lies::along_rows ? t.rows - kVector * g : t.rows - g;  // from this lane's first one on
    const bool has_column = g < t.columns;
    XGEMM_NO_UNROLL
    for (std::int64_t left = end - first - own_k; left > -own_k; left -= kAtOnce * kNextStep) {
      // What there is along k for this lane, from its first element of the first step on.
      const int inside = static_cast<int>(left < kAtOnce * kNextStep ? left : kAtOnce * kNextStep);
      Pairs of_y[kAtOnce];
      XGEMM_UNROLL
      for (int u = 0; u < kAtOnce; ++u, y += gpu::opaque(kNextStep * t.y_k)) {
        if constexpr (kVectorsOfY) {
          copy(read_or_zero<kVector>(y, has_column && u * kNextStep < inside), of_y[u]);
        } else {
          elements(y, kNext, t.y_k, has_column ? inside - u * kNextStep : 0, of_y[u]);
        }
      }
      // Elements wait in a register each.
      constexpr int kRowsAtOnce = kLies == Lies::anywhere ? 4 : 8;
      const Element* rest = x;
      XGEMM_UNROLL
      for (int r = 0; r < 8; r += kRowsAtOnce, rest += gpu::opaque(8 * kRowsAtOnce * t.x_row)) {
        Pairs of_x[kAtOnce][kRowsAtOnce];
        load<kNextStep, kLies>(t, rest, rows - 8 * r, inside, of_x);
        XGEMM_UNROLL
        for (int u = 0; u < kAtOnce; ++u) {
          XGEMM_UNROLL
          for (int i = 0; i < kRowsAtOnce; i += 2) {
            const Pairs &upper = of_x[u][i], &lower = of_x[u][i + 1];
            XGEMM_UNROLL
            for (int w = 0; w < 4; w += 2)
              gpu::mma<Element>(sums[(r + i) / 2], {upper[w], lower[w], upper[w + 1], lower[w + 1]},
                                {of_y[u][w], of_y[u][w + 1]});
          }
        }
        gpu::keep_order();
      }
      x += kAtOnce * kNextStep * t.x_k;
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
  template <int kNextStep, Lies kLies, int kAtOnce, int kNumber>
  XGEMM_DEVICE static void load(const Task& t, const Element* x, int rows, int inside,
                                Pairs (&of_x)[kAtOnce][kNumber]) {
    if constexpr (kLies == Lies::along_rows) {
      static_assert(kAtOnce == 1);
      Vector lines[8];
      XGEMM_UNROLL
      for (int j = 0; j < 8; ++j, x += gpu::opaque(t.x_k)) lines[j] = read_or_zero<kVector>(x, rows > 0 && j < inside);
      XGEMM_UNROLL
      for (int r = 0; r < 8; ++r) {
        XGEMM_UNROLL
        for (int w = 0; w < 4; ++w) of_x[0][r][w] = pair(lines[2 * w][r], lines[2 * w + 1][r]);
      }
    } else {
      XGEMM_UNROLL
      for (int r = 0; r < kNumber; ++r, x += gpu::opaque(8 * t.x_row)) {
        const bool has_row = 8 * r < rows;
        XGEMM_UNROLL
        for (int u = 0; u < kAtOnce; ++u) {
          if constexpr (kLies == Lies::along_k) {
            copy(read_or_zero<kVector>(x + u * kNextStep, has_row && u * kNextStep < inside), of_x[u][r]);
          } else {
            elements(x, 4, t.x_k, has_row ? inside : 0, of_x[u][r]);
          }
        }
      }
    }
  }
};

}  // namespace xgemm::kernels
