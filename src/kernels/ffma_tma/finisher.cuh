// What a Finishing makes of the sums of an ffma_tma thread, in registers, before they are stored: a bias, an
// activation, scales. Of twins alone, which are made with the epilogue Finished: plain kernels have none of it.
//
// An exact activation takes up to a hundred instructions. Written once for each sum they would be as many as all else
// that a kernel has, so they stand there for a column, and the columns of sums take turns to be the first one: moves
// are few beside them.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/finishing.cuh"
#include "kernels/common/target.cuh"
#include "kernels/ffma_tma/output.cuh"
#include "kernels/ffma_tma/params.h"

namespace xgemm::kernels {

template <FfmaTmaConfig kConfig>
struct FfmaTmaFinisher {
  using Output = FfmaTmaOutput<kConfig>;
  static constexpr int kRows = kConfig.thread_m;
  template <int kColumns>
  using Sums = float[kColumns][kRows];

  // Of each sum becomes activation(alpha * sum + bias), times scales. (row, column): of C, where the thread's begin.
  template <int kColumns>
  XGEMM_DEVICE static void run(const FfmaTmaParams& p, std::int64_t row, std::int64_t column, float alpha,
                               Sums<kColumns>& sums) {
    const Finishing& f = p.finishing;
    const int rows = static_cast<int>(p.m - row), columns = static_cast<int>(p.n - column);
    if (f.bias == nullptr) {
      for_each(sums, [&](float& x, int, int) { x = gpu::multiply(alpha, x); });
    } else {
      const auto* const bias = static_cast<const float*>(f.bias);
      with_vector(f.bias_of_rows, bias, row, column, rows, columns, sums,
                  [&](float& x, float y) { x = gpu::fma(alpha, x, y); });
    }
    with_activation<float, float>(f.activation, [&](const auto& function) { by_turns(sums, function); });
    const auto scale = [](float& x, float y) { x = gpu::multiply(x, y); };
    if (f.row_scales != nullptr) with_vector(true, f.row_scales, row, column, rows, columns, sums, scale);
    if (f.column_scales != nullptr) with_vector(false, f.column_scales, row, column, rows, columns, sums, scale);
  }

 private:
  template <int kColumns, class F>
  XGEMM_DEVICE static void for_each(Sums<kColumns>& sums, const F& f) {
    XGEMM_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      XGEMM_UNROLL
      for (int i = 0; i < kRows; ++i) f(sums[j][i], i, j);
    }
  }

  // Calls f(sum, element) with the elements of a vector that has one for each row of C, or for each column. Beyond C
  // there are sums, too, which get any.
  template <int kColumns, class F>
  XGEMM_DEVICE static void with_vector(bool of_rows, const float* vector, std::int64_t row, std::int64_t column,
                                       int rows, int columns, Sums<kColumns>& sums, const F& f) {
    const auto element = [](const float* from, int at, int extent) {
      return gpu::read<gpu::Space::global>(from + (at < extent ? at : extent - 1));
    };
    if (of_rows) {
      float of[kRows];
      XGEMM_UNROLL
      for (int i = 0; i < kRows; ++i) of[i] = element(vector + row, Output::row_of(i) + i % 4, rows);
      for_each(sums, [&](float& x, int i, int) { f(x, of[i]); });
    } else {
      float of[kColumns];
      XGEMM_UNROLL
      for (int j = 0; j < kColumns; ++j) of[j] = element(vector + column, Output::column_of(j), columns);
      for_each(sums, [&](float& x, int, int j) { f(x, of[j]); });
    }
  }

  // Eight sums are the first ones at a time: more would not fit into the registers beside the others.
  template <int kColumns, class F>
  XGEMM_DEVICE static void by_turns(Sums<kColumns>& sums, const F& function) {
    constexpr int kNumber = kColumns * kRows, kFirst = kNumber < 8 ? kNumber : 8;
    const auto sum = [&](int i) -> float& { return sums[i / kRows][i % kRows]; };
    XGEMM_NO_UNROLL
    for (int turn = 0; turn < kNumber / kFirst; ++turn) {
      float first[kFirst];
      XGEMM_UNROLL
      for (int i = 0; i < kFirst; ++i) first[i] = function(sum(i));
      XGEMM_UNROLL
      for (int i = 0; i + kFirst < kNumber; ++i) sum(i) = sum(i + kFirst);
      XGEMM_UNROLL
      for (int i = 0; i < kFirst; ++i) sum(kNumber - kFirst + i) = first[i];
    }
  }
};

}  // namespace xgemm::kernels
