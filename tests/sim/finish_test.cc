// The finishing pass: every element by the combination, the bias, the activation and the scales, in place and from a
// buffer, for columns that start anywhere; nothing outside is read or written.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "kernels/finish/finish.cuh"
#include "sim/launch.h"
#include "support/epilogue.h"

namespace xgemm::sim {
namespace {

using kernels::FinishParams;
using test::EpilogueCase;
using test::Matrix;
using test::Random;

template <class T>
constexpr DType kType = std::is_same_v<T, float>        ? DType::f32
                        : std::is_same_v<T, double>     ? DType::f64
                        : std::is_same_v<T, test::Half> ? DType::f16
                                                        : DType::bf16;

// The product of a case, computed by the oracle where the pass expects it, then the pass.
template <class T, class C>
void run_case(Random& random, int number) {
  using Sum = test::ScalarOf<T>;
  EpilogueCase<T, C> x(random, 200);
  Problem p;
  p.m = x.m, p.n = x.n, p.k = x.k, p.batch_count = x.batch;
  p.alpha = {x.alpha, nullptr}, p.beta = {x.beta, nullptr};
  p.a.type = p.b.type = kType<T>;
  p.c = {kType<C>, x.c.data(), x.c.ld(), x.c.ld() * x.n};
  Epilogue& e = p.epilogue;
  e.activation = static_cast<Activation>(x.activation);
  if (x.has_bias) {
    e.bias = x.bias.data();
    e.bias_along = x.bias_along == XGEMM_BIAS_OF_ROWS ? Along::rows : Along::columns;
  }
  if (x.has_row_scales) e.row_scales = x.row_scales.data();
  if (x.has_column_scales) e.column_scales = x.column_scales.data();
  if (x.has_old_c && x.beta != 0)
    e.old_c = x.old_c.data(), e.ld_old_c = x.old_c.ld(), e.stride_old_c = x.old_c.ld() * x.n;

  if (x.has_aux) {
    const std::int64_t bits = x.activation == XGEMM_RELU ? 8 * sizeof(C) : 1;
    e.aux = x.aux.data(), e.ld_aux = bits * x.aux.ld(), e.stride_aux = e.ld_aux * x.n;
  }

  Matrix<Sum> buffer(x.m, x.n * x.batch);
  if (const auto product = product_before(p, buffer.data())) {
    for (std::int64_t entry = 0; entry < x.batch; ++entry) {
      const Matrix<C>& before = x.c_before;
      const test::Product<T, C> wanted = {x.transa,
                                          x.transb,
                                          x.m,
                                          x.n,
                                          x.k,
                                          static_cast<Sum>(product->alpha.value),
                                          static_cast<Sum>(product->beta.value),
                                          x.a.data() + entry * x.a.ld() * (x.transa == 'N' ? x.k : x.m),
                                          x.a.ld(),
                                          x.b.data() + entry * x.b.ld() * (x.transb == 'N' ? x.n : x.k),
                                          x.b.ld(),
                                          before.data() + entry * x.n * before.ld(),
                                          before.ld()};
      for (std::int64_t j = 0; j < x.n; ++j)
        for (std::int64_t i = 0; i < x.m; ++i)
          static_cast<Sum*>(product->c.data)[entry * product->c.batch_stride + j * product->c.ld + i] =
              static_cast<Sum>(expected_element(wanted, i, j).value);
    }
  }

  const FinishParams params = kernels::finish_params(p, buffer.data());
  GlobalMemory memory;
  constexpr int kSum = sizeof(Sum), kC = sizeof(C);
  const auto add_vector = [&](const char* name, const void* data, std::int64_t length, int bytes) {
    if (data != nullptr) memory.add({name, data, bytes, length, 1, 1, 1, length, length, Access::read});
  };
  if (needs_buffer(p)) memory.add({"sums", buffer.data(), kSum, x.m, x.n, x.batch, 1, x.m, x.m * x.n, Access::read});
  memory.add({"c", p.c.data, kC, x.m, x.n, x.batch, 1, p.c.ld, p.c.batch_stride, Access::read_write});
  if (e.old_c != nullptr)
    memory.add({"old c", e.old_c, kC, x.m, x.n, x.batch, 1, e.ld_old_c, e.stride_old_c, Access::read});
  if (e.aux != nullptr) {
    const int bytes = e.aux_is_bits() ? 1 : kC;
    memory.add({"aux", e.aux, bytes, e.aux_is_bits() ? (x.m + 7) / 8 : x.m, x.n, x.batch, 1, params.aux.col_stride,
                params.aux.batch_stride, Access::write});
  }
  add_vector("bias", e.bias, e.bias_along == Along::rows ? x.m : x.n, kC);
  add_vector("row scales", e.row_scales, x.m, kSum);
  add_vector("column scales", e.column_scales, x.n, kSum);
  LaunchShape shape;
  shape.grid = params.ctas;
  shape.threads = FinishParams::kThreads;
  shape.granule = kC;
  shape.dependent = true;
  Options options;
  options.order = number % 2 == 0 ? Order::forward : Order::random;
  options.seed = static_cast<std::uint64_t>(number);
  const Result result = launch_body(shape, memory, options, [&params](unsigned char*) {
    using Kernel = kernels::Finish<gpu::ElementOf<kType<C>>>;
    typename Kernel::SharedStorage none;
    Kernel::run(params, none);
  });
  ASSERT_TRUE(result.ok()) << result.summary() << x.words();
  ASSERT_EQ(x.check(), "");
}

template <class T, class C = T>
void run_cases() {
  Random random(5);
  for (int i = 0; i < 60 && !testing::Test::HasFailure(); ++i) run_case<T, C>(random, i);
}

// Far below half a unit in the last place of 16 bits, wherever results are no smaller than what these can hold; numbers
// stay numbers, and NaN stays NaN.
TEST(Finish, ShortSigmoidsAreExactEnough) {
  for (const Activation activation : {Activation::gelu_tanh, Activation::silu}) {
    const auto function = kernels::ShortSigmoid::of(activation);
    const kernels::LongSigmoid longer = {Sigmoid<float>::of(activation)};
    for (double size = 0x1p-30; size < 0x1p127; size *= 1.07)
      for (const float x : {static_cast<float>(size), static_cast<float>(-size)}) {
        const double expected = Sigmoid<double>::of(activation)(x);
        EXPECT_TRUE(std::fabs(function(x) - expected) <= 0x1p-15 * std::fabs(expected) + 0x1p-100) << x;
        for (const float y : {Sigmoid<float>::of(activation)(x), longer(x)})
          EXPECT_TRUE(std::fabs(y - expected) <= 0x1p-15 * std::fabs(expected) + 0x1p-100) << x;
        // The exponential's argument is rounded, to a share of itself.
        const double argument = std::fabs(std::log(std::fabs(expected / x) + 0x1p-126));
        EXPECT_TRUE(std::fabs(longer(x) - expected) <= 0x1p-22 * (2 + argument) * std::fabs(expected) + 0x1p-120) << x;
      }
    EXPECT_EQ(function(INFINITY), INFINITY);
    EXPECT_EQ(longer(INFINITY), INFINITY);
    for (const float zero : {0.0f, -0.0f}) {
      EXPECT_EQ(longer(zero), zero);
      EXPECT_EQ(std::signbit(longer(zero)), std::signbit(zero));
    }
    EXPECT_EQ(longer(0x1p-140f), 0x1p-141f);
    EXPECT_TRUE(std::isnan(function(NAN)) && std::isnan(longer(NAN)));
  }
}

TEST(Finish, TheShortNormalDistributionIsExactEnough) {
  const kernels::ShortNormal function;
  for (double size = 0x1p-30; size < 0x1p127; size *= 1.003)
    for (const float x : {static_cast<float>(size), static_cast<float>(-size)}) {
      const double expected = activated(Activation::gelu, double{x});
      EXPECT_TRUE(std::fabs(function(x) - expected) <= 0x1p-15 * std::fabs(expected) + 0x1p-100) << x;
    }
  EXPECT_EQ(function(0.0f), 0.0f);
  EXPECT_EQ(function(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(function(NAN)));
}

TEST(Finish, F32) {
  run_cases<float>();
}
TEST(Finish, F64) {
  run_cases<double>();
}
TEST(Finish, F16) {
  run_cases<test::Half>();
}
TEST(Finish, Bf16) {
  run_cases<test::Bfloat16>();
}
TEST(Finish, F16ToF32) {
  run_cases<test::Half, float>();
}

}  // namespace
}  // namespace xgemm::sim
