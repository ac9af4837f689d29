// Policies of the wgmma mainloop: operands of a high and a low part, and fp32 as TF32. Each has to give exactly the
// sums that it promises, in their order.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "families/wgmma_tma.h"
#include "gemm_cases.h"
#include "support/element.h"
#include "support/matrix.h"

namespace xgemm::sim {
namespace {

using kernels::MmaPolicy;
using kernels::nn;
using kernels::tn;
using kernels::tt;
using kernels::WgmmaTmaConfig;

// op(A) is m x (planes * k) and op(B) (planes * k) x n: `planes` matrices beside each other, column-major without gaps.
struct Planes {
  std::int64_t m, n, k;
  std::vector<test::Half> a, b;

  Planes(std::int64_t rows, std::int64_t columns, std::int64_t depth, int planes) : m(rows), n(columns), k(depth) {
    test::Random random(7);
    const auto fill = [&](std::vector<test::Half>& x, std::int64_t elements) {
      x.resize(static_cast<std::size_t>(elements * planes));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = test::double_to_half(random.uniform());
    };
    fill(a, m * k);
    fill(b, k * n);
  }
  float a_at(int plane, std::int64_t i, std::int64_t l) const {
    return static_cast<float>(test::to_double(a[static_cast<std::size_t>((plane * k + l) * m + i)]));
  }
  float b_at(int plane, std::int64_t l, std::int64_t j) const {
    return static_cast<float>(test::to_double(b[static_cast<std::size_t>((plane * n + j) * k + l)]));
  }
};

// The sums of the kernel, bit by bit: those of high parts over 64 of K, which are added one after the other, or, of
// short sums, over 32, each begun with what the addition before it rounded off; and the products of high and low parts
// in one sum that is added in the end.
template <WgmmaTmaConfig kConfig>
void expect_bits(std::int64_t m, std::int64_t n, std::int64_t k, const kernels::ClusterShape& cluster = {}) {
  constexpr MmaPolicy kMma = kConfig.mma();
  const Planes x(m, n, k, kMma.planes);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  // Powers of two, one for each row and column, and more of them than tiles reach.
  std::vector<float> factors(1024);
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = std::ldexp(1.0f, static_cast<int>(i % 11) - 5);
  kernels::GemmParams p{};
  p.a = {x.a.data(), 1, m, 0};
  p.b = {x.b.data(), 1, k, 0};
  p.c = {c.data(), 1, m, m * n};
  p.m = m, p.n = n, p.k = k, p.batch_count = 1;
  p.alpha = kernels::Factor::of(1.0f);
  p.beta = kernels::Factor::of(0.0f);
  p.factors_a = factors.data(), p.factors_b = factors.data() + 512;
  GlobalMemory memory;
  memory.add({"A", x.a.data(), 2, m, k, kMma.planes, 1, m, m * k, Access::read});
  memory.add({"B", x.b.data(), 2, k, n, kMma.planes, 1, k, k * n, Access::read});
  memory.add({"C", c.data(), 4, m, n, 1, 1, m, m * n, Access::write});
  memory.add({"factors", factors.data(), 4, 1024, 1, 1, 1, 1024, 0, Access::read});
  Options options;
  options.cluster = cluster;
  const Result result = launch_wgmma_tma<kernels::WgmmaTma<kConfig>>(
      arguments_of<kConfig>(p, schedule_of(kConfig, p, options), nullptr), memory, options);
  ASSERT_TRUE(result.ok()) << result.summary();

  const bool carries = k <= MmaPolicy::kShortSlices * kMma.slice_k();
  const int together = carries ? kMma.slice_k() / 2 : kMma.slice_k();
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      const auto add = [&](float& sum, std::int64_t begin, int plane_a, int plane_b) {
        for (std::int64_t l = begin; l < begin + together && l < k; ++l)
          sum += x.a_at(plane_a, i, l) * x.b_at(plane_b, l, j);
      };
      float sum = 0, high = 0, mixed = 0;
      for (std::int64_t begin = 0; begin < k; begin += together) {
        add(high, begin, 0, 0);
        add(mixed, begin, kConfig.transposed ? 1 : 0, kConfig.transposed ? 0 : 1);  // X is high
        add(mixed, begin, kConfig.transposed ? 0 : 1, kConfig.transposed ? 1 : 0);
        const float next = sum + high;
        high = carries ? high - (next - sum) : 0;
        sum = next;
      }
      sum += std::fma(mixed, 1 / MmaPolicy::kLowScale, high);
      const float expected = sum * factors[static_cast<std::size_t>(i)] * factors[static_cast<std::size_t>(512 + j)];
      ASSERT_EQ(c[static_cast<std::size_t>(j * m + i)], expected) << i << " " << j;
    }
}

TEST(MmaPolicy, PartsAreMultipliedInThreeProducts) {
  constexpr WgmmaTmaConfig kConfig{
      .type = DType::f32, .cta_m = 128, .cta_n = 32, .stages = 3, .groups_rows = 2, .element = DType::f16, .planes = 2};
  expect_bits<nn(kConfig)>(136, 72, 64, {1, 2});
  expect_bits<nn(kConfig)>(136, 72, 328, {1, 2});
  expect_bits<nn(kConfig)>(72, 40, 1536);
  expect_bits<nn(kConfig)>(72, 40, 1544);
}

TEST(MmaPolicy, PartsOfATransposedTile) {
  constexpr WgmmaTmaConfig kConfig{.type = DType::f32,
                                   .cta_m = 32,
                                   .cta_n = 64,
                                   .stages = 4,
                                   .transposed = true,
                                   .groups_rows = 1,
                                   .element = DType::f16,
                                   .planes = 2};
  expect_bits<nn(kConfig)>(40, 72, 600);
}

// To nearest, ties to even, by arithmetic: the copy engine's rounding is by bits.
float rounded_to_tf32(float x) {
  const float unit = std::ldexp(1.0f, std::ilogb(x) - 10);
  return std::nearbyint(x / unit) * unit;
}

// op(A) is m x k, op(B) k x n, along the axes that the instance takes.
template <WgmmaTmaConfig kConfig>
void expect_bits_of_tf32(std::int64_t m, std::int64_t n, std::int64_t k, const kernels::ClusterShape& cluster) {
  test::Random random(9);
  const auto some = [&](std::int64_t elements) {
    std::vector<float> x(static_cast<std::size_t>(elements));
    for (float& element : x) element = static_cast<float>(random.uniform());
    return x;
  };
  const std::vector<float> a = some(k * m), b = some(k * n);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  kernels::GemmParams p{};
  const std::int64_t a_line = kConfig.a_along_k() ? k : m, b_line = kConfig.b_along_k() ? k : n;
  p.a = {a.data(), kConfig.a_along_k() ? k : 1, kConfig.a_along_k() ? 1 : m, 0};
  p.b = {b.data(), kConfig.b_along_k() ? 1 : n, kConfig.b_along_k() ? k : 1, 0};
  p.c = {c.data(), 1, m, m * n};
  p.m = m, p.n = n, p.k = k, p.batch_count = 1;
  p.alpha = kernels::Factor::of(1.0f);
  p.beta = kernels::Factor::of(0.0f);
  GlobalMemory memory;
  memory.add({"A", a.data(), 4, a_line, k * m / a_line, 1, 1, a_line, k * m, Access::read});
  memory.add({"B", b.data(), 4, b_line, k * n / b_line, 1, 1, b_line, k * n, Access::read});
  memory.add({"C", c.data(), 4, m, n, 1, 1, m, m * n, Access::write});
  Options options;
  options.cluster = cluster;
  const Result result = launch_wgmma_tma<kernels::WgmmaTma<kConfig>>(
      arguments_of<kConfig>(p, schedule_of(kConfig, p, options), nullptr), memory, options);
  ASSERT_TRUE(result.ok()) << result.summary();
  EXPECT_EQ(result.counters.total(Traffic::shared_load).excess(), 0);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += rounded_to_tf32(a[static_cast<std::size_t>(i * p.a.row_stride + l * p.a.col_stride)]) *
               rounded_to_tf32(b[static_cast<std::size_t>(l * p.b.row_stride + j * p.b.col_stride)]);
      ASSERT_EQ(c[static_cast<std::size_t>(j * m + i)], sum) << i << " " << j;
    }
}

