// finish: what an epilogue makes of the results of a product, at the speed of the memory; element by element, so that
// it may work in place.
//
//   CTA: kThreads = 2^width vectors of 16 bytes of C x columns. A thread takes a vector of each of some columns;
//   all of its loads are under way before the first of them is used. Columns that start anywhere are read and
//   written by elements.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/dtype.cuh"
#include "kernels/common/epilogue.cuh"
#include "kernels/common/finishing.cuh"
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
  static constexpr int kMinBlocksPerSm = sizeof(Sum) == 8 ? 2 : 3;
  static constexpr int kVector = FinishParams::vector(sizeof(Element));
  static constexpr int kColumns = FinishParams::columns(sizeof(Element));

  struct SharedStorage {};

  XGEMM_DEVICE static void run(const Params& p, SharedStorage&) {
    gpu::grid_launch_dependents();
    const auto combination = BasicLinearCombination<Sum>::make_early(p);
    XGEMM_NO_UNROLL
    for (std::int64_t tile = gpu::block_x(); tile < p.tiles; tile += p.ctas) {
      // 64-bit division is a function call of about a hundred instructions on a GPU.
      if (p.tiles <= 0x7fffffff) {
        finish_tile<unsigned>(p, combination, static_cast<unsigned>(tile));
      } else {
        finish_tile<std::int64_t>(p, combination, tile);
      }
    }
  }

 private:
  using Sums = Sum[kColumns][kVector];

  template <class Index>
  XGEMM_DEVICE static void finish_tile(const Params& p, const BasicLinearCombination<Sum>& combination, Index tile) {
    const auto tiles_m = static_cast<Index>(p.tiles_m), tiles_n = static_cast<Index>(p.tiles_n);
    const Index lines = tile / tiles_m, entry = lines / tiles_n;
    const int thread = gpu::thread_index();
    finish_vectors(
        p, combination,
        (std::int64_t{tile - lines * tiles_m} << p.width | (thread & ((1 << p.width) - 1))) * std::int64_t{kVector},
        std::int64_t{lines - entry * tiles_n} * ((kThreads >> p.width) * kColumns) + (thread >> p.width), entry);
  }

  // The vectors of a thread: from `row` on, of its columns from `column` on.
  XGEMM_DEVICE static void finish_vectors(const Params& p, const BasicLinearCombination<Sum>& combination,
                                          std::int64_t row, std::int64_t column, std::int64_t entry) {
    gpu::grid_wait_dependencies();
    // Threads beyond the last row stay: others may ask for their bits.
    const int rows = p.m - row >= kVector ? kVector : row < p.m ? static_cast<int>(p.m - row) : 0;
    const bool whole = rows == kVector, vectors = whole && p.vectors;
    const int apart = kThreads >> p.width;
    const bool reads_c = combination.reads_c();
    Sums x = {};
    Element old[kColumns][kVector] = {};
    XGEMM_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      const std::int64_t j = column + i * apart;
      if (j >= p.n) continue;
      if (combination.has_product) load(place<const Sum>(p.sums, row, j, entry), rows, vectors, x[i]);
      if (reads_c) load(place<const Element>(p.old_c, row, j, entry), rows, vectors, old[i]);
    }
    // The factor goes with the bias, as in kernels that finish results (common/finishing.cuh). No bias is what theirs
    // is.
    constexpr Sum kNoBias = sizeof(Element) == 2 ? Sum{0} : -Sum{0};
    Sum factor = 1;
    if (reads_c) {
      each(x, [&](Sum& sum, int i, int e) {
        sum = combination.template apply<true>(sum, gpu::to_sum<Element>(old[i][e]), row + e, column + i * apart, p);
      });
    } else {
      factor = combination.has_product ? combination.alpha : Sum{0};
    }
    const bool vectors_of_rows = whole && p.vectors_of_rows;
    if (p.bias_along == Along::rows) {
      Element bias[kVector] = {};
      load(static_cast<const Element*>(p.bias) + row, rows, vectors_of_rows, bias);
      each(x, [&](Sum& sum, int, int e) { sum = gpu::fma(factor, sum, gpu::to_sum<Element>(bias[e])); });
    } else if (p.bias_along == Along::columns) {
      Sum bias[kColumns] = {};
      load_of_columns(p, static_cast<const Element*>(p.bias), column, bias);
      each(x, [&](Sum& sum, int i, int) { sum = gpu::fma(factor, sum, bias[i]); });
    } else {
      each(x, [&](Sum& sum, int, int) { sum = gpu::fma(factor, sum, kNoBias); });
    }
    if (p.aux.data != nullptr) store_aux(p, row, rows, column, entry, x);
    with_activation<Element, Sum>(
        p.activation, [&](const auto& function) { each(x, [&](Sum& sum, int, int) { sum = function(sum); }); });
    if (p.row_scales != nullptr) {
      Sum scales[kVector] = {};
      load(static_cast<const Sum*>(p.row_scales) + row, rows, vectors_of_rows, scales);
      each(x, [&](Sum& sum, int, int e) { sum *= scales[e]; });
    }
    if (p.column_scales != nullptr) {
      Sum scales[kColumns] = {};
      load_of_columns(p, static_cast<const Sum*>(p.column_scales), column, scales);
      each(x, [&](Sum& sum, int i, int) { sum *= scales[i]; });
    }
    XGEMM_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      const std::int64_t j = column + i * apart;
      if (j >= p.n) continue;
      Element results[kVector];
      XGEMM_UNROLL
      for (int e = 0; e < kVector; ++e) results[e] = gpu::from_sum<Element>(x[i][e]);
      store(place<Element>(p.c, row, j, entry), rows, vectors, results);
    }
  }

  // What the activation is given.
  XGEMM_DEVICE static void store_aux(const Params& p, std::int64_t row, int rows, std::int64_t column,
                                     std::int64_t entry, const Sums& x) {
    const int apart = kThreads >> p.width;
    XGEMM_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      const std::int64_t j = column + i * apart;
      if (p.activation == Activation::relu) {
        // The lanes that have a byte's rows: eight, or all that there are.
        constexpr int kLanes = 8 / kVector > 1 ? 8 / kVector : 1;
        const int lanes = kLanes < 1 << p.width ? kLanes : 1 << p.width;
        int own = 0;
        XGEMM_UNROLL
        for (int e = 0; e < kVector; ++e) own |= (e < rows && x[i][e] >= Sum{0} ? 1 : 0) << e;
        const int first = gpu::lane_index() & -lanes;
        int bits = own;
        if (lanes > 1) {
          bits = 0;
          XGEMM_NO_UNROLL
          for (int lane = 0; lane < lanes; ++lane) bits |= gpu::shuffle(own, first + lane) << (lane * kVector);
        }
        if (rows > 0 && j < p.n && gpu::lane_index() == first)
          gpu::write<gpu::Space::global>(place<unsigned char>(p.aux, row / 8, j, entry),
                                         static_cast<unsigned char>(bits));
      } else if (j < p.n) {
        Element given[kVector];
        XGEMM_UNROLL
        for (int e = 0; e < kVector; ++e) given[e] = gpu::from_sum<Element>(x[i][e]);
        store(place<Element>(p.aux, row, j, entry), rows, rows == kVector && p.vectors_of_aux, given);
      }
    }
  }

  template <class F>
  XGEMM_DEVICE static void each(Sums& x, const F& f) {
    XGEMM_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      XGEMM_UNROLL
      for (int e = 0; e < kVector; ++e) f(x[i][e], i, e);
    }
  }

  template <class T, class Matrix>
  XGEMM_DEVICE static T* place(const Matrix& x, std::int64_t row, std::int64_t column, std::int64_t entry) {
    return static_cast<T*>(x.data) + entry * x.batch_stride + column * x.col_stride + row;
  }

  // What a vector says of a thread's columns.
  template <class T>
  XGEMM_DEVICE static void load_of_columns(const Params& p, const T* from, std::int64_t column, Sum (&to)[kColumns]) {
    const int apart = kThreads >> p.width;
    XGEMM_UNROLL
    for (int i = 0; i < kColumns; ++i)
      if (column + i * apart < p.n) to[i] = gpu::to_sum<T>(gpu::read<gpu::Space::global>(from + column + i * apart));
  }

  // Of 16 bytes at most: vectors of what is wider than C are several accesses.
  template <class T>
  static constexpr int kWidth = kVector* int{sizeof(T)} <= 16 ? kVector : 16 / int{sizeof(T)};

  template <class T>
  XGEMM_DEVICE static void load(const T* from, int rows, bool vectors, T (&to)[kVector]) {
    constexpr int kWide = kWidth<T>;
    if (vectors) {
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
  XGEMM_DEVICE static void store(Element* to, int rows, bool vectors, const Element (&from)[kVector]) {
    if (vectors) {
      gpu::Vector<Element, kVector> vector;
      XGEMM_UNROLL
      for (int e = 0; e < kVector; ++e) vector[e] = from[e];
      gpu::write<gpu::Space::global>(reinterpret_cast<gpu::Vector<Element, kVector>*>(to), vector);
    } else {
      XGEMM_UNROLL
      for (int e = 0; e < kVector; ++e)
        if (e < rows) gpu::write<gpu::Space::global>(to + e, from[e]);
    }
  }
};

}  // namespace xgemm::kernels
