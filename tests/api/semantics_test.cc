// The letter of BLAS: what is not read and not written, NaN and infinity, quick returns. What must not be read lies in
// pages that fault.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "api/calls.h"

namespace xgemm::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// The types of A and B, and of C.
template <class I, class O>
struct Operands {
  using Input = I;
  using Output = O;
};

template <class Types>
class Semantics : public testing::Test {};
using Types = testing::Types<Operands<float, float>, Operands<double, double>, Operands<Half, Half>,
                             Operands<Bfloat16, Bfloat16>, Operands<Half, float>, Operands<Bfloat16, float>>;
struct TypeNames {
  template <class T>
  static std::string GetName(int) {
    return std::string(ElementTraits<typename T::Input>::kName) + "_" + ElementTraits<typename T::Output>::kName;
  }
};
TYPED_TEST_SUITE(Semantics, Types, TypeNames);

// beta = 0 overwrites C: NaN in it does not spread, and neither do infinities.
TYPED_TEST(Semantics, BetaZeroDoesNotReadC) {
  using T = typename TypeParam::Input;
  using C = typename TypeParam::Output;
  for (const double old : {kNan, kInf, -kInf})
    for (const float beta : {0.0f, -0.0f})
      for (const float alpha : {0.0f, 1.0f})
        for (const std::int64_t k : {0, 1, 17})
          for (const char trans : {'N', 'T'}) {
            Case<T, C> x(trans, trans, 13, 11, k, alpha, beta);
            x.c.fill(from_double<C>(old));
            ASSERT_EQ(run(x), 0) << xgemm_last_error();
            const Verdict verdict = x.check();
            EXPECT_TRUE(verdict) << verdict.message;
            if (k == 0 || alpha == 0) {
              for (std::int64_t j = 0; j < 11; ++j)
                for (std::int64_t i = 0; i < 13; ++i) ASSERT_EQ(x.c(i, j), C{}) << "+0, not -0";
            }
          }
}

// alpha = 0 or k = 0: A and B may be anything, null and memory that faults among them.
TYPED_TEST(Semantics, AlphaZeroOrNoInnerDimensionReadsNeitherAnorB) {
  using T = typename TypeParam::Input;
  using C = typename TypeParam::Output;
  const FencedMemory nothing(0, FencedMemory::Against::start);
  const auto* const faults = static_cast<const T*>(nothing.data());
  for (const T* input : {faults, static_cast<const T*>(nullptr)})
    for (const float beta : {0.0f, 1.0f, -0.5f})
      for (const char transa : {'N', 'T'})
        for (const char transb : {'N', 'T'})
          for (const bool by_alpha : {true, false})
            for (const std::int64_t batch : {1, 3}) {
              Matrix<C> c(9, 21, 12);
              c.fill_uniform(3);
              const Matrix<C> before = c;
              Product<T, C> p = {transa, transb, 9,       7, by_alpha ? 5 : 0, by_alpha ? 0.0f : 1.0f, beta, input, 64,
                                 input,  64,     nullptr, 12};
              xgemm_args args = args_of(p, c.data());
              args.batch_count = batch;
              args.stride_a = args.stride_b = 1 << 20;
              args.stride_c = 7 * 12;
              ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
              for (std::int64_t entry = 0; entry < batch; ++entry) {
                p.c = before.data() + entry * 7 * 12;
                const Verdict verdict = check_result(p, c.data() + entry * 7 * 12);
                EXPECT_TRUE(verdict) << verdict.message;
              }
              EXPECT_EQ(c.guards_intact(), "");
            }
}

// Quick returns: C is not even looked at.
TYPED_TEST(Semantics, QuickReturnsTouchNothing) {
  using T = typename TypeParam::Input;
  using C = typename TypeParam::Output;
  const FencedMemory nothing(0, FencedMemory::Against::start);
  for (void* memory : {nothing.data(), static_cast<void*>(nullptr)}) {
    const auto* pointer = static_cast<const T*>(memory);
    auto* c = static_cast<C*>(memory);
    EXPECT_EQ(simple_gemm('N', 'N', 0, 5, 5, 1.0f, pointer, 5, pointer, 5, 0.0f, c, 5), 0);
    EXPECT_EQ(simple_gemm('N', 'N', 5, 0, 5, 1.0f, pointer, 5, pointer, 5, 0.0f, c, 5), 0);
    EXPECT_EQ(simple_gemm('N', 'N', 5, 5, 0, 1.0f, pointer, 5, pointer, 5, 1.0f, c, 5), 0);
    EXPECT_EQ(simple_gemm('T', 'T', 5, 5, 5, 0.0f, pointer, 5, pointer, 5, 1.0f, c, 5), 0);
    EXPECT_EQ(simple_gemm('T', 'T', 5, 5, 5, -0.0f, pointer, 5, pointer, 5, 1.0f, c, 5), 0);
    xgemm_args args = XGEMM_ARGS_INIT;
    args.type = TypeOf<T>::value;
    args.type_c = kTypeC<T, C>;
    args.m = args.n = args.k = 5;
    args.lda = args.ldb = args.ldc = 5;
    args.a = args.b = pointer;
    args.c = c;
    args.batch_count = 0;
    EXPECT_EQ(xgemm_gemm(nullptr, &args), 0);
    EXPECT_STREQ(xgemm_last_error(), "");
  }
}

