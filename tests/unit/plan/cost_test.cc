// The cost model of wgmma_tma and what corrects it: properties on every GPU that there is a row for, and on derived
// ones.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/wgmma_tma/cost_correction.h"
#include "kernels/wgmma_tma/instances.h"
#include "plan/planner.h"
#include "unit/plan/devices.h"
#include "unit/plan/problems.h"

namespace xgemm::test {
namespace {

using device::Nameplate;
using device::Rates;
using kernels::ClusterShape;
using kernels::CostDevice;
using kernels::CostProblem;
using kernels::CostTerms;
using kernels::TileCost;
using kernels::WgmmaTmaConfig;

std::vector<WgmmaTmaConfig> tiles() {
  std::vector<WgmmaTmaConfig> found;
  for (const WgmmaTmaConfig& c : kernels::kConfigs<kernels::Family::wgmma_tma>)
    if (c.type_c == DType::f16 && !c.a_along_k() && c.b_along_k()) found.push_back(c);
  return found;
}

const Nameplate kGpus[] = {{"NVIDIA H100 80GB HBM3", 90, 132, 1.98, 3.35},
                           {"NVIDIA H200", 90, 132, 1.98, 4.92},
                           {"NVIDIA H100 PCIe", 90, 114, 1.755, 2.04},
                           {"NVIDIA H100 NVL", 90, 132, 1.785, 3.94},
                           {"NVIDIA H20", 90, 78, 1.98, 4.0},
                           {"NVIDIA GH200 480GB", 90, 132, 1.98, 4.9}};

CostDevice device_of(const Nameplate& gpu) {
  CostDevice d;
  d.rates = device::rates_of(gpu);
  d.sms = gpu.sm_count;
  for (int i = 0; i < 4; ++i) d.clusters[i] = static_cast<int>(gpu.sm_count * (i < 2 ? 1.0 : 0.91)) >> i;
  return d;
}

// Calls f(tile, cluster) for all tiles in clusters of all shapes.
template <class F>
void for_each_tile(const F& f) {
  for (const WgmmaTmaConfig& c : tiles())
    for (const ClusterShape& cluster : kernels::cluster_shapes(c)) {
      SCOPED_TRACE(kernels::fitted_name(c) + format(" in %dx%d", cluster.m, cluster.n));
      f(c, cluster);
      if (testing::Test::HasFailure()) return;
    }
}

template <class F>
void walk(std::uint64_t seed, int count, F&& f) {
  Random random(seed);
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    const auto extent = [&](int log2) { return 8 * random.integer(1, std::int64_t{1} << random.integer(0, log2)); };
    CostProblem p;
    p.m = extent(11), p.n = extent(11), p.k = extent(13);
    p.batch_count = pick(random, {1, 1, 1, 7});
    p.a_transposed = random.integer(0, 1) != 0, p.b_transposed = random.integer(0, 1) != 0;
    p.reads_c = random.integer(0, 3) == 0;
    p.align_a = 16 << random.integer(0, 3), p.align_b = 16 << random.integer(0, 3);
    const Nameplate& gpu = kGpus[random.integer(0, 5)];
    SCOPED_TRACE(format("%s: %lldx%lldx%lld", gpu.name.data(), static_cast<long long>(p.m), static_cast<long long>(p.n),
                        static_cast<long long>(p.k)));
    f(p, device_of(gpu), random);
  }
}

TEST(Cost, FallsWithEveryRate) {
  walk(71, 300, [](const CostProblem& p, const CostDevice& device, Random& random) {
    for_each_tile([&](const WgmmaTmaConfig& c, const ClusterShape& cluster) {
      const kernels::CostSplit whole = {kernels::cluster_tiles(c, cluster, p), 1};
      const double us = TileCost(c, cluster, p, device)(whole).us;
      ASSERT_TRUE(std::isfinite(us) && us > 0);
      CostDevice faster = device;
      (&faster.rates.sm_ghz)[random.integer(0, 3)] *= 1.5;
      EXPECT_LE(TileCost(c, cluster, p, faster)(whole).us, us);
    });
  });
}

// Of two tiles that do the same, the one that asks for more bytes never looks faster.
TEST(Cost, MoreBytesAreNotFaster) {
  walk(72, 300, [](const CostProblem& p, const CostDevice& device, Random&) {
    for_each_tile([&](const WgmmaTmaConfig& c, const ClusterShape& cluster) {
      const auto us = [&](int align, bool reads_c) {
        CostProblem q = p;
        q.align_a = q.align_b = align;
        q.reads_c = reads_c;
        return TileCost(c, cluster, q, device)({kernels::cluster_tiles(c, cluster, q), 1}).us;
      };
      EXPECT_LE(us(128, false), us(32, false));
      EXPECT_LE(us(32, false), us(16, false));
      EXPECT_LE(us(128, false), us(128, true));
    });
  });
}

// CTAs that share an SM wait together: never longer than one alone, and never less than the memory takes, whatever the
// correction of one alone is.
TEST(Cost, CtasThatShareAnSmTakeNoLongerThanOneAlone) {
  walk(73, 200, [](const CostProblem& p, const CostDevice& device, Random& random) {
    const kernels::ProductWork product(p, device);
    for (const WgmmaTmaConfig& c : tiles()) {
      if (c.most_ctas_per_sm() == 1) continue;
      kernels::TileWork work(c, product, c.exchange_chunks(1));
      const CostTerms alone = TileCost(work, {})({kernels::cluster_tiles(c, {}, p), 1});
      const double corrected = alone.us * (1.65 + 0.85 * random.uniform());
      EXPECT_EQ(work.shared_us(alone, corrected), corrected);
      for (int ctas = 2; ctas <= c.most_ctas_per_sm(); ++ctas) {
        work.ctas_per_sm = ctas;
        const double us = work.shared_us(alone, corrected);
        EXPECT_TRUE(us <= corrected && us > 0) << us;
        EXPECT_GE(us * (1 + 1e-9), std::min(corrected, product.constants.launch + alone.memory));
      }
      EXPECT_LE(work.least_us(), TileCost(work, {})({kernels::cluster_tiles(c, {}, p), 1}).us * (1 + 1e-9));
    }
  });
}

// No part of an estimate exceeds it, whatever the rates: a tile that outruns the L2 or the memory is as slow as they
// are.
TEST(Cost, IsAtLeastWhatEachUnitTakes) {
  walk(73, 300, [](const CostProblem& p, const CostDevice& device, Random&) {
    for_each_tile([&](const WgmmaTmaConfig& c, const ClusterShape& cluster) {
      const TileCost cost(c, cluster, p, device);
      const TileCost::Best e = cost.best_split(32 << 20);
      const CostTerms terms = cost(e.split);
      for (const double part : {terms.l2, terms.power, terms.memory + terms.memory_c, terms.in_flight})
        EXPECT_LE(part, e.us);
      EXPECT_LE(terms.fill, 1.0);
      EXPECT_LE(2.0 * double(p.m) * double(p.n) * double(p.k) * double(p.batch_count) / e.us * 1e-6,
                device.rates.tensor_tflops);
    });
  });
}

TEST(CostCorrection, EveryTileIsFitted) {
  for (const WgmmaTmaConfig& c : tiles()) {
    EXPECT_GE(kernels::fitted_tile(c), 0) << kernels::fitted_name(c);
    EXPECT_EQ(kernels::fitted_clusters(kernels::fitted_tile(c)) & 1, 1u) << "what is small is computed by single CTAs";
  }
  WgmmaTmaConfig another;
  another.stages = 9;
  EXPECT_EQ(kernels::fitted_tile(another), -1);
}

TEST(CostCorrection, StaysWithinItsBounds) {
  walk(74, 300, [](const CostProblem& p, const CostDevice& device, Random&) {
    const kernels::CostCorrection correction(p, device);
    for_each_tile([&](const WgmmaTmaConfig& c, const ClusterShape& cluster) {
      const TileCost cost(c, cluster, p, device);
      const TileCost::Best e = cost.best_split(32 << 20);
      for (const int tile : {kernels::fitted_tile(c), -1}) {
        const double factor = correction(c, tile, cluster, e.split, cost(e.split));
        EXPECT_TRUE(factor >= kernels::CostCorrection::kLeast && factor <= kernels::CostCorrection::kMost) << factor;
      }
    });
  });
}

// Times of tables in perf/tune/measured, in us: estimates are times, not just an order.
TEST(CostCorrection, EstimatesAreNearMeasuredTimes) {
  if (!kernels::is_kernel_or_family("wgmma_tma")) GTEST_SKIP() << "no wgmma_tma in this build";
  const struct {
    int gpu;
    std::int64_t n;
    double us;
  } measured[] = {{0, 512, 3.0}, {0, 1024, 5.8}, {0, 2048, 23.6}, {0, 4096, 170.6}, {0, 12288, 4419},
                  {1, 512, 3.0}, {1, 1024, 5.7}, {1, 2048, 24.0}, {1, 4096, 176.0}, {1, 12288, 4688}};
  for (const auto& x : measured) {
    device::DeviceInfo d = fake_devices()[6];
    d.l2_bytes = static_cast<std::size_t>(x.gpu == 0 ? 50 : 60) << 20;
    d.rates = device::rates_of(kGpus[x.gpu]);
    const Problem p = make_problem(DType::f16, 'N', 'N', x.n, x.n, x.n);
    plan::Plan chosen;
    ASSERT_TRUE(plan::make_plan(p, plan::gather_facts(p), d, "", &chosen).ok());
    EXPECT_TRUE(std::abs(std::log(chosen.estimated_us / x.us)) <= 0.2) << kGpus[x.gpu].name << " " << to_string(chosen);
  }
}

// What a table of one GPU got wrong on another: large products ran on tiles that ask the L2 for more than it gives.
TEST(CostCorrection, LargeProductsRunOnTilesThatFeedThemselves) {
  if (!kernels::is_kernel_or_family("wgmma_tma")) GTEST_SKIP() << "no wgmma_tma in this build";
  for (const Nameplate& gpu : kGpus) {
    device::DeviceInfo d = fake_devices()[6];
    d.sm_count = gpu.sm_count;
    d.rates = device::rates_of(gpu);
    for (const std::int64_t n : {8192, 12288, 16384})
      for (const char transa : {'N', 'T'}) {
        const Problem p = make_problem(DType::f16, transa, 'N', n, n, n);
        plan::Plan chosen;
        ASSERT_TRUE(plan::make_plan(p, plan::gather_facts(p), d, "", &chosen).ok());
        ASSERT_EQ(kernels::info(chosen.kernel).family, kernels::Family::wgmma_tma) << gpu.name << to_string(chosen);
        const auto& c = kernels::config_of<kernels::Family::wgmma_tma>(kernels::info(chosen.kernel));
        const CostProblem q{.m = n, .n = n, .k = n, .a_transposed = transa == 'T'};
        const ClusterShape cluster = chosen.schedule.cluster;
        const CostTerms terms = TileCost(c, cluster, q, device_of(gpu))({kernels::cluster_tiles(c, cluster, q), 1});
        EXPECT_LE(terms.l2, 0.8 * chosen.estimated_us) << gpu.name << " " << to_string(chosen);
      }
  }
}

}  // namespace
}  // namespace xgemm::test
