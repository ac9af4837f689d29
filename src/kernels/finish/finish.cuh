// finish: what an epilogue makes of the results of a product, at the speed of the memory; element by element, so that
// it may work in place.
//
//   CTA: kThreads = 2^width vectors of 4 rows x columns. A thread takes a vector of each of 4 columns; all of its loads
//   are under way before the first of them is used. Columns that start anywhere are read and written by elements.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/activation.h"
#include "kernels/common/dtype.cuh"
#include "kernels/common/epilogue.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/target.cuh"
#include "kernels/finish/params.h"

namespace xgemm::kernels {

// Element: of C.
template <class Element>
struct Finish {
  using Sum = std::conditional_t<std::is_same_v<Element, double>, double, float>;
  using Params = FinishParams;
  static constexpr int kThreads = FinishParams::kThreads;
  static constexpr int kMinBlocksPerSm = sizeof(Sum) == 8 ? 2 : 4;
  static constexpr int kMinArch = 750;
  static constexpr int kVector = FinishParams::kVector;
  static constexpr int kColumns = FinishParams::kColumns;

  struct SharedStorage {};

  XGEMM_DEVICE static void run(const Params& p, SharedStorage&) {
    if constexpr (gpu::kArch >= 900) {
      gpu::grid_launch_dependents();
      gpu::grid_wait_dependencies();
    }
    const auto combination = BasicLinearCombination<Sum>::make(p);
    XGEMM_NO_UNROLL
    for (std::int64_t tile = gpu::block_x(); tile < p.tiles; tile += p.ctas) {
      const std::int64_t rest = tile / p.tiles_m;
      const int thread = gpu::thread_index();
      finish_vectors(p, combination,
                     (tile % p.tiles_m << p.width | (thread & ((1 << p.width) - 1))) * std::int64_t{kVector},
                     rest % p.tiles_n * ((kThreads >> p.width) * kColumns) + (thread >> p.width), rest / p.tiles_n);
    }
  }

 private:
  // The vectors of a thread: from `row` on, of its columns from `column` on.
  XGEMM_DEVICE static void finish_vectors(const Params& p, const BasicLinearCombination<Sum>& combination,
                                          std::int64_t row, std::int64_t column, std::int64_t entry) {
    if (row >= p.m) return;
    const int rows = p.m - row < kVector ? static_cast<int>(p.m - row) : kVector;
    const int apart = kThreads >> p.width;
    Sum sums[kColumns][kVector] = {};
    Element old[kColumns][kVector] = {};
    XGEMM_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      const std::int64_t j = column + i * apart;
      if (j >= p.n) continue;
      if (combination.has_product) load(p, place<const Sum>(p.sums, row, j, entry), rows, sums[i]);
      if (combination.reads_c()) load(p, place<const Element>(p.old_c, row, j, entry), rows, old[i]);
    }
    XGEMM_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      const std::int64_t j = column + i * apart;
      if (j >= p.n) continue;
      Element result[kVector] = {};
      XGEMM_UNROLL
      for (int e = 0; e < kVector; ++e) {
        if (e >= rows) continue;
        Sum x = combination.reads_c()
                    ? combination.template apply<true>(sums[i][e], gpu::to_sum<Element>(old[i][e]), row + e, j, p)
                    : combination.template apply<false>(sums[i][e], Sum{0}, row + e, j, p);
        if (p.bias_along != Along::none)
          x += gpu::to_sum<Element>(gpu::read<gpu::Space::global>(static_cast<const Element*>(p.bias) +
                                                                  (p.bias_along == Along::rows ? row + e : j)));
        x = activated(p.activation, x);
        if (p.row_scales != nullptr)
          x *= gpu::read<gpu::Space::global>(static_cast<const Sum*>(p.row_scales) + row + e);
        if (p.column_scales != nullptr)
          x *= gpu::read<gpu::Space::global>(static_cast<const Sum*>(p.column_scales) + j);
        result[e] = gpu::from_sum<Element>(x);
      }
      store(p, place<Element>(p.c, row, j, entry), rows, result);
    }
  }

  template <class T, class Matrix>
  XGEMM_DEVICE static T* place(const Matrix& x, std::int64_t row, std::int64_t column, std::int64_t entry) {
    return static_cast<T*>(x.data) + entry * x.batch_stride + column * x.col_stride + row;
  }

  // Of 16 bytes at most: vectors of doubles are two accesses.
  template <class T>
  static constexpr int kWidth = kVector* int{sizeof(T)} <= 16 ? kVector : 16 / int{sizeof(T)};

  template <class T>
  XGEMM_DEVICE static void load(const Params& p, const T* from, int rows, T (&to)[kVector]) {
    constexpr int kWide = kWidth<T>;
    if (p.vectors && rows == kVector) {
      XGEMM_UNROLL
      for (int first = 0; first < kVector; first += kWide) {
        const auto vector = gpu::read<gpu::Space::global>(reinterpret_cast<const gpu::Vector<T, kWide>*>(from + first));
        XGEMM_UNROLL
        for (int e = 0; e < kWide; ++e) to[first + e] = vector[e];
      }
    } else {
      XGEMM_UNROLL
      for (int e = 0; e < kVector; ++e)
        if (e < rows) to[e] = gpu::read<gpu::Space::global>(from + e);
    }
  }
  template <class T>
  XGEMM_DEVICE static void store(const Params& p, T* to, int rows, const T (&from)[kVector]) {
    constexpr int kWide = kWidth<T>;
    if (p.vectors && rows == kVector) {
      XGEMM_UNROLL
      for (int first = 0; first < kVector; first += kWide) {
        gpu::Vector<T, kWide> vector;
        XGEMM_UNROLL
        for (int e = 0; e < kWide; ++e) vector[e] = from[first + e];
        gpu::write<gpu::Space::global>(reinterpret_cast<gpu::Vector<T, kWide>*>(to + first), vector);
      }
    } else {
      XGEMM_UNROLL
      for (int e = 0; e < kVector; ++e)
        if (e < rows) gpu::write<gpu::Space::global>(to + e, from[e]);
    }
  }
};

}  // namespace xgemm::kernels
