// The oracle; see oracle.h.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "oracle.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <limits>
#include <type_traits>

namespace xgemm::test {
namespace {

bool transposed(char flag) {
  return flag != 'N' && flag != 'n';
}

template <class T, class C>
double bound_of(const Product<T, C>& product, const Expected& expected) {
  const double k = product.alpha == 0 ? 0.0 : static_cast<double>(product.k);
  // Results in the subnormal range lose an absolute amount with each operation instead of a relative one.
  constexpr double kSmallest = std::is_same_v<T, double> ? 0x1p-1074 : 0x1p-149;
  double bound = kConstant * kSumRoundoff<T> * (k + 2) * expected.magnitude + (k + 2) * kSmallest;
  if (sizeof(C) == 2) bound += half_ulp<C>(std::fabs(expected.value) + bound);
  return bound;
}

// Whether `actual` may stand where fp64 arithmetic gives `expected`.
template <class C>
bool acceptable(double actual, const Expected& expected, double bound) {
  if (std::isnan(expected.value)) return std::isnan(actual);
  if (std::isinf(expected.value)) return actual == expected.value;
  if (std::isinf(actual))  // an overflow, which is right where some value within the bound is beyond the range
    return std::signbit(actual) == std::signbit(expected.value) &&
           std::fabs(expected.value) + bound > ElementTraits<C>::kMax;
  return std::fabs(actual - expected.value) <= bound;
}

}  // namespace

template <class T, class C>
Expected expected_element(const Product<T, C>& p, std::int64_t i, std::int64_t j) {
  Expected expected;
  WideOf<T> value = 0;
  if (p.alpha != 0) {  // NaN included
    WideOf<T> sum = 0;
    double magnitude = 0;
    for (std::int64_t l = 0; l < p.k; ++l) {
      const WideOf<T> a = to_double(transposed(p.transa) ? p.a[l + i * p.lda] : p.a[i + l * p.lda]);
      const WideOf<T> b = to_double(transposed(p.transb) ? p.b[j + l * p.ldb] : p.b[l + j * p.ldb]);
      sum += a * b;
      magnitude += static_cast<double>(std::fabs(a * b));
    }
    if (p.k > 0) {
      value = p.alpha * sum;
      expected.magnitude = std::fabs(p.alpha) * magnitude;
    }
  }
  if (p.beta != 0) {
    const WideOf<T> c = to_double(p.c[i + j * p.ldc]);
    value += p.beta * c;
    expected.magnitude += static_cast<double>(std::fabs(p.beta * c));
  }
  expected.value = static_cast<double>(value);
  return expected;
}

template <class T, class C>
Verdict check_result(const Product<T, C>& p, const C* result, std::int64_t samples) {
  Verdict verdict;
  if (p.m == 0 || p.n == 0) return verdict;
  const auto judge = [&](std::int64_t i, std::int64_t j) {
    const Expected expected = expected_element(p, i, j);
    const double actual = to_double(result[i + j * p.ldc]);
    const double bound = bound_of(p, expected);
    if (!acceptable<C>(actual, expected, bound)) {
      char text[512];
      std::snprintf(text, sizeof text,
                    "C(%" PRId64 ",%" PRId64 ") = %.17g, expected %.17g, error %.3g > bound %.3g; %c%c m=%" PRId64
                    " n=%" PRId64 " k=%" PRId64 " alpha=%.9g beta=%.9g lda=%" PRId64 " ldb=%" PRId64 " ldc=%" PRId64,
                    i, j, actual, expected.value, std::fabs(actual - expected.value), bound, p.transa, p.transb, p.m,
                    p.n, p.k, double(p.alpha), double(p.beta), p.lda, p.ldb, p.ldc);
      verdict.ok = false;
      verdict.message = text;
    } else if (std::isfinite(expected.value) && std::isfinite(actual)) {
      verdict.worst = std::max(verdict.worst, std::fabs(actual - expected.value) / bound);
    }
    return verdict.ok;
  };

  if (p.m <= samples / p.n) {
    for (std::int64_t j = 0; j < p.n; ++j)
      for (std::int64_t i = 0; i < p.m; ++i)
        if (!judge(i, j)) return verdict;
    return verdict;
  }
  // Tiles go wrong at their edges: the last and the first rows and columns are looked at first.
  for (const std::int64_t i : {std::int64_t{0}, p.m / 2, p.m - 1})
    for (const std::int64_t j : {std::int64_t{0}, p.n / 2, p.n - 1})
      if (!judge(i, j)) return verdict;
  Random random(static_cast<std::uint64_t>(p.m * 31 + p.n * 17 + p.k));
  for (std::int64_t sample = 9; sample < samples; ++sample)
    if (!judge(random.integer(0, p.m - 1), random.integer(0, p.n - 1))) return verdict;
  return verdict;
}

template <class T, class C>
Case<T, C>::Case(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, ScalarOf<T> alpha,
                 ScalarOf<T> beta, std::int64_t ld_pad, std::uint64_t seed) {
  const auto ld = [&](std::int64_t rows) { return std::max<std::int64_t>(1, rows) + ld_pad; };
  const auto make = [&](std::int64_t rows, std::int64_t cols) { return Matrix<T>(rows, cols, ld(rows)); };
  a = transposed(transa) ? make(k, m) : make(m, k);
  b = transposed(transb) ? make(n, k) : make(k, n);
  c = Matrix<C>(m, n, ld(m));
  a.fill_uniform(seed * 3 + 1);
  b.fill_uniform(seed * 3 + 2);
  if (beta != 0) c.fill_uniform(seed * 3 + 3);
  a_before_ = a;
  b_before_ = b;
  c_before = c;
  product = {transa, transb, m, n, k, alpha, beta, a.data(), a.ld(), b.data(), b.ld(), c_before.data(), c.ld()};
}

template <class T, class C>
Verdict Case<T, C>::check() const {
  const auto broken = [](std::string message) { return Verdict{false, 0, std::move(message)}; };
  if (std::string guards = c.guards_intact(); !guards.empty()) return broken("C: " + guards);
  if (!a.same_bits(a_before_)) return broken("A was written");
  if (!b.same_bits(b_before_)) return broken("B was written");
  return check_result(product, c.data());
}

#define XGEMM_ORACLE(T, C)                                                                    \
  template struct Case<T, C>;                                                                 \
  template Expected expected_element<T, C>(const Product<T, C>&, std::int64_t, std::int64_t); \
  template Verdict check_result<T, C>(const Product<T, C>&, const C*, std::int64_t);
XGEMM_ORACLE(float, float)
XGEMM_ORACLE(double, double)
XGEMM_ORACLE(Half, Half)
XGEMM_ORACLE(Bfloat16, Bfloat16)
XGEMM_ORACLE(Half, float)
XGEMM_ORACLE(Bfloat16, float)
#undef XGEMM_ORACLE

}  // namespace xgemm::test
