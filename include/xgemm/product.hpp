// Internal: a product of views as one call of the library, where BLAS can describe its matrices.
// C++17. SPDX-License-Identifier: BSD-3-Clause
#ifndef XGEMM_PRODUCT_HPP
#define XGEMM_PRODUCT_HPP

#include <cstdint>
#include <optional>
#include <utility>

#include "xgemm.h"
#include "xgemm/element.hpp"
#include "xgemm/error.hpp"
#include "xgemm/matrix_view.hpp"

namespace xgemm {

namespace detail {

constexpr std::int64_t at_least_1(std::int64_t x) {
  return x > 1 ? x : 1;
}
constexpr std::uint64_t magnitude(std::int64_t x) {
  return x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
}

// How BLAS would describe a matrix: which of rows and columns are contiguous, and the leading dimension.
struct storage {
  bool rows_contiguous;
  std::int64_t ld;
};

// Empty when BLAS cannot describe it: no unit stride, or lines that run backwards or overlap. The stride of an axis
// with one element is never used, so it may have any value; the leading dimension of a single line is the least legal
// one. A single row can be described both ways unless it is strided: it is then contiguous along itself.
template <class T>
constexpr std::optional<storage> storage_of(const MatrixView<T>& x) {
  const bool one_row = x.rows() <= 1, one_col = x.cols() <= 1;
  if ((x.col_stride() == 1 || one_col) && (one_row || (!one_col && x.row_stride() >= x.cols())))
    return storage{true, one_row ? at_least_1(x.cols()) : x.row_stride()};
  if ((x.row_stride() == 1 || one_row) && (one_col || x.col_stride() >= at_least_1(x.rows())))
    return storage{false, one_col ? at_least_1(x.rows()) : x.col_stride()};
  // A single column that is strided: rows of one element.
  if (one_col && x.row_stride() >= 1) return storage{true, x.row_stride()};
  return std::nullopt;
}

// Whether two elements share an address: whether (di, dj) != (0, 0) within the extents solves
// di * row_stride + dj * col_stride = 0. The solutions are the multiples of (col_stride, -row_stride) / gcd.
template <class T>
constexpr bool overlaps_itself(const MatrixView<T>& x) {
  if (x.empty()) return false;
  std::uint64_t g = magnitude(x.row_stride()), rest = magnitude(x.col_stride());
  while (rest != 0) g = std::exchange(rest, g % rest);
  if (g == 0) return x.rows() > 1 || x.cols() > 1;
  return magnitude(x.col_stride()) / g < static_cast<std::uint64_t>(x.rows()) &&
         magnitude(x.row_stride()) / g < static_cast<std::uint64_t>(x.cols());
}

// A batch that gemm() makes itself, of slices of one product.
struct batch {
  std::int64_t count = 1;
  std::int64_t stride_a = 0;
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
};

// One call of the library: A and B have elements of type In, C has those of type Out.
template <class In, class Out>
struct product {
  xgemm_context* ctx;
  sum_of<In> alpha;
  MatrixView<const In> a, b;
  sum_of<In> beta;
  MatrixView<Out> c;

  product transposed() const { return {ctx, alpha, b.transposed(), a.transposed(), beta, c.transposed()}; }

  bool blas_can_take() const { return storage_of(a) && storage_of(b) && storage_of(c); }

  // The storage order of C is that of the call; operands of the other order are transposed in it.
  void run(const batch& slices = {}) const {
    const storage sa = *storage_of(a), sb = *storage_of(b), sc = *storage_of(c);
    xgemm_args args = XGEMM_ARGS_INIT;
    args.type = element<In>::value;
    if (element<Out>::value != element<In>::value) args.type_c = element<Out>::value + 1;  // enum xgemm_type_c
    args.layout = sc.rows_contiguous ? XGEMM_ROW_MAJOR : XGEMM_COL_MAJOR;
    args.transa = sa.rows_contiguous == sc.rows_contiguous ? 'N' : 'T';
    args.transb = sb.rows_contiguous == sc.rows_contiguous ? 'N' : 'T';
    args.m = c.rows();
    args.n = c.cols();
    args.k = a.cols();
    args.alpha = &alpha;
    args.a = a.data();
    args.lda = sa.ld;
    args.b = b.data();
    args.ldb = sb.ld;
    args.beta = &beta;
    args.c = c.data();
    args.ldc = sc.ld;
    args.batch_count = slices.count;
    args.stride_a = slices.stride_a;
    args.stride_b = slices.stride_b;
    args.stride_c = slices.stride_c;
    throw_if_failed(xgemm_gemm(ctx, &args));
  }
};

}  // namespace detail

}  // namespace xgemm

#endif  // XGEMM_PRODUCT_HPP
