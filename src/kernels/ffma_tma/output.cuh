// How sums leave an ffma_tma kernel: from the registers straight to memory. An access of a warp is of four (or eight)
// neighbouring chunks of 16 bytes in each of its columns: whole sectors, where the columns of C start on 16 bytes.
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

  // finish(sum, old, row, column): rows and columns from the first element on.
  template <bool kReadsC, int kColumns, class Finish>
  XGEMM_DEVICE void store(const float (&sums)[kColumns][kThreadM], const Finish& finish) const {
    constexpr int kAhead = kColumns < 2 ? kColumns : 2;  // columns whose old C is on its way
    XGEMM_UNROLL
    for (int first = 0; first < kColumns; first += kAhead) {
      float old[kAhead][kThreadM] = {};
      if constexpr (kReadsC) {
        XGEMM_UNROLL
        for (int j = 0; j < kAhead; ++j) {
          const int column = column_of(first + j);
          if (column >= columns) continue;
          XGEMM_UNROLL
          for (int i = 0; i < kThreadM; i += 4) load_chunk(c + column * ld + row_of(i), rows - row_of(i), &old[j][i]);
        }
      }
      XGEMM_UNROLL
      for (int j = 0; j < kAhead; ++j) {
        const int column = column_of(first + j);
        if (column >= columns) continue;
        XGEMM_UNROLL
        for (int i = 0; i < kThreadM; i += 4) {
          gpu::Vector<float, 4> values;
          XGEMM_UNROLL
          for (int e = 0; e < 4; ++e) values[e] = finish(sums[first + j][i + e], old[j][i + e], row_of(i) + e, column);
          store_chunk(c + column * ld + row_of(i), rows - row_of(i), values);
        }
      }
    }
  }

  // Element (i, j) of a thread, from its first one.
  XGEMM_DEVICE static constexpr int row_of(int i) { return i / 4 * kStepM; }
  XGEMM_DEVICE static constexpr int column_of(int j) { return j / 4 * kStepN + j % 4; }

 private:
  XGEMM_DEVICE void load_chunk(const float* from, int left, float* old) const {
    if (vectors && left >= 4) {
      const auto chunk = gpu::read<gpu::Space::global>(reinterpret_cast<const gpu::Vector<float, 4>*>(from));
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e) old[e] = chunk[e];
    } else {
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e)
        if (e < left) old[e] = gpu::read<gpu::Space::global>(from + e);
    }
  }
  XGEMM_DEVICE void store_chunk(float* to, int left, const gpu::Vector<float, 4>& values) const {
    if (vectors && left >= 4) {
      gpu::write<gpu::Space::global>(reinterpret_cast<gpu::Vector<float, 4>*>(to), values);
    } else {
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e)
        if (e < left) gpu::write<gpu::Space::global>(to + e, values[e]);
    }
  }
};

}  // namespace xgemm::kernels
