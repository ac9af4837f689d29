// Epilogues through the C ABI, on host memory: random ones of all types, and what they leave alone.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "support/epilogue.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "api/calls.h"

namespace xgemm::test {
namespace {

template <class T, class C = T>
void random_products(int count) {
  Random random(static_cast<std::uint64_t>(sizeof(T) * 10 + sizeof(C)));
  for (int i = 0; i < count; ++i) {
    // Some taller than the stretch of a column that is finished at once.
    const bool tall = i % 8 == 7;
    EpilogueCase<T, C> x(random, tall ? 9 : 60, 1, tall ? 1500 : 0);
    const Matrix<C> old_c = x.old_c, bias = x.bias;
    xgemm_args args = x.args([](const auto& matrix) {
      using Element = std::remove_cvref_t<decltype(*matrix.data())>;
      return const_cast<Element*>(matrix.data());
    });
    PointerArrays arrays = PointerArrays::of<T, C>(args);
    if (i % 3 == 2) {
      args.a = arrays.a.data(), args.b = arrays.b.data(), args.c = arrays.c.data();
      args.stride_a = args.stride_b = args.stride_c = 0;
      args.batch_kind = XGEMM_BATCH_POINTERS;
    }
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error() << ": " << x.words();
    ASSERT_EQ(x.check(), "");
    ASSERT_TRUE(x.old_c.same_bits(old_c) && x.bias.same_bits(bias)) << x.words();
  }
}

TEST(Epilogue, RandomF32) {
  random_products<float>(400);
}
TEST(Epilogue, RandomF64) {
  random_products<double>(400);
}
TEST(Epilogue, RandomF16) {
  random_products<Half>(400);
}
TEST(Epilogue, RandomBf16) {
  random_products<Bfloat16>(400);
}
TEST(Epilogue, RandomF16ToF32) {
  random_products<Half, float>(200);
}
TEST(Epilogue, RandomBf16ToF32) {
  random_products<Bfloat16, float>(200);
}

// Of matrices that are found by pointers as of others: C itself is what beta multiplies.
template <class T, class C>
void old_c_is_c() {
  const T two = from_double<T>(2), three = from_double<T>(3);
  C c[] = {from_double<C>(100), from_double<C>(10)};
  const float one = 1;
  const void *a[] = {&two, &three}, *b[] = {&three, &three};
  void* of_c[] = {&c[0], &c[1]};
  xgemm_args args = XGEMM_ARGS_INIT;
  args.type = TypeOf<T>::value, args.type_c = kTypeC<T, C>;
  args.m = args.n = args.k = 1;
  args.batch_count = 2, args.batch_kind = XGEMM_BATCH_POINTERS;
  args.a = a, args.b = b, args.c = of_c, args.beta = &one;
  args.old_c = c, args.ld_old_c = 1, args.stride_old_c = 1;
  ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
  EXPECT_EQ(to_double(c[0]), 106);
  EXPECT_EQ(to_double(c[1]), 19);
}
TEST(Epilogue, OldCIsCOfABatchByPointers) {
  old_c_is_c<float, float>();
  old_c_is_c<Half, Half>();
  old_c_is_c<Bfloat16, float>();
}
// A batch of one, by pointers, of whose C old_c is described otherwise: describe(args) says how. Nothing is written.
template <class Describe>
void old_c_is_refused(const Describe& describe, const char* message) {
  const float x[4] = {1, 1, 1, 1}, one = 1;
  float c[8] = {5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<float> before(c, c + 8);
  const void* a[] = {x};
  void* of_c[] = {c};
  xgemm_args args = XGEMM_ARGS_INIT;
  args.m = args.n = 2, args.k = 1;
  args.lda = args.ldc = 2, args.ldb = 1;
  args.batch_kind = XGEMM_BATCH_POINTERS;
  args.a = args.b = a, args.c = of_c, args.beta = &one;
  args.old_c = c;
  describe(args);
  EXPECT_EQ(xgemm_gemm(nullptr, &args), -XGEMM_ARG_OLD_C);
  EXPECT_STREQ(xgemm_last_error(), message);
  EXPECT_EQ(std::vector<float>(c, c + 8), before);
}
TEST(Epilogue, OldCIsCButWithOtherLines) {
  old_c_is_refused([](xgemm_args& args) { args.ld_old_c = 3; }, "old_c is c[0], but ld_old_c = ldc is required then");
}
// With one column as well, of which the distance of the columns says nothing.
TEST(Epilogue, OldCIsCButWithStrides) {
  for (const int n : {1, 2})
    old_c_is_refused(
        [n](xgemm_args& args) {
          args.n = n, args.ld_old_c = 4;
          args.strided = XGEMM_STRIDED_C, args.row_stride_c = 2, args.column_stride_c = 4;
        },
        "old_c is c[0], but C has strides of its own: NULL is required then");
}

// A 1 x 1 product of x and 1.
template <class T>
double activation_of(std::int32_t activation, double x) {
  const T a = from_double<T>(x), one = from_double<T>(1);
  T c{};
  xgemm_args args = XGEMM_ARGS_INIT;
  args.type = TypeOf<T>::value;
  args.m = args.n = args.k = 1;
  args.a = &a, args.b = &one, args.c = &c;
  args.activation = activation;
  EXPECT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
  return to_double(c);
}

TEST(Epilogue, NanStaysAndTailsKeepTheirDigits) {
  for (std::int32_t activation = XGEMM_NO_ACTIVATION; activation <= XGEMM_SILU; ++activation) {
    EXPECT_TRUE(std::isnan(activation_of<float>(activation, std::numeric_limits<double>::quiet_NaN())));
    EXPECT_TRUE(std::isnan(activation_of<double>(activation, std::numeric_limits<double>::quiet_NaN())));
    for (const double x : {-8.0, -5.0, -1.0, -0.125, 0.0, 0.25, 3.0, 30.0, 1000.0}) {
      const double expected = activated(activation, x);
      EXPECT_TRUE(std::fabs(activation_of<double>(activation, x) - expected) <= 1e-12 * std::fabs(expected))
          << activation << " of " << x;
      EXPECT_TRUE(std::fabs(activation_of<float>(activation, x) - expected) <= 2e-5 * std::fabs(expected))
          << activation << " of " << x;
    }
  }
}

// alpha = 0 or k = 0 reads neither A nor B, and beta = 1 leaves C to the epilogue, not as it is.
TEST(Epilogue, IsAppliedWhereThereIsNoProduct) {
  float c[2] = {-1, 2};
  const float zero = 0, one = 1;
  xgemm_args args = XGEMM_ARGS_INIT;
  args.m = 2, args.n = 1, args.k = 4;
  args.alpha = &zero, args.beta = &one;
  args.c = c, args.lda = args.ldb = args.ldc = 4;
  args.activation = XGEMM_RELU;
  ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
  EXPECT_EQ(c[0], 0);
  EXPECT_EQ(c[1], 2);
}

TEST(Epilogue, IsExplained) {
  float x[1] = {};
  xgemm_args args = XGEMM_ARGS_INIT;
  args.m = args.n = args.k = 1;
  args.a = args.b = args.c = x;
  args.bias = x;
  args.activation = XGEMM_GELU_TANH;
  char text[4096];
  ASSERT_EQ(xgemm_explain(nullptr, &args, text, sizeof text), 0);
  EXPECT_NE(std::string(text).find("activation=gelu_tanh bias_along=rows"), std::string::npos) << text;
}

}  // namespace
}  // namespace xgemm::test
