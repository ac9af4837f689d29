// How sums leave an ffma_tma kernel: from the registers straight to memory. An access of a warp is of four (or eight)
// neighbouring chunks of 16 bytes in each of its columns: whole sectors, where the columns of C start on 16 bytes.
//
// Where they do not, each column is moved to meet the vectors of memory: a lane gets from the one before it the rows
// that its vector begins with. Only the ends of a warp's columns are stored row by row. Tiles for short K have another
// way for that (staged_output.cuh).
//
//     memory   | . . . a | a a a b | b b b c | ...      rows of lanes a, b, c
//     lane     |       a |       b |       c |
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/dtype.cuh"
#include "kernels/common/target.cuh"
#include "kernels/ffma_tma/cta.cuh"

namespace xgemm::kernels {

template <FfmaTmaConfig kConfig>
struct FfmaTmaOutput {
  using Cta = FfmaTmaCta<kConfig>;
  static constexpr int kThreadM = Cta::kThreadM;
  static constexpr int kStepM = 4 * kConfig.lanes_m, kStepN = 4 * kConfig.lanes_n();  // between chunks of a thread

  float* c;  // the thread's first element
  std::int64_t ld;
  int rows, columns;  // from there on

  // What chunks of rows that are not stored as a whole are stored by.
  struct Edges {
    int lane_m;       // of the lanes along m
    int lane_before;  // of the warp, which has the rows before the thread's: the last one those of the chunk before
    // Of a triangle: which, and in which row, from the first element on, its diagonal meets the first column.
    Fill fill;
    int diagonal;
  };

  // Where each chunk is an aligned vector of C, or outside of it. finish(sum, old, row, column): rows and columns from
  // the first element on.
  template <bool kReadsC, int kColumns, class Finish>
  XGEMM_DEVICE void store_vectors(const float (&sums)[kColumns][kThreadM], const Finish& finish) const {
    using Vector = gpu::Vector<float, 4>;
    constexpr int kAhead = kReadsC && kColumns >= 2 ? 2 : 1;  // columns whose old C is on its way
    XGEMM_UNROLL
    for (int first = 0; first < kColumns; first += kAhead) {
      Vector old[kAhead][kThreadM / 4] = {};
      const auto for_each_vector = [&](const auto& f) {  // f(j, i, vector of C)
        XGEMM_UNROLL
        for (int j = 0; j < kAhead; ++j) {
          const int column = column_of(first + j);
          auto* const to = reinterpret_cast<Vector*>(c + column * ld);
          XGEMM_UNROLL
          for (int i = 0; i < kThreadM / 4; ++i)
            if (column < columns && row_of(4 * i) < rows) f(j, i, to + row_of(4 * i) / 4);
        }
      };
      if constexpr (kReadsC)
        for_each_vector([&](int j, int i, Vector* at) { old[j][i] = gpu::read<gpu::Space::global>(at); });
      for_each_vector([&](int j, int i, Vector* at) {
        Vector v;
        XGEMM_UNROLL
        for (int e = 0; e < 4; ++e)
          v[e] = finish(sums[first + j][4 * i + e], old[j][i][e], row_of(4 * i) + e, column_of(first + j));
        gpu::write<gpu::Space::global>(at, v);
      });
    }
  }

  // Anywhere, by all lanes of a warp.
  template <bool kReadsC, int kColumns, class Finish>
  XGEMM_DEVICE void store_any(const Edges& edges, const float (&sums)[kColumns][kThreadM], const Finish& finish) const {
    XGEMM_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      const int column = column_of(j);
      const Rows inside = column < columns ? this->inside(edges, column) : Rows{0, -4};
      float* const to = c + column * ld;
      float old[kThreadM] = {};
      if constexpr (kReadsC) {
        XGEMM_UNROLL
        for (int i = 0; i < kThreadM; ++i)
          if (inside.contains(row_of(i) + i % 4)) old[i] = gpu::read<gpu::Space::global>(to + row_of(i) + i % 4);
      }
      store_moved(to, edges, inside, [&](int i) { return finish(sums[j][i], old[i], row_of(i) + i % 4, column); });
    }
  }

  // Element (i, j) of a thread, from its first one.
  XGEMM_DEVICE static constexpr int row_of(int i) { return i / 4 * kStepM; }
  XGEMM_DEVICE static constexpr int column_of(int j) { return j / 4 * kStepN + j % 4; }

 private:
  // The rows of a column that are read and written: [begin, end).
  struct Rows {
    int begin, end;
    XGEMM_DEVICE bool contains(int row) const { return row >= begin && row < end; }
    XGEMM_DEVICE bool contains_four(int row) const { return row >= begin && row + 4 <= end; }
  };
  XGEMM_DEVICE Rows inside(const Edges& edges, int column) const {
    constexpr int kBefore = -0x10000;  // of rows of other lanes, which may be stored with the thread's
    const int on_diagonal = edges.diagonal + column;
    return {edges.fill == Fill::lower ? on_diagonal : kBefore,
            edges.fill == Fill::upper && on_diagonal + 1 < rows ? on_diagonal + 1 : rows};
  }

  template <class Value>
  XGEMM_DEVICE void store_moved(float* to, const Edges& edges, const Rows& inside, const Value& value) const {
    const int moved = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(float) % 4);
    const bool last = edges.lane_m == kConfig.lanes_m - 1;
    gpu::sync_warp();  // the rows that other lanes' vectors cover have been read
    float before[4] = {};
    XGEMM_UNROLL
    for (int i = 0; i < kThreadM; i += 4) {
      float values[4] = {};
      if (inside.end > 0) {
        XGEMM_UNROLL
        for (int e = 0; e < 4; ++e) values[e] = value(i + e);
      }
      float rows_of_8[7];  // without the first one
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e) {
        if (e > 0) rows_of_8[e - 1] = gpu::shuffle(last ? before[e] : values[e], edges.lane_before);
        rows_of_8[3 + e] = before[e] = values[e];
      }
      XGEMM_UNROLL
      for (int e = 0; e < 5; ++e) rows_of_8[e] = moved & 2 ? rows_of_8[e] : rows_of_8[e + 2];
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e) rows_of_8[e] = moved & 1 ? rows_of_8[e] : rows_of_8[e + 1];
      store_chunk(to, row_of(i) - moved, i == 0 && edges.lane_m == 0 ? moved : 0, inside, rows_of_8);
    }
    if (last) {
      XGEMM_UNROLL
      for (int e = 1; e < 4; ++e) {
        const int row = row_of(kThreadM - 4) + e;
        if (e >= 4 - moved && inside.contains(row)) gpu::write<gpu::Space::global>(to + row, before[e]);
      }
    }
  }

  // Rows row + begin to row + 3, of those inside.
  XGEMM_DEVICE void store_chunk(float* to, int row, int begin, const Rows& inside, const float* values) const {
    if (begin == 0 && inside.contains_four(row)) {
      gpu::write<gpu::Space::global>(reinterpret_cast<gpu::Vector<float, 4>*>(to + row),
                                     gpu::Vector<float, 4>{{values[0], values[1], values[2], values[3]}});
    } else {
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e)
        if (e >= begin && inside.contains(row + e)) gpu::write<gpu::Space::global>(to + row + e, values[e]);
    }
  }
};

}  // namespace xgemm::kernels