// But the checks come first.
TYPED_TEST(Semantics, ChecksComeBeforeQuickReturns) {
  using T = typename TypeParam::Input;
  using C = typename TypeParam::Output;
  const T* const null = nullptr;
  C* const no_c = nullptr;
  EXPECT_EQ(simple_gemm('N', 'N', 0, 5, 5, 1.0f, null, 0, null, 5, 0.0f, no_c, 5), -XGEMM_ARG_LDA);
  EXPECT_EQ(simple_gemm('X', 'N', 0, 0, 0, 0.0f, null, 1, null, 1, 1.0f, no_c, 1), -XGEMM_ARG_TRANSA);
  EXPECT_EQ(simple_gemm('N', 'N', 5, 5, 0, 1.0f, null, 5, null, 0, 1.0f, no_c, 5), -XGEMM_ARG_LDB);
  EXPECT_EQ(simple_gemm('N', 'N', 5, 0, 5, 1.0f, null, 5, null, 5, 1.0f, no_c, 4), -XGEMM_ARG_LDC);
}

// A NaN or an infinity anywhere gives what the sum over all of k gives, by the oracle: zeros opposite to it do not hide
// it, and rows and columns that it is not in do not get it.
TYPED_TEST(Semantics, NanAndInfinityPropagate) {
  using T = typename TypeParam::Input;
  using C = typename TypeParam::Output;
  const std::int64_t m = 21, n = 18, k = 19;
  for (const double value : {kNan, kInf, -kInf})
    for (const char transa : {'N', 'T'})
      for (const char transb : {'N', 'T'})
        for (const float beta : {0.0f, 1.0f, 0.5f})
          for (int where = 0; where < 4; ++where) {
            Case<T, C> x(transa, transb, m, n, k, 1.0f, beta, 2, 77);
            const auto at_a = [&](std::int64_t i, std::int64_t l) -> T& {
              return transa == 'N' ? x.a(i, l) : x.a(l, i);
            };
            const auto at_b = [&](std::int64_t l, std::int64_t j) -> T& {
              return transb == 'N' ? x.b(l, j) : x.b(j, l);
            };
            if (where == 0) {  // in A against zeros in B
              at_a(m - 1, k - 1) = from_double<T>(value);
              for (std::int64_t j = 0; j < n; j += 2) at_b(k - 1, j) = T{};
            } else if (where == 1) {  // in B against zeros in A
              at_b(0, n - 1) = from_double<T>(value);
              for (std::int64_t i = 0; i < m; i += 2) at_a(i, 0) = T{};
            } else if (where == 2) {  // opposite infinities in one sum
              at_a(3, 1) = from_double<T>(value);
              at_a(3, 2) = from_double<T>(-value);
              at_b(1, 4) = at_b(2, 4) = from_double<T>(1.0);
            } else {  // in C
              if (beta == 0) continue;
              x.c(5, 6) = from_double<C>(value);
              x.c_before = x.c;
              x.product.c = x.c_before.data();
            }
            ASSERT_EQ(run(x), 0) << xgemm_last_error();
            // check() would hold A and B against what they were before the values above were put in.
            const Verdict verdict = check_result(x.product, x.c.data());
            EXPECT_TRUE(verdict) << "value " << value << " at " << where << ": " << verdict.message;
            EXPECT_EQ(x.c.guards_intact(), "");
          }
}

// alpha and beta that are no numbers, or infinite.
TYPED_TEST(Semantics, ScalarsThatAreNoNumbers) {
  using T = typename TypeParam::Input;
  using C = typename TypeParam::Output;
  for (const double value : {kNan, kInf, -kInf}) {
    for (const float beta : {0.0f, 1.0f}) {
      Case<T, C> x('N', 'N', 7, 6, 5, static_cast<float>(value), beta);
      ASSERT_EQ(run(x), 0);
      const Verdict verdict = x.check();
      EXPECT_TRUE(verdict) << "alpha " << value << ": " << verdict.message;
    }
    for (const std::int64_t k : {0, 5}) {
      Case<T, C> x('N', 'N', 7, 6, k, 1.0f, static_cast<float>(value));
      ASSERT_EQ(run(x), 0);
      const Verdict verdict = x.check();
      EXPECT_TRUE(verdict) << "beta " << value << ": " << verdict.message;
    }
  }
}