TEST(MmaPolicy, OperandsOfTf32AreRounded) {
  constexpr WgmmaTmaConfig kConfig{.type = DType::f32, .cta_m = 128, .cta_n = 32, .stages = 3};
  expect_bits_of_tf32<tn(kConfig)>(136, 72, 32, {1, 2});
  expect_bits_of_tf32<tn(kConfig)>(136, 72, 164, {2, 1});
}

// One that tensor cores cannot read where it lies goes through registers.
TEST(MmaPolicy, OperandsOfTf32AlongEitherAxis) {
  constexpr WgmmaTmaConfig kConfig{.type = DType::f32, .cta_m = 128, .cta_n = 32, .stages = 3};
  expect_bits_of_tf32<nn(kConfig)>(136, 72, 32, {1, 2});
  expect_bits_of_tf32<nn(kConfig)>(136, 72, 164, {2, 1});
  constexpr WgmmaTmaConfig kPingPong{
      .type = DType::f32, .cta_m = 128, .cta_n = 32, .stages = 3, .groups_rows = 1, .ping_pong = true};
  expect_bits_of_tf32<nn(kPingPong)>(264, 72, 196, {1, 2});
  constexpr WgmmaTmaConfig kTransposed{.type = DType::f32, .cta_m = 32, .cta_n = 128, .stages = 3, .transposed = true};
  expect_bits_of_tf32<tt(kTransposed)>(72, 136, 60, {2, 1});
  expect_bits_of_tf32<tt(kTransposed)>(72, 136, 164, {1, 2});
}

}  // namespace
}  // namespace xgemm::sim
