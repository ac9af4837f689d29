// Random products with an epilogue, through the general call, and what they have to give.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/oracle.h"
#include "xgemm.h"

namespace xgemm::test {

// In double. x is large in no test, so that nothing overflows.
inline double activated(std::int32_t activation, double x) {
  switch (activation) {
    case XGEMM_RELU:
      return x < 0 ? 0 : x;
    case XGEMM_GELU:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case XGEMM_GELU_TANH:
      return x / (1 + std::exp(-2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case XGEMM_SILU:
      return x / (1 + std::exp(-x));
    default:
      return x;
  }
}

// The matrices of a strided batch by pointers.
struct PointerArrays {
  std::vector<const void*> a, b;
  std::vector<void*> c;

  template <class T, class C>
  static PointerArrays of(const xgemm_args& x) {
    PointerArrays arrays;
    for (std::int64_t entry = 0; entry < x.batch_count; ++entry) {
      arrays.a.push_back(static_cast<const T*>(x.a) + entry * x.stride_a);
      arrays.b.push_back(static_cast<const T*>(x.b) + entry * x.stride_b);
      arrays.c.push_back(static_cast<C*>(x.c) + entry * x.stride_c);
    }
    return arrays;
  }
};

// A and B of type T, C, old C and bias of type C; scales as sums are.
template <class T, class C = T>
struct EpilogueCase {
  using Scalar = ScalarOf<T>;
  static constexpr bool kDouble = std::is_same_v<T, double>;

  char transa, transb;
  std::int64_t m, n, k, batch;
  Scalar alpha, beta;
  std::int32_t activation, bias_along;
  bool has_bias, has_row_scales, has_column_scales, has_old_c, has_aux, row_major;
  Matrix<T> a, b;
  Matrix<C> c, c_before, old_c, bias;  // vectors are columns
  Matrix<C> aux;                       // ReLU's bits lie in its bytes
  Matrix<Scalar> row_scales, column_scales;

  // multiple: of which extents, leading dimensions and first elements are.
  EpilogueCase(Random& random, std::int64_t most, std::int64_t multiple = 1, std::int64_t most_rows = 0) {
    const auto any = [&](std::initializer_list<double> from) {
      return from.begin()[random.integer(0, static_cast<std::int64_t>(from.size()) - 1)];
    };
    const auto coin = [&] { return random.integer(0, 1) == 1; };
    const auto extent = [&] {
      return (random.integer(1, random.integer(0, 2) == 0 ? 9 : most) + multiple - 1) / multiple * multiple;
    };
    transa = coin() ? 'T' : 'N', transb = coin() ? 'T' : 'N';
    m = most_rows > 0 ? random.integer(1, most_rows) : extent(), n = extent(),
    k = random.integer(0, 9) == 0 ? 0 : extent();
    batch = any({1, 1, 2, 3});
    alpha = static_cast<Scalar>(any({1, 1, -0.7, 0.5, 0})), beta = static_cast<Scalar>(any({0, 0, 1, -0.6}));
    activation = static_cast<std::int32_t>(random.integer(XGEMM_NO_ACTIVATION, XGEMM_SILU));
    bias_along = coin() ? XGEMM_BIAS_OF_ROWS : XGEMM_BIAS_OF_COLUMNS;
    has_bias = coin(), has_row_scales = coin(), has_column_scales = coin(), has_old_c = coin(), row_major = coin();
    const auto make = [&](auto& matrix, std::int64_t rows, std::int64_t columns, bool filled) {
      matrix = std::remove_reference_t<decltype(matrix)>(rows, columns, rows + multiple * random.integer(0, 8),
                                                         coin() ? 0 : multiple * random.integer(0, 8));
      if (filled) matrix.fill_uniform(random.bits());
    };
    make(a, transa == 'N' ? m : k, (transa == 'N' ? k : m) * batch, true);
    make(b, transb == 'N' ? k : n, (transb == 'N' ? n : k) * batch, true);
    make(c, m, n * batch, beta != 0 && !has_old_c);
    make(old_c, m, n * batch, beta != 0);
    make(bias, bias_along == XGEMM_BIAS_OF_ROWS ? m : n, 1, true);
    has_aux = activation != XGEMM_NO_ACTIVATION && coin();
    make(aux, m, n * batch, false);
    make(row_scales, m, 1, true);
    make(column_scales, n, 1, true);
    c_before = c;
  }
  EpilogueCase(const EpilogueCase&) = delete;

  // at(matrix): where the call finds its first element.
  template <class At>
  xgemm_args args(const At& at) const {
    xgemm_args x = XGEMM_ARGS_INIT;
    x.type = kDouble                    ? XGEMM_F64
             : std::is_same_v<T, float> ? XGEMM_F32
             : std::is_same_v<T, Half>  ? XGEMM_F16
                                        : XGEMM_BF16;
    x.type_c = std::is_same_v<T, C> ? XGEMM_C_SAME : XGEMM_C_F32;
    x.transa = transa, x.transb = transb;
    x.m = m, x.n = n, x.k = k;
    x.alpha = &alpha, x.beta = &beta;
    x.a = at(a), x.lda = a.ld(), x.stride_a = a.ld() * (transa == 'N' ? k : m);
    x.b = at(b), x.ldb = b.ld(), x.stride_b = b.ld() * (transb == 'N' ? n : k);
    x.c = at(c), x.ldc = c.ld(), x.stride_c = c.ld() * n;
    x.batch_count = batch;
    x.activation = activation, x.bias_along = bias_along;
    if (has_bias) x.bias = at(bias);
    if (has_row_scales) x.row_scales = at(row_scales);
    if (has_column_scales) x.column_scales = at(column_scales);
    if (has_old_c) x.old_c = at(old_c), x.ld_old_c = old_c.ld(), x.stride_old_c = old_c.ld() * n;
    if (has_aux) {
      const std::int64_t bits = activation == XGEMM_RELU ? 8 * sizeof(C) : 1;
      x.aux = at(aux), x.ld_aux = bits * aux.ld(), x.stride_aux = x.ld_aux * n;
    }
    if (row_major) {  // of the transposes
      x.layout = XGEMM_ROW_MAJOR;
      std::swap(x.transa, x.transb), std::swap(x.m, x.n);
      std::swap(x.a, x.b), std::swap(x.lda, x.ldb), std::swap(x.stride_a, x.stride_b);
      std::swap(x.row_scales, x.column_scales);
      x.bias_along = bias_along == XGEMM_BIAS_OF_ROWS ? XGEMM_BIAS_OF_COLUMNS : XGEMM_BIAS_OF_ROWS;
    }
    return x;
  }

  // "" or what is wrong with c.
  std::string check() const {
    for (const Matrix<C>* written : {&c, &aux})
      if (std::string guards = written->guards_intact(); !guards.empty()) return guards;
    for (std::int64_t entry = 0; entry < batch; ++entry) {
      const Matrix<C>& before = has_old_c ? old_c : c_before;
      const Product<T, C> product = {transa,     transb,
                                     m,          n,
                                     k,          alpha,
                                     beta,       a.data() + entry * a.ld() * (transa == 'N' ? k : m),
                                     a.ld(),     b.data() + entry * b.ld() * (transb == 'N' ? n : k),
                                     b.ld(),     before.data() + entry * n * before.ld(),
                                     before.ld()};
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i) {
          const Expected sum = expected_element(product, i, j);
          const double added = has_bias ? to_double(bias(bias_along == XGEMM_BIAS_OF_ROWS ? i : j, 0)) : 0;
          const double scale =
              (has_row_scales ? double(row_scales(i, 0)) : 1) * (has_column_scales ? double(column_scales(j, 0)) : 1);
          const double expected = activated(activation, sum.value + added) * scale;
          if (has_aux) {
            const double given = sum.value + added;
            const double error = kConstant * kSumRoundoff<T> * (double(k + 2) * sum.magnitude + 8 * std::fabs(added));
            if (std::string wrong = check_aux(i, entry * n + j, given, error); !wrong.empty()) return wrong;
          }
          // No activation is steeper than 1.13; each of them is some roundings of its argument and its value.
          const double u = kSumRoundoff<T>, x = std::fabs(sum.value) + std::fabs(added);
          double bound = 1.2 * (kConstant * u * double(k + 2) * sum.magnitude + 32 * u * x) * std::fabs(scale);
          bound += 4 * u * std::fabs(expected) + 0x1p-149;
          if (sizeof(C) == 2) bound += half_ulp<C>(std::fabs(expected) + bound);
          const double actual = to_double(c(i, entry * n + j));
          if (!(std::fabs(actual - expected) <= bound))
            return "C(" + std::to_string(i) + ", " + std::to_string(j) + ") of entry " + std::to_string(entry) +
                   " is " + std::to_string(actual) + ", expected " + std::to_string(expected) + ": " + words();
        }
    }
    return {};
  }

  // What the activation was given, which is known but for an error.
  std::string check_aux(std::int64_t i, std::int64_t column, double given, double error) const {
    bool good = false;
    if (activation == XGEMM_RELU) {
      const auto* const bytes = reinterpret_cast<const unsigned char*>(&aux(0, column));
      const bool is_set = (bytes[i / 8] >> (i % 8) & 1) != 0;
      const bool rest_is_0 = i + 1 < m || m % 8 == 0 || bytes[i / 8] >> (m % 8) == 0;
      good = (std::fabs(given) <= error || is_set == (given >= 0)) && rest_is_0;
    } else {
      if (sizeof(C) == 2) error += half_ulp<C>(std::fabs(given) + error);
      good = std::fabs(to_double(aux(i, column)) - given) <= error + 0x1p-149;
    }
    return good ? ""
                : "aux of (" + std::to_string(i) + ", " + std::to_string(column) + "), " + std::to_string(given) +
                      ": " + words();
  }

  std::string words() const {
    std::string text = std::string(1, transa) + transb;
    const auto say = [&](const char* name, double x) {
      text.append(" ").append(name).append("=").append(std::to_string(x));
    };
    say("m", double(m)), say("n", double(n)), say("k", double(k)), say("batch", double(batch));
    say("alpha", double(alpha)), say("beta", double(beta)), say("activation", activation);
    say("bias", has_bias ? bias_along + 1 : 0), say("row_scales", has_row_scales),
        say("column_scales", has_column_scales);
    say("old_c", has_old_c), say("aux", has_aux), say("row_major", row_major);
    return text;
  }
};

}  // namespace xgemm::test
