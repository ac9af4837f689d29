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
#include "xgemm/packing.hpp"
#include "xgemm/product.hpp"
#include "xgemm/slices.hpp"

namespace xgemm {

namespace detail {

inline std::string shape(const char* name, std::int64_t rows, std::int64_t cols) {
  return std::string(name) + " is " + std::to_string(rows) + " x " + std::to_string(cols);
}

template <class In, class Out>
void check_shapes(const product<In, Out>& p) {
  const auto& [ctx, alpha, a, b, beta, c] = p;
  const auto require = [&p](bool condition, int status, const char* rule) {
    if (condition) return;
    throw error(status, shape("A", p.a.rows(), p.a.cols()) + ", " + shape("B", p.b.rows(), p.b.cols()) + ", " +
                            shape("C", p.c.rows(), p.c.cols()) + ", but " + rule + " is required");
  };
  require(c.rows() >= 0 && a.rows() == c.rows(), -XGEMM_ARG_M, "rows(A) = rows(C) >= 0");
  require(c.cols() >= 0 && b.cols() == c.cols(), -XGEMM_ARG_N, "cols(B) = cols(C) >= 0");
  require(a.cols() >= 0 && a.cols() == b.rows(), -XGEMM_ARG_K, "cols(A) = rows(B) >= 0");
  if (overlaps_itself(c)) {
    throw error(-XGEMM_ARG_LDC, "C has strides " + std::to_string(c.row_stride()) + " and " +
                                    std::to_string(c.col_stride()) + ", by which two of its " +
                                    std::to_string(c.rows()) + " x " + std::to_string(c.cols()) +
                                    " elements share an address");
  }
}

template <class In, class Out>
void run(product<In, Out> p) {
  check_shapes(p);
  const bool reads_inputs = p.alpha != 0 && p.a.cols() > 0;
  if (p.c.empty() || (!reads_inputs && p.beta == 1)) return;
  if (!reads_inputs) {
    p.a = col_major<const In>(nullptr, p.a.rows(), p.a.cols(), at_least_1(p.a.rows()));
    p.b = col_major<const In>(nullptr, p.b.rows(), p.b.cols(), at_least_1(p.b.rows()));
  }
  if (p.blas_can_take()) {
    p.run();
    return;
  }

  if (reads_inputs && p.a.data() == nullptr) throw error(-XGEMM_ARG_A, "A has no data, but it is read");
  if (reads_inputs && p.b.data() == nullptr) throw error(-XGEMM_ARG_B, "B has no data, but it is read");
  if (p.c.data() == nullptr) throw error(-XGEMM_ARG_C, "C has no data, but it is written");
  const auto must_pack = [ctx = p.ctx](const auto& x) { return !storage_of(x) && !on_device(ctx, x.data()); };
  packed<In> a, b;
  packed<Out> c;
  const MatrixView<Out> result = p.c;
  if (must_pack(p.a)) {
    a = packed<In>(p.a);
    copy(p.a, a.view());
    p.a = a.view();
  }
  if (must_pack(p.b)) {
    b = packed<In>(p.b);
    copy(p.b, b.view());
    p.b = b.view();
  }
  const bool packed_c = must_pack(p.c);
  if (packed_c) {
    c = packed<Out>(p.c);
    if (p.beta != 0) copy(p.c, c.view());
    p.c = c.view();
  }
  run_in_slices(p);
  if (packed_c) copy(p.c, result);
}

template <class M>
using view_of = decltype(as_matrix_view(std::declval<const M&>()));
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
template <class A, class B, class C, class In = detail::value_of<A>, class Out = detail::value_of<C>,
          class = std::void_t<detail::view_of<B>>>
void gemm(detail::sum_if_element<In> alpha, const A& a, const B& b, detail::sum_if_element<In> beta, const C& c,
          xgemm_context* ctx = nullptr) {
  constexpr bool served = detail::is_element<In>::value && detail::is_element<Out>::value;
  constexpr bool alike = std::is_same_v<In, detail::value_of<B>>;
  constexpr bool together = !served || detail::go_together<In, Out>();
  constexpr bool writable = !std::is_const_v<typename detail::view_of<C>::element_type>;
  static_assert(
      served,
      "the elements must be float, double or a 16-bit floating-point type; view raw bits as xgemm::half or bfloat16");
  static_assert(alike, "A and B must have the same element type");
  static_assert(together, "C must have the element type of A and B, or be float beside 16-bit ones");
  static_assert(writable, "C is written, but its elements are const");
  if constexpr (served && alike && together && writable)
    detail::run(detail::product<In, Out>{ctx, alpha, as_matrix_view(a), as_matrix_view(b), beta, as_matrix_view(c)});
}

template <class A, class B, class C, class In = detail::value_of<A>,
          class = std::void_t<detail::view_of<B>, detail::view_of<C>>>
void gemm(detail::sum_if_element<In> alpha, const A& a, const B& b, detail::sum_if_element<In> beta, const C& c,
          const context& ctx) {
  gemm(alpha, a, b, beta, c, ctx.get());
}

}  // namespace xgemm

#endif  // XGEMM_GEMM_HPP
