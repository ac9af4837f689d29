// Internal: products of views in device memory that BLAS cannot describe, cut into slices that it can.
// C++17. SPDX-License-Identifier: BSD-3-Clause
#ifndef XGEMM_SLICES_HPP
#define XGEMM_SLICES_HPP

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "xgemm.h"
#include "xgemm/element.hpp"
#include "xgemm/error.hpp"
#include "xgemm/matrix_view.hpp"
#include "xgemm/product.hpp"

namespace xgemm {

namespace detail {

// Whether kernels have to follow the pointer: device memory, or managed memory where a GPU serves the call. The library
// is asked where a product of that one element would run.
template <class T>
bool on_device(xgemm_context* ctx, const T* pointer) {
  const sum_of<std::remove_cv_t<T>> one = 1, zero = 0;
  xgemm_args args = XGEMM_ARGS_INIT;
  args.type = element<std::remove_cv_t<T>>::value;
  args.m = args.n = args.k = 1;
  args.alpha = &one;
  args.beta = &zero;
  args.a = args.b = pointer;
  args.c = const_cast<std::remove_cv_t<T>*>(pointer);
  char where[32] = "";
  const int status = xgemm_explain(ctx, &args, where, sizeof where);
  if (status == XGEMM_KERNEL_NOT_USABLE) return true;  // a kernel was forced that cannot serve this probe
  throw_if_failed(status);
  return std::strncmp(where, "route=device", 12) == 0;
}

[[noreturn]] inline void throw_not_sliceable() {
  throw error(
      XGEMM_UNSUPPORTED,
      "views in device memory without a unit stride must run through the summed index in the same direction in A "
      "and B, and must not repeat an element along it; copy one of them to contiguous memory first");
}

// Row i of C is row i of A times B. A row of any positive column stride is a matrix that BLAS can take, with that
// stride as its leading dimension, so all rows are one batch. B must be a matrix that BLAS can take.
template <class In, class Out>
void run_by_rows(const product<In, Out>& p) {
  const auto row = [&p](std::int64_t i) {
    return product<In, Out>{p.ctx, p.alpha, p.a.row(i), p.b, p.beta, p.c.row(i)};
  };
  const product<In, Out> first = row(0);
  if (!first.blas_can_take()) throw_not_sliceable();
  if (p.a.row_stride() >= 0) {
    first.run({p.c.rows(), p.a.row_stride(), 0, p.c.row_stride()});
  } else {
    for (std::int64_t i = 0; i < p.c.rows(); ++i) row(i).run();
  }
}

template <class In, class Out>
void run_in_slices(product<In, Out> p) {
  // C runs forward along both axes, and A along the summed one.
  if (p.c.row_stride() < 0) {
    p.c = p.c.reversed_rows();
    p.a = p.a.reversed_rows();
  }
  if (p.c.col_stride() < 0) {
    p.c = p.c.reversed_cols();
    p.b = p.b.reversed_cols();
  }
  if (p.a.col_stride() < 0) {
    p.a = p.a.reversed_cols();
    p.b = p.b.reversed_rows();
  }
  if (p.blas_can_take()) {
    p.run();
  } else if (storage_of(p.b)) {
    run_by_rows(p);
  } else if (storage_of(p.a)) {
    run_by_rows(p.transposed());
  } else {
    // Both: row by row, or column by column where they are fewer, and each of those by the other axis.
    if (p.c.rows() > p.c.cols()) p = p.transposed();
    for (std::int64_t i = 0; i < p.c.rows(); ++i) {
      const product<In, Out> row{p.ctx, p.alpha, p.a.row(i), p.b, p.beta, p.c.row(i)};
      if (!storage_of(row.a)) throw_not_sliceable();
      run_by_rows(row.transposed());
    }
  }
}

}  // namespace detail

}  // namespace xgemm

#endif  // XGEMM_SLICES_HPP
