// Epilogues through the C ABI, on host memory: random ones of all types, and what they leave alone.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "support/epilogue.h"

#include <gtest/gtest.h>

#include <limits>

#include "api/calls.h"

namespace xgemm::test {
namespace {

template <class T, class C = T>
void random_products(int count) {
  Random random(static_cast<std::uint64_t>(sizeof(T) * 10 + sizeof(C)));
  for (int i = 0; i < count; ++i) {
    EpilogueCase<T, C> x(random, 60);
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
