// The built-in loop against the oracle: every edge of its blocks and tiles, all flags, scalars and paddings.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/builtin_gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/oracle.h"

namespace {

using namespace xgemm;

template <class T>
host::Gemm<T> gemm_of(test::Case<T>& c) {
  const auto op = [](char flag) { return flag == 'N' ? Op::none : Op::transpose; };
  const auto& p = c.product;
  return {op(p.transa), op(p.transb), p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, c.c.data(), p.ldc};
}

template <class T>
void run_and_check(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, T beta,
                   std::int64_t ld_pad) {
  test::Case<T> c(transa, transb, m, n, k, alpha, beta, ld_pad);
  ASSERT_TRUE(host::builtin_gemm(gemm_of(c)).ok());
  const test::Verdict verdict = c.check();
  EXPECT_TRUE(verdict.ok) << verdict.message;
}

template <class T>
class BuiltinGemm : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(BuiltinGemm, Types);

TYPED_TEST(BuiltinGemm, SmallShapesWithAllFlags) {
  for (const char transa : {'N', 'T'})
    for (const char transb : {'N', 'T'})
      for (const int m : {1, 2, 7, 8, 15, 16, 17, 33})
        for (const int n : {1, 3, 4, 5, 6, 7, 13})
          for (const int k : {1, 2, 5, 31})
            run_and_check<TypeParam>(transa, transb, m, n, k, 1.5f, -0.75f, (m + n + k) % 3);
}

TYPED_TEST(BuiltinGemm, BlockEdges) {
  for (const char transa : {'N', 'T'})
    for (const char transb : {'N', 'T'}) {
      run_and_check<TypeParam>(transa, transb, 131, 14, 513, -1.0f, 1.0f, 1);  // several blocks of k, m past one block
      run_and_check<TypeParam>(transa, transb, 257, 9, 256, 1.0f, 0.0f, 0);
      run_and_check<TypeParam>(transa, transb, 5, 2055, 9, 1.0f, 0.5f, 2);  // past one block of n
    }
}

TYPED_TEST(BuiltinGemm, BetaZeroDoesNotReadC) {
  // Case fills C with NaN when beta is 0; several blocks of k show that only the first overwrites.
  run_and_check<TypeParam>('N', 'N', 40, 30, 700, 2.0f, 0.0f, 5);
  run_and_check<TypeParam>('N', 'N', 40, 30, 700, 2.0f, -0.0f, 5);
}

TYPED_TEST(BuiltinGemm, NanAndInfinityPropagate) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN(), inf = std::numeric_limits<TypeParam>::infinity();
  test::Case<TypeParam> c('N', 'N', 19, 11, 8, 1.0f, 0.0f);
  c.a(3, 2) = nan;
  c.a(18, 0) = inf;
  c.b.fill(0);
  ASSERT_TRUE(host::builtin_gemm(gemm_of(c)).ok());
  for (int j = 0; j < 11; ++j)
    for (int i = 0; i < 19; ++i)
      if (i == 3 || i == 18)
        EXPECT_TRUE(std::isnan(c.c(i, j)));  // 0 * NaN and 0 * Inf
      else
        EXPECT_EQ(c.c(i, j), 0);
}

TYPED_TEST(BuiltinGemm, SameCallSameBits) {
  test::Case<TypeParam> first('T', 'N', 65, 43, 301, 1.25f, 0.5f), second('T', 'N', 65, 43, 301, 1.25f, 0.5f);
  ASSERT_TRUE(host::builtin_gemm(gemm_of(first)).ok());
  ASSERT_TRUE(host::builtin_gemm(gemm_of(second)).ok());
  EXPECT_TRUE(first.c.same_bits(second.c));
}

}  // namespace
