// How sums leave an ffma_tma kernel: from the registers straight to memory. An access of a warp is of four (or eight)
// neighbouring chunks of 16 bytes in each of its columns: whole sectors, where the columns of C start on 16 bytes.
//
// Where they do not, each column is moved to meet the vectors of memory: a lane gets from the one before it the rows
// that its vector begins with. Only the ends of a warp's columns are stored row by row.
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
  bool vectors;       // columns start on 16 bytes
  int lane_m;         // of the lanes along m
  int lane_before;    // of the warp, which has the rows before the thread's: the last one those of the chunk before

  // Of a triangle: which, and in which row, from there on, its diagonal meets the first column.
  Fill fill = Fill::full;
  int diagonal = 0;

  // By all lanes of a warp. finish(sum, old, row, column): rows and columns from the first element on.
  template <bool kReadsC, int kColumns, class Finish>
  XGEMM_DEVICE void store(const float (&sums)[kColumns][kThreadM], const Finish& finish) const {
    if (vectors) {
      store_columns<kReadsC, false>(sums, finish);
    } else {
      store_columns<kReadsC, true>(sums, finish);
    }
  }

  // Element (i, j) of a thread, from its first one.
  XGEMM_DEVICE static constexpr int row_of(int i) { return i / 4 * kStepM; }
  XGEMM_DEVICE static constexpr int column_of(int j) { return j / 4 * kStepN + j % 4; }

 private:
  // kMoved: columns are moved to meet the vectors of memory.
  template <bool kReadsC, bool kMoved, int kColumns, class Finish>
  XGEMM_DEVICE void store_columns(const float (&sums)[kColumns][kThreadM], const Finish& finish) const {
    constexpr int kAhead = kMoved || kColumns < 2 ? 1 : 2;  // columns whose old C is on its way
    XGEMM_UNROLL
    for (int first = 0; first < kColumns; first += kAhead) {
      float old[kAhead][kThreadM] = {};
      if constexpr (kReadsC) {
        XGEMM_UNROLL
        for (int j = 0; j < kAhead; ++j) {
          const int column = column_of(first + j);
          if (column >= columns) continue;
          XGEMM_UNROLL
          for (int i = 0; i < kThreadM; i += 4) load_chunk(c + column * ld, row_of(i), inside(column), &old[j][i]);
        }
      }
      XGEMM_UNROLL
      for (int j = 0; j < kAhead; ++j) {
        const int column = column_of(first + j);
        const auto value = [&](int i) { return finish(sums[first + j][i], old[j][i], row_of(i) + i % 4, column); };
        if constexpr (kMoved) {
          store_moved(c + column * ld, column < columns ? inside(column) : Rows{0, -4}, value);
        } else if (column < columns) {
          XGEMM_UNROLL
          for (int i = 0; i < kThreadM; i += 4) {
            const float values[4] = {value(i), value(i + 1), value(i + 2), value(i + 3)};
            store_chunk(c + column * ld, row_of(i), 0, inside(column), values);
          }
        }
      }
    }
  }

  // The rows of a column that are read and written: [begin, end).
  struct Rows {
    int begin, end;
    XGEMM_DEVICE bool contains(int row) const { return row >= begin && row < end; }
    XGEMM_DEVICE bool contains_four(int row) const { return row >= begin && row + 4 <= end; }
  };
  XGEMM_DEVICE Rows inside(int column) const {
    constexpr int kBefore = -0x10000;  // of rows of other lanes, which may be stored with the thread's
    const int on_diagonal = diagonal + column;
    return {fill == Fill::lower ? on_diagonal : kBefore,
            fill == Fill::upper && on_diagonal + 1 < rows ? on_diagonal + 1 : rows};
  }

  XGEMM_DEVICE void load_chunk(const float* column, int row, const Rows& inside, float* old) const {
    if (vectors && inside.contains_four(row)) {
      const auto chunk = gpu::read<gpu::Space::global>(reinterpret_cast<const gpu::Vector<float, 4>*>(column + row));
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e) old[e] = chunk[e];
    } else {
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e)
        if (inside.contains(row + e)) old[e] = gpu::read<gpu::Space::global>(column + row + e);
    }
  }

  template <class Value>
  XGEMM_DEVICE void store_moved(float* to, const Rows& inside, const Value& value) const {
    const int moved = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(float) % 4);
    const bool last = lane_m == kConfig.lanes_m - 1;
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
        if (e > 0) rows_of_8[e - 1] = gpu::shuffle(last ? before[e] : values[e], lane_before);
        rows_of_8[3 + e] = before[e] = values[e];
      }
      XGEMM_UNROLL
      for (int e = 0; e < 5; ++e) rows_of_8[e] = moved & 2 ? rows_of_8[e] : rows_of_8[e + 2];
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e) rows_of_8[e] = moved & 1 ? rows_of_8[e] : rows_of_8[e + 1];
      store_chunk(to, row_of(i) - moved, i == 0 && lane_m == 0 ? moved : 0, inside, rows_of_8);
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
