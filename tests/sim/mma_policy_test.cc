// Policies of the wgmma mainloop that no instance has: sums that leave the tensor cores' accumulators every so often,
// and operands that are sums of several matrices. Each has to give exactly the sums that it promises, in their order.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <vector>

#include "families/wgmma_tma.h"
#include "gemm_cases.h"
#include "support/element.h"
#include "support/matrix.h"

namespace xgemm::sim {
namespace {

using kernels::MmaPolicy;
using kernels::nn;
using kernels::nt;
using kernels::tn;
using kernels::tt;
using kernels::WgmmaTmaConfig;

// All cases of an instance, against fp64.
template <WgmmaTmaConfig kConfig>
void expect_products() {
  const SimKernel kernel = make_wgmma_tma<kConfig>("policy");
  for (const auto& cases : {edge_cases(kernel), scalar_cases(kernel), special_cases(kernel), batch_cases(kernel)})
    for (std::size_t i = 0; i < cases.size(); i += 3) ASSERT_EQ(run_case(kernel, cases[i]), "");
}

TEST(MmaPolicy, PromotedSumsAreProducts) {
  expect_products<nt(WgmmaTmaConfig{.cta_m = 64, .cta_n = 32, .stages = 3, .groups_rows = 1, .promotion_k = 64})>();
  expect_products<tn(WgmmaTmaConfig{.type_c = DType::f32,
                                    .cta_m = 128,
                                    .cta_n = 48,
                                    .stages = 4,
                                    .groups_rows = 2,
                                    .cluster_m = 2,
                                    .promotion_k = 128})>();
  expect_products<tt(WgmmaTmaConfig{.cta_m = 32,
                                    .cta_n = 64,
                                    .stages = 3,
                                    .transposed = true,
                                    .groups_rows = 1,
                                    .ping_pong = true,
                                    .promotion_k = 128})>();
}

// op(A) is m x (planes * k) and op(B) (planes * k) x n: `planes` matrices beside each other, column-major without gaps.
struct Planes {
  std::int64_t m, n, k;
  std::vector<test::Half> a, b;

  Planes(std::int64_t rows, std::int64_t columns, std::int64_t depth, int planes) : m(rows), n(columns), k(depth) {
    test::Random random(7);
    const auto fill = [&](std::vector<test::Half>& x, std::int64_t elements) {
      x.resize(static_cast<std::size_t>(elements * planes));
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = test::double_to_half(random.uniform() * (i < static_cast<std::size_t>(elements) ? 1 : 0x1p-11));
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

// The sums of the kernel, bit by bit: in steps of 16 along K the products of planes, and after each promotion_k of K
// their sum to what there was.
template <WgmmaTmaConfig kConfig>
void expect_bits(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr MmaPolicy kMma = kConfig.mma();
  const Planes x(m, n, k, kMma.planes);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  kernels::GemmParams p{};
  // Planes lie one batch stride apart.
  p.a = {x.a.data(), 1, m, m * k};
  p.b = {x.b.data(), 1, k, k * n};
  p.c = {c.data(), 1, m, m * n};
  p.m = m, p.n = n, p.k = k, p.batch_count = 1;
  p.alpha = kernels::Factor::of(1.0f);
  GlobalMemory memory;
  memory.add({"A", x.a.data(), 2, m, k, kMma.planes, 1, m, m * k, Access::read});
  memory.add({"B", x.b.data(), 2, k, n, kMma.planes, 1, k, k * n, Access::read});
  memory.add({"C", c.data(), 4, m, n, 1, 1, m, m * n, Access::write});
  const Result result = launch_wgmma_tma<kernels::WgmmaTma<kConfig>>(
      arguments_of(kConfig, p, schedule_of(kConfig, p, {}), nullptr), memory, {});
  ASSERT_TRUE(result.ok()) << result.summary();

  const std::int64_t promotion = kMma.promotion_k > 0 ? kMma.promotion_k : k;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      float sum = 0;
      for (std::int64_t begin = 0; begin < k; begin += promotion) {
        float part = 0;
        for (std::int64_t step = begin; step < begin + promotion && step < k; step += 16)
          for (int plane_a = 0; plane_a < kMma.planes; ++plane_a)
            for (int plane_b = 0; plane_a + plane_b < kMma.planes; ++plane_b)
              for (std::int64_t l = step; l < step + 16 && l < k; ++l)
                part += x.a_at(plane_a, i, l) * x.b_at(plane_b, l, j);
        sum += part;
      }
      ASSERT_EQ(c[static_cast<std::size_t>(j * m + i)], sum) << i << " " << j;
    }
}

TEST(MmaPolicy, SumsArePromotedInTheOrderOfK) {
  constexpr WgmmaTmaConfig kConfig{
      .type_c = DType::f32, .cta_m = 64, .cta_n = 32, .stages = 3, .groups_rows = 1, .promotion_k = 128};
  expect_bits<nn(kConfig)>(72, 40, 128);
  expect_bits<nn(kConfig)>(72, 40, 600);
}

TEST(MmaPolicy, OperandsOfTwoPlanesAreMultipliedInThreeProducts) {
  constexpr WgmmaTmaConfig kConfig{.type_c = DType::f32,
                                   .cta_m = 128,
                                   .cta_n = 32,
                                   .stages = 3,
                                   .groups_rows = 2,
                                   .cluster_n = 2,
                                   .planes = 2,
                                   .promotion_k = 64};
  expect_bits<nn(kConfig)>(136, 72, 64);
  expect_bits<nn(kConfig)>(136, 72, 328);
}

}  // namespace
}  // namespace xgemm::sim
