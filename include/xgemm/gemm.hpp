// xgemm::gemm: the product of any views.
// C++17. SPDX-License-Identifier: BSD-3-Clause
#ifndef XGEMM_GEMM_HPP
#define XGEMM_GEMM_HPP

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "xgemm.h"
#include "xgemm/context.hpp"
#include "xgemm/element.hpp"
#include "xgemm/error.hpp"
#include "xgemm/matrix_view.hpp"

namespace xgemm {

namespace detail {

// One call of the library: A and B have elements of type In, C has those of type Out.
template <class In, class Out>
struct product {
  xgemm_context* ctx;
  xgemm_fill fill;
  sum_of<In> alpha;
  MatrixView<const In> a, b;
  sum_of<In> beta;
  MatrixView<Out> c;
};

inline std::string shape(const char* name, std::int64_t rows, std::int64_t cols) {
  return std::string(name) + " is " + std::to_string(rows) + " x " + std::to_string(cols);
}

template <class In, class Out>
void check_shapes(const product<In, Out>& p) {
  const auto require = [&p](bool condition, int status, const char* rule) {
    if (condition) return;
    throw error(status, shape("A", p.a.rows(), p.a.cols()) + ", " + shape("B", p.b.rows(), p.b.cols()) + ", " +
                            shape("C", p.c.rows(), p.c.cols()) + ", but " + rule + " is required");
  };
  require(p.c.rows() >= 0 && p.a.rows() == p.c.rows(), -XGEMM_ARG_M, "rows(A) = rows(C) >= 0");
  require(p.c.cols() >= 0 && p.b.cols() == p.c.cols(), -XGEMM_ARG_N, "cols(B) = cols(C) >= 0");
  require(p.a.cols() >= 0 && p.a.cols() == p.b.rows(), -XGEMM_ARG_K, "cols(A) = rows(B) >= 0");
}

// The leading dimension of a view whose columns are contiguous, as BLAS has matrices, or 0 for any other. The stride of
// an axis of one element is never used.
template <class T>
std::int64_t plain_ld(const MatrixView<T>& x) {
  const std::int64_t least = x.rows() > 1 ? x.rows() : 1;
  if (x.rows() > 1 && x.row_stride() != 1) return 0;
  if (x.cols() <= 1) return least;
  return x.col_stride() >= least ? x.col_stride() : 0;
}

// How a view is described: by a flag and a leading dimension where it can be, which small products on the host are
// faster for (their call has nothing out of the ordinary), else by its strides.
struct description {
  char flag;
  std::int64_t ld;  // 0: by its strides
};

// In a call of this layout.
template <class T>
description describe(const MatrixView<T>& x, bool in_rows) {
  const std::int64_t columns = plain_ld(x), rows = plain_ld(x.transposed());
  const std::int64_t plain = in_rows ? rows : columns, transposed = in_rows ? columns : rows;
  if (plain == 0 && transposed != 0) return {'T', transposed};
  return {'N', plain};
}

template <class T>
void set(xgemm_args& args, xgemm_strided bit, const MatrixView<T>& x, std::int64_t known_ld, std::int64_t& ld,
         std::int64_t& row_stride, std::int64_t& column_stride) {
  if (known_ld != 0) {
    ld = known_ld;
    return;
  }
  args.strided |= bit;
  row_stride = x.row_stride();
  column_stride = x.col_stride();
}

template <class In, class Out>
void run(const product<In, Out>& p) {
  check_shapes(p);
  xgemm_args args = XGEMM_ARGS_INIT;
  args.type = element<In>::value;
  if (element<Out>::value != element<In>::value) args.type_c = element<Out>::value + 1;  // enum xgemm_type_c
  args.m = p.c.rows();
  args.n = p.c.cols();
  args.k = p.a.cols();
  args.alpha = &p.alpha;
  args.a = p.a.data();
  args.b = p.b.data();
  args.beta = &p.beta;
  args.c = p.c.data();
  args.fill = p.fill;
  // The layout is that of C, which has no flag.
  const bool in_rows = plain_ld(p.c) == 0 && plain_ld(p.c.transposed()) != 0;
  args.layout = in_rows ? XGEMM_ROW_MAJOR : XGEMM_COL_MAJOR;
  const description a = describe(p.a, in_rows), b = describe(p.b, in_rows), c = describe(p.c, in_rows);
  args.transa = a.flag;
  args.transb = b.flag;
  set(args, XGEMM_STRIDED_A, p.a, a.ld, args.lda, args.row_stride_a, args.column_stride_a);
  set(args, XGEMM_STRIDED_B, p.b, b.ld, args.ldb, args.row_stride_b, args.column_stride_b);
  set(args, XGEMM_STRIDED_C, p.c, c.ld, args.ldc, args.row_stride_c, args.column_stride_c);
  throw_if_failed(xgemm_gemm(p.ctx, &args));
}

template <class M>
using view_of = decltype(as_matrix_view(std::declval<M&>()));
template <class M>
using value_of = typename view_of<M>::value_type;

// The type of alpha and beta, for any type of elements: the message about one that is not served comes later.
template <class T, bool = is_element<T>::value>
struct sum_if_element_of {
  using type = float;
};
template <class T>
struct sum_if_element_of<T, true> {
  using type = sum_of<T>;
};
template <class T>
using sum_if_element = typename sum_if_element_of<T>::type;

// Whether C may have elements of type Out where those of A and B are of type In.
template <class In, class Out>
constexpr bool go_together() {
  if constexpr (is_element<In>::value && is_element<Out>::value)
    return element<Out>::value == element<In>::value ||
           (element<Out>::value == XGEMM_F32 && element<In>::value != XGEMM_F64);
  return false;
}

}  // namespace detail

// C := alpha A B + beta C. A, B, C: MatrixView, std::mdspan of rank 2, or any type with an as_matrix_view() overload.
// Elements: float; double; fp16 as xgemm::half, __half, _Float16 or std::float16_t; bf16 as xgemm::bfloat16,
// __nv_bfloat16 or std::bfloat16_t; one type for A and B, and the same for C, or float beside 16 bits. Sums of doubles
// are double, others fp32, and so are alpha and beta. ctx: NULL is the calling thread's default context. Its scalars
// must be on the host, as they are by default.
//
// fill: which elements of C are computed; those outside of a triangle, whose C is square, are neither read nor written.
// Rank-k updates are gemm(alpha, A, A.transposed(), beta, C, XGEMM_FILL_LOWER).
template <class A, class B, class C, class In = detail::value_of<const A>, class Out = detail::value_of<C>,
          class = std::void_t<detail::view_of<const B>>>
void gemm(detail::sum_if_element<In> alpha, const A& a, const B& b, detail::sum_if_element<In> beta, C&& c,
          xgemm_fill fill, xgemm_context* ctx = nullptr) {
  constexpr bool served = detail::is_element<In>::value && detail::is_element<Out>::value;
  constexpr bool alike = std::is_same_v<In, detail::value_of<const B>>;
  constexpr bool together = !served || detail::go_together<In, Out>();
  constexpr bool writable = !std::is_const_v<typename detail::view_of<C>::element_type>;
  static_assert(
      served,
      "the elements must be float, double or a 16-bit floating-point type; view raw bits as xgemm::half or bfloat16");
  static_assert(alike, "A and B must have the same element type");
  static_assert(together, "C must have the element type of A and B, or be float beside 16-bit ones");
  static_assert(writable, "C is written, but its elements are const");
  if constexpr (served && alike && together && writable)
    detail::run(
        detail::product<In, Out>{ctx, fill, alpha, as_matrix_view(a), as_matrix_view(b), beta, as_matrix_view(c)});
}

template <class A, class B, class C, class In = detail::value_of<const A>,
          class = std::void_t<detail::view_of<const B>, detail::view_of<C>>>
void gemm(detail::sum_if_element<In> alpha, const A& a, const B& b, detail::sum_if_element<In> beta, C&& c,
          xgemm_context* ctx = nullptr) {
  gemm(alpha, a, b, beta, c, XGEMM_FILL_FULL, ctx);
}

template <class A, class B, class C, class In = detail::value_of<const A>,
          class = std::void_t<detail::view_of<const B>, detail::view_of<C>>>
void gemm(detail::sum_if_element<In> alpha, const A& a, const B& b, detail::sum_if_element<In> beta, C&& c,
          const context& ctx) {
  gemm(alpha, a, b, beta, c, XGEMM_FILL_FULL, ctx.get());
}

template <class A, class B, class C, class In = detail::value_of<const A>,
          class = std::void_t<detail::view_of<const B>, detail::view_of<C>>>
void gemm(detail::sum_if_element<In> alpha, const A& a, const B& b, detail::sum_if_element<In> beta, C&& c,
          xgemm_fill fill, const context& ctx) {
  gemm(alpha, a, b, beta, c, fill, ctx.get());
}

}  // namespace xgemm

#endif  // XGEMM_GEMM_HPP
