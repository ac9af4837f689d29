// wgmma_tma and wgmma_words in clusters of all shapes, with every pair of flags: on small tiles whose operands divide
// among the CTAs of a cluster by rows, by pieces, along k, or not among all of them; where the edges leave CTAs of a
// cluster nothing to do; with K in parts, and shared by the cluster as well. gemm_test.cc takes the instances of the
// library through the shapes.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <vector>

#include "families/wgmma_words.h"
#include "gemm_cases.h"

namespace xgemm::sim {
namespace {

using kernels::ClusterShape;
using kernels::Copy;
using kernels::WgmmaTmaConfig;

template <WgmmaTmaConfig kConfig>
void expect_products() {
  const SimKernel kernel =
      kConfig.copy == Copy::bulk ? make_wgmma_tma<kConfig>("cluster") : make_wgmma_words<kConfig>("cluster");
  const auto flags = flags_of(kernel.config).front();
  // Corners and splits take turns: two pairs of flags have the one, two the other.
  bool is_corner = (flags[0] == 'T') != (flags[1] == 'T');
  for (const ClusterShape& cluster : kernels::cluster_shapes(kConfig)) {
    is_corner = !is_corner;
    const std::int64_t m = kConfig.cta_m * cluster.m, n = kConfig.cta_n * cluster.n;
    GemmCase c{.transa = flags[0], .transb = flags[1], .m = m + 8, .n = n - 3, .k = 3 * 64 + 5};
    c.cluster = cluster;
    c.beta = -0.7f;
    c.ld_pad = 1;
    EXPECT_EQ(run_case(kernel, c), "");
    GemmCase other = c;
    if (is_corner || cluster.k > 1) {
      other.m = 8, other.n = 11, other.beta = 0, other.batch = 3;  // most CTAs lie outside
    } else {
      other.k = 5 * 64, other.parts = 2, other.whole_tiles = 1;
    }
    EXPECT_EQ(run_case(kernel, other), "");
  }
}

template <WgmmaTmaConfig kConfig>
void expect_products_of_all_flags() {
  expect_products<kernels::nn(kConfig)>();
  expect_products<kernels::nt(kConfig)>();
  expect_products<kernels::tn(kConfig)>();
  expect_products<kernels::tt(kConfig)>();
}

TEST(Clusters, Cooperative) {
  expect_products_of_all_flags<WgmmaTmaConfig{.cta_m = 128, .cta_n = 40, .stages = 3, .groups_rows = 2}>();
}
TEST(Clusters, TransposedPingPong) {
  expect_products_of_all_flags<WgmmaTmaConfig{
      .cta_m = 96, .cta_n = 64, .stages = 3, .transposed = true, .groups_rows = 1, .ping_pong = true}>();
}
TEST(Clusters, ThatShareK) {
  expect_products_of_all_flags<WgmmaTmaConfig{
      .type_c = DType::f32, .cta_m = 64, .cta_n = 48, .stages = 4, .groups_rows = 1}>();
}

TEST(Clusters, OfOperandsThatStartAnywhere) {
  expect_products_of_all_flags<WgmmaTmaConfig{.type_c = DType::f32,
                                              .cta_m = 64,
                                              .cta_n = 32,
                                              .stages = 10,
                                              .groups_rows = 1,
                                              .copy = Copy::prefetch,
                                              .producers = 4,
                                              .teams = 4}>();
}
TEST(Clusters, OfOperandsThatAreCopied) {
  expect_products_of_all_flags<WgmmaTmaConfig{.cta_m = 64,
                                              .cta_n = 64,
                                              .stages = 8,
                                              .groups_rows = 1,
                                              .copy = Copy::prefetch,
                                              .producers = 2,
                                              .teams = 2,
                                              .vector = 4}>();
}
TEST(Clusters, OfOperandsThatStartAnywhereThroughShared) {
  expect_products<kernels::tn(WgmmaTmaConfig{
      .cta_m = 64, .cta_n = 64, .stages = 8, .groups_rows = 1, .copy = Copy::prefetch, .producers = 4, .teams = 2})>();
}

constexpr WgmmaTmaConfig kLines = {.cta_m = 64,
                                   .cta_n = 128,
                                   .stages = 6,
                                   .groups_rows = 1,
                                   .copy = Copy::prefetch,
                                   .producers = 2,
                                   .teams = 3,
                                   .line_stages = 6};
constexpr WgmmaTmaConfig kTransposedLines = {.cta_m = 128,
                                             .cta_n = 64,
                                             .stages = 6,
                                             .transposed = true,
                                             .groups_rows = 1,
                                             .copy = Copy::prefetch,
                                             .producers = 2,
                                             .teams = 3,
                                             .line_stages = 6};

TEST(Clusters, OfLinesThatStartAnywhere) {
  expect_products_of_all_flags<kLines>();
}
TEST(Clusters, OfLinesThatStartAnywhereTransposed) {
  expect_products_of_all_flags<kTransposedLines>();
}

}  // namespace
}  // namespace xgemm::sim