// alpha = 0 does not multiply a NaN in A.
TYPED_TEST(Semantics, AlphaZeroHidesNan) {
  using T = typename TypeParam::Input;
  using C = typename TypeParam::Output;
  Case<T, C> x('N', 'N', 8, 8, 8, 0.0f, 0.5f);
  x.a.fill(from_double<T>(kNan));
  x.b.fill(from_double<T>(kInf));
  ASSERT_EQ(run(x), 0);
  const Verdict verdict = check_result(x.product, x.c.data());
  EXPECT_TRUE(verdict) << verdict.message;
}

// Operands that end where their last element ends, with faulting memory beyond it and, in a second round, before their
// first: nothing outside op(A), op(B) and C is read or written, the rest of the last column included. A and B are
// read-only.
TYPED_TEST(Semantics, NothingOutsideTheOperandsIsTouched) {
  using T = typename TypeParam::Input;
  using C = typename TypeParam::Output;
  const std::int64_t sizes[][3] = {{1, 1, 1},   {3, 5, 7},   {16, 16, 16}, {17, 33, 9},
                                   {1, 40, 25}, {40, 1, 25}, {65, 63, 129}};
  for (const auto against : {FencedMemory::Against::end, FencedMemory::Against::start})
    for (const auto& [m, n, k] : sizes)
      for (const char transa : {'N', 'T'})
        for (const char transb : {'N', 'T'})
          for (const float beta : {0.0f, 0.5f})
            for (const std::int64_t pad : {0, 3}) {
              const std::int64_t a_rows = transa == 'N' ? m : k, a_cols = transa == 'N' ? k : m;
              const std::int64_t b_rows = transb == 'N' ? k : n, b_cols = transb == 'N' ? n : k;
              const std::int64_t lda = a_rows + pad, ldb = b_rows + pad, ldc = m + pad;
              const auto elements = [](std::int64_t rows, std::int64_t cols, std::int64_t ld) {
                return static_cast<std::size_t>(ld * (cols - 1) + rows);
              };
              const std::size_t a_count = elements(a_rows, a_cols, lda), b_count = elements(b_rows, b_cols, ldb),
                                c_count = elements(m, n, ldc);
              FencedMemory a_memory(a_count * sizeof(T), against), b_memory(b_count * sizeof(T), against);
              const FencedMemory c_memory(c_count * sizeof(C), against);
              auto *a = static_cast<T*>(a_memory.data()), *b = static_cast<T*>(b_memory.data());
              auto* c = static_cast<C*>(c_memory.data());
              Random random(9);
              for (std::size_t i = 0; i < a_count; ++i) a[i] = from_double<T>(random.uniform());
              for (std::size_t i = 0; i < b_count; ++i) b[i] = from_double<T>(random.uniform());
              for (std::size_t i = 0; i < c_count; ++i) c[i] = from_double<C>(random.uniform());
              a_memory.make_read_only();
              b_memory.make_read_only();
              const std::vector<C> before(c, c + c_count);
              const Product<T, C> p = {transa, transb, m, n, k, 1.25f, beta, a, lda, b, ldb, before.data(), ldc};
              ASSERT_EQ(simple_gemm(transa, transb, m, n, k, 1.25f, a, lda, b, ldb, beta, c, ldc), 0);
              const Verdict verdict = check_result(p, c);
              ASSERT_TRUE(verdict) << verdict.message;
              for (std::size_t i = 0; i < c_count; ++i)
                ASSERT_TRUE(static_cast<std::int64_t>(i) % ldc < m || c[i] == before[i]) << "between the columns of C";
            }
}

// Signed zeros of beta * C with alpha = 0: the reference multiplies.
TYPED_TEST(Semantics, ScalingKeepsSignedZeros) {
  using T = typename TypeParam::Input;
  using C = typename TypeParam::Output;
  Matrix<C> c(2, 1);
  c(0, 0) = from_double<C>(0.0);
  c(1, 0) = from_double<C>(-0.0);
  ASSERT_EQ(simple_gemm('N', 'N', 2, 1, 0, 1.0f, static_cast<const T*>(nullptr), 2, static_cast<const T*>(nullptr), 1,
                        -2.0f, c.data(), 2),
            0);
  EXPECT_TRUE(std::signbit(to_double(c(0, 0))));
  EXPECT_FALSE(std::signbit(to_double(c(1, 0))));
}

}  // namespace
}  // namespace xgemm::test
