// Split K in the cost model and in plans: what a split may be, what it may cost, and that only its estimate chooses it.
// Properties for any instances and constants, not particular choices.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>

#include "kernels/family.h"
#include "kernels/wgmma_tma/cost.h"
#include "kernels/wgmma_tma/instances.h"
#include "plan/planner.h"
#include "unit/plan/devices.h"
#include "unit/plan/problems.h"

namespace xgemm::test {
namespace {

using device::DeviceInfo;
using kernels::ClusterShape;
using kernels::CostDevice;
using kernels::CostProblem;
using kernels::Family;
using kernels::KernelInfo;
using kernels::TileCost;
using kernels::WgmmaTmaConfig;
using plan::Plan;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const DeviceInfo& h200() {
  return fake_devices()[6];
}

// Empty in builds that are not for sm_90.
std::vector<const KernelInfo*> wgmma_tma_instances() {
  std::vector<const KernelInfo*> found;
  for (int i = 0; i < kernels::count(); ++i)
    if (kernels::info(i).family == Family::wgmma_tma) found.push_back(&kernels::info(i));
  return found;
}

// ---- The cost model -------------------------------------------------------------------------------------------------

std::string describe(const CostProblem& p) {
  return format("m=%lld n=%lld k=%lld batch=%lld reads_c=%d align_a=%d align_b=%d", static_cast<long long>(p.m),
                static_cast<long long>(p.n), static_cast<long long>(p.k), static_cast<long long>(p.batch_count),
                p.reads_c, p.align_a, p.align_b);
}

std::string describe(const TileCost::Best& e) {
  return format("%g us, %g whole tiles, %d parts", e.us, e.split.whole_tiles, e.split.parts);
}

CostProblem random_extents(Random& random) {
  constexpr std::int64_t kExtents[] = {1,   8,   16,   63,   64,   65,   128,   129,  256,
                                       500, 512, 1000, 1024, 2000, 4096, 11008, 30000};
  constexpr std::int64_t kDepths[] = {0,   1,   8,    63,   64,   65,   128,  192,   256,   320,     448,      512,
                                      513, 777, 1000, 1024, 2048, 4096, 8192, 14336, 65536, 1 << 20, 100000007};
  CostProblem p{};
  p.m = pick(random, kExtents), p.n = pick(random, kExtents), p.k = pick(random, kDepths);
  p.batch_count = random.integer(0, 3) != 0 ? 1 : pick(random, {2, 5, 64, 1000});
  p.reads_c = random.integer(0, 1) != 0;
  p.align_a = 16 << random.integer(0, 3);
  p.align_b = 16 << random.integer(0, 3);
  return p;
}

CostDevice random_device(Random& random) {
  CostDevice d;
  d.sms = pick(random, {132, 132, 114, 78, 1});
  for (int i = 0; i < 4; ++i) d.clusters[i] = std::max(1, d.sms / (1 << i));
  d.rates.memory_tbs = pick(random, {1.7, 2.8, 4.0});
  return d;
}

template <class F>
void walk(std::uint64_t seed, int count, F&& f) {
  Random random(seed);
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    const CostProblem p = random_extents(random);
    const CostDevice device = random_device(random);
    SCOPED_TRACE(describe(p) + format(", %d SMs", device.sms));
    for (const KernelInfo* kernel : wgmma_tma_instances()) {
      const auto& c = kernels::config_of<Family::wgmma_tma>(*kernel);
      const std::span<const ClusterShape> shapes = kernels::cluster_shapes(c);
      const ClusterShape& cluster = shapes[static_cast<std::size_t>(random.integer(0, std::ssize(shapes) - 1))];
      SCOPED_TRACE(std::string(kernel->name) + " in " + to_string(cluster));
      f(c, cluster, p, device, random);
      if (testing::Test::HasFailure()) return;
    }
  }
}

constexpr double kLimits[] = {0, 1 << 16, 1 << 20, 32 << 20, kInfinity};  // of the workspace, in bytes

TEST(SplitEstimate, SplitsAreWhatTheKernelCanDo) {
  int split = 0;
  walk(51, 400,
       [&](const WgmmaTmaConfig& c, const ClusterShape& cluster, const CostProblem& p, const CostDevice& device,
           Random& random) {
         const double limit = pick(random, kLimits);
         const TileCost::Best best = TileCost(c, cluster, p, device).best_split(limit);
         SCOPED_TRACE(describe(best));
         const double tiles = kernels::cluster_tiles(c, cluster, p);
         if (best.split.parts == 1) {
           EXPECT_EQ(best.split.whole_tiles, tiles);
           EXPECT_EQ(kernels::split_bytes(c, cluster, p, best.split), 0);
           return;
         }
         ++split;
         EXPECT_GE(best.split.parts, 2);
         EXPECT_EQ(cluster.k, 1) << "the CTAs of a cluster share K already";
         EXPECT_LE(best.split.parts, (p.k + 63) / 64) << "each part has a slice of K";
         EXPECT_TRUE(best.split.whole_tiles >= 0 && best.split.whole_tiles < tiles);
         EXPECT_EQ(std::fmod(best.split.whole_tiles, device.clusters_of(cluster.size())), 0)
             << "whole tiles fill their rounds";
         const double bytes = kernels::split_bytes(c, cluster, p, best.split);
         EXPECT_EQ(bytes, (tiles - best.split.whole_tiles) * best.split.parts * cluster.size() * c.cta_m * c.cta_n *
                              size_of(sums_of(c.type)));
         EXPECT_GT(bytes, 0);
         EXPECT_LE(bytes, limit);
         EXPECT_LT(best.split.whole_tiles + (tiles - best.split.whole_tiles) * best.split.parts, 0x1p32)
             << "units are counted in 32 bits";
       });
  if (!wgmma_tma_instances().empty()) {
    EXPECT_GT(split, 300);
  }
}

// Several at a time, by vectors of two numbers and, where the processor has them, of four.
TEST(SplitEstimate, OfSeveralAtATimeIsThatOfEach) {
  using kernels::TileCosts;
  const auto bits = [](const auto& x) { return std::bit_cast<std::array<std::uint64_t, sizeof x / 8>>(x); };
  walk(55, 1000,
       [&](const WgmmaTmaConfig& c, const ClusterShape& cluster, const CostProblem& p, const CostDevice& device,
           Random& random) {
         const kernels::ProductWork product(p, device);
         const kernels::TileWork own(c, product, c.exchange_chunks(1));
         const auto any_shape = [&] { return pick(random, kernels::kClusterShapes); };
         const int count = static_cast<int>(random.integer(1, TileCosts::kMost));
         ClusterShape shapes[TileCosts::kMost] = {cluster, any_shape(), any_shape(), any_shape()};
         const double limit = pick(random, kLimits);
         for (const bool wide : {false, TileCosts::may_be_wide()}) {
           TileCosts costs(product, wide);
           TileCost::Best best[TileCosts::kMost];
           kernels::CostSplit splits[TileCosts::kMost];
           kernels::CostTerms terms[TileCosts::kMost];
           for (int i = 0; i < count; ++i) costs.add(own, shapes[i]);
           EXPECT_EQ(costs.count(), count);
           costs.best_splits(limit, best);
           EXPECT_EQ(costs.count(), 0);
           for (int i = 0; i < count; ++i) costs.add(own, shapes[i]), splits[i] = best[i].split;
           costs.terms(splits, terms);
           for (int i = 0; i < count; ++i) {
             const TileCost alone(own, shapes[i]);
             const TileCost::Best expected = alone.best_split(limit);
             EXPECT_TRUE(best[i].us == expected.us && best[i].rounds == expected.rounds &&
                         best[i].split.parts == expected.split.parts &&
                         best[i].split.whole_tiles == expected.split.whole_tiles)
                 << describe(best[i]) << ", and alone " << describe(expected);
             EXPECT_EQ(bits(terms[i]), bits(alone(splits[i])));
           }
         }
       });
}

TEST(SplitEstimate, IsFiniteAndTheLeastOfWhatWasWeighed) {
  walk(52, 400,
       [](const WgmmaTmaConfig& c, const ClusterShape& cluster, const CostProblem& p, const CostDevice& device,
          Random&) {
         const double whole = TileCost(c, cluster, p, device)({kernels::cluster_tiles(c, cluster, p), 1}).us;
         EXPECT_TRUE(std::isfinite(whole) && whole > 0) << whole;
         double last = whole;
         EXPECT_EQ(TileCost(c, cluster, p, device).best_split(0).us, whole) << "without memory nothing is split";
         for (const double limit : kLimits) {
           const TileCost::Best best = TileCost(c, cluster, p, device).best_split(limit);
           EXPECT_TRUE(std::isfinite(best.us) && best.us > 0) << describe(best);
           EXPECT_LE(best.us, last) << "more memory never hurts";
           EXPECT_EQ(best.us, TileCost(c, cluster, p, device)(best.split).us)
               << "the estimate is of the split that is returned";
           last = best.us;
         }
       });
}

// Twice the K of the same tiles takes no less, also where it is only then worth a split. Rounding aside.
TEST(SplitEstimate, MoreKIsNotFaster) {
  walk(54, 400,
       [](const WgmmaTmaConfig& c, const ClusterShape& cluster, CostProblem p, const CostDevice& device, Random&) {
         p.k = std::max<std::int64_t>(p.k, 1);
         const TileCost::Best now = TileCost(c, cluster, p, device).best_split(32 << 20);
         p.k *= 2;
         const TileCost::Best twice = TileCost(c, cluster, p, device).best_split(32 << 20);
         EXPECT_GE(twice.us, now.us * (1 - 1e-9)) << describe(now) << ", then " << describe(twice);
       });
}

// ---- Plans ----------------------------------------------------------------------------------------------------------

Plan plan_for(const Problem& p, const DeviceInfo& device, std::string_view force = "") {
  Plan chosen;
  const Status status = plan::make_plan(p, plan::gather_facts(p), device, force, &chosen);
  EXPECT_TRUE(status.ok()) << last_error();
  return chosen;
}

// Products that a kernel of 16-bit elements likes, most of them with few tiles and much K.
Problem likely_split(Random& random, DType type) {
  constexpr std::int64_t kExtents[] = {8, 16, 64, 128, 200, 256, 512, 1024, 1536, 2048, 4096};
  constexpr std::int64_t kDepths[] = {64, 256, 512, 1024, 4096, 8192, 14336, 65536, 1 << 20};
  Problem p = make_problem(type, pick(random, {'N', 'T'}), pick(random, {'N', 'T'}), pick(random, kExtents),
                           pick(random, kExtents), pick(random, kDepths), {}, random.integer(0, 4) == 0 ? 3 : 1);
  p.beta.value = pick(random, {0.0f, 1.0f});
  return p;
}

template <class F>
void walk_plans(std::uint64_t seed, int count, F&& f) {
  Random random(seed);
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    const Problem p =
        i % 2 != 0 ? random_problem(random) : likely_split(random, pick(random, {DType::f16, DType::f16, DType::bf16}));
    const DeviceInfo& device =
        i % 3 != 0 ? h200() : fake_devices()[static_cast<std::size_t>(i) % fake_devices().size()];
    SCOPED_TRACE(to_string(p) + " on " + device::to_string(device));
    f(p, device);
  }
}

// A limit on the way to the choice never changes it.
TEST(SplitPlan, TheChoiceIsTheFirstOfAllCandidates) {
  walk_plans(55, 2000, [](const Problem& p, const DeviceInfo& device) {
    const Plan chosen = plan_for(p, device);
    const std::vector<Plan> all = plan::candidates(p, plan::gather_facts(p), device);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(to_string(chosen), to_string(all.front()));
    EXPECT_EQ(chosen.estimated_us, all.front().estimated_us);
    EXPECT_EQ(chosen.kernel, all.front().kernel);
    EXPECT_EQ(chosen.schedule, all.front().schedule);
    for (std::size_t i = 1; i < all.size(); ++i) {
      EXPECT_LE(all[i - 1].estimated_us, all[i].estimated_us);
      EXPECT_TRUE(all[i - 1].estimated_us < all[i].estimated_us || all[i - 1].kernel < all[i].kernel ||
                  all[i - 1].packing != all[i].packing);
    }
  });
}

TEST(SplitPlan, SaysWhatTheLaunchNeeds) {
  int split = 0;
  walk_plans(56, 1500, [&](const Problem& p, const DeviceInfo& device) {
    for (const Plan& plan : plan::candidates(p, plan::gather_facts(p), device)) {
      SCOPED_TRACE(to_string(plan));
      const KernelInfo& kernel = kernels::info(plan.kernel);
      const kernels::Schedule& schedule = plan.schedule;
      if (schedule.split_tiles == 0) {
        EXPECT_EQ(schedule.workspace_bytes != 0, plan.has_fallback);  // what operands are split into
        EXPECT_EQ(schedule.parts, 1u);
        continue;
      }
      ++split;
      ASSERT_TRUE(kernels::describe(kernel.family).splits(kernel));
      const kernels::TileConfig& c = kernel.config;
      const ClusterShape cluster = schedule.cluster;
      const auto ceil_div = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
      const Problem block = plan.packing.any() ? plan::packed_problem(plan.packing, p) : p;
      const std::int64_t tiles =
          ceil_div(block.m, c.cta_m * cluster.m) * ceil_div(block.n, c.cta_n * cluster.n) * block.batch_count;
      EXPECT_EQ(schedule.whole_tiles + schedule.split_tiles, tiles);
      EXPECT_LE(schedule.parts, ceil_div(p.k, c.cta_k));
      EXPECT_EQ(static_cast<std::int64_t>(schedule.workspace_bytes),
                schedule.split_tiles * schedule.parts * cluster.size() * c.cta_m * c.cta_n * size_of(sums_of(c.type)));
      // The same by hand.
      const int parts = static_cast<int>(schedule.parts);
      EXPECT_EQ(to_string(plan::with_sharing(plan, block, device, {schedule.whole_tiles, parts, cluster})),
                to_string(plan));
      EXPECT_EQ(plan::with_sharing(plan, block, device, {0, 2, cluster}).schedule.workspace_bytes,
                static_cast<std::size_t>(tiles * 2 * cluster.size() * c.cta_m * c.cta_n * size_of(sums_of(c.type))));
      EXPECT_EQ(plan::with_sharing(plan, block, device, {0, 1, cluster}).schedule.workspace_bytes, 0u);
    }
  });
  if (!wgmma_tma_instances().empty()) {
    EXPECT_GT(split, 300);
  }
}

// With alpha = 0, C is scaled and K does not matter: a split would cost a workspace and a second kernel for nothing.
TEST(SplitPlan, NothingIsSplitWithoutAProduct) {
  Random random(58);
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    Problem p = likely_split(random, DType::f16);
    p.alpha.value = 0.0f;
    p.beta.value = 0.5f;
    SCOPED_TRACE(to_string(p));
    for (const Plan& plan : plan::candidates(p, plan::gather_facts(p), h200())) {
      ASSERT_EQ(plan.schedule.split_tiles, 0) << to_string(plan);
    }
  }
}

// What split K is for: a small C that leaves the GPU idle, and much to sum.
TEST(SplitPlan, LongSumsOfASmallCAreSplit) {
  if (wgmma_tma_instances().empty()) GTEST_SKIP() << "this build is not for sm_90";
  const DType type = wgmma_tma_instances().front()->config.type;
  for (const char transa : {'N', 'T'})
    for (const char transb : {'N', 'T'})
      for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{64, 64, 65536},
                                    {128, 128, 65536},
                                    {16, 64, 131072},
                                    {256, 64, 65536},
                                    {512, 512, 65536}}) {
        const Problem p = make_problem(type, transa, transb, m, n, k);
        const Plan chosen = plan_for(p, h200());
        SCOPED_TRACE(to_string(p) + ": " + to_string(chosen));
        EXPECT_EQ(kernels::info(chosen.kernel).family, Family::wgmma_tma);
        EXPECT_GT(chosen.schedule.parts, 1u);
        EXPECT_GT(chosen.schedule.workspace_bytes, 0u);
        // Far from what one CTA after the other would take.
        Problem short_sum = p;
        short_sum.k /= 16;
        EXPECT_LT(chosen.estimated_us, 16 * plan_for(short_sum, h200()).estimated_us);
        EXPECT_LE(chosen.estimated_us, plan_for(p, fake_devices()[7]).estimated_us) << "a single SM is not faster";
      }
}

// The same for kernels without tensor cores, and for operands that TMA cannot load: in parts, or by CTAs of a cluster.
TEST(SplitPlan, OtherKernelsSplitToo) {
  const auto shares_k = [](const Problem& p, const DeviceInfo& device) {
    const kernels::Schedule schedule = plan_for(p, device).schedule;
    return schedule.parts > 1 || schedule.cluster.k > 1;
  };
  for (const DeviceInfo& device : fake_devices()) {
    if (device.sm_count < 80) continue;
    for (const char transa : {'N', 'T'})
      for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{64, 64, 65536}, {512, 1, 65536}, {100, 100, 100000}}) {
        EXPECT_TRUE(shares_k(make_problem(DType::f32, transa, 'N', m, n, k), device));
        EXPECT_TRUE(shares_k(make_problem(DType::f16, transa, 'N', m, n, k, {1, 1, 1, 1, 1, 1}), device));
      }
  }
}

// Without memory for the sums of parts nothing is split.
TEST(SplitPlan, NothingIsSplitWithoutMemoryPools) {
  DeviceInfo device = h200();
  device.has_memory_pools = false;
  Random random(59);
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    const Problem p = likely_split(random, pick(random, {DType::f32, DType::f16}));
    EXPECT_EQ(plan_for(p, device).schedule.split_tiles, 0) << to_string(p);
  }
}

TEST(SplitPlan, TextsShowTheSplit) {
  int split = 0;
  walk_plans(57, 300, [&](const Problem& p, const DeviceInfo& device) {
    const plan::ProblemFacts facts = plan::gather_facts(p);
    const std::string explained = plan::explain_candidates(p, facts, device);
    for (const Plan& plan : plan::candidates(p, facts, device)) {
      const std::string text = to_string(plan);
      EXPECT_NE(explained.find("  candidate: " + text + "\n"), std::string::npos) << text << "\n" << explained;
      EXPECT_NE(text.find(format(" %s ", plan::to_string(plan.schedule).c_str())), std::string::npos) << text;
      const kernels::Schedule& schedule = plan.schedule;
      const std::string shown =
          format(" whole_tiles=%lld parts=%u", static_cast<long long>(schedule.whole_tiles), schedule.parts);
      EXPECT_EQ(text.find(shown) != std::string::npos, schedule.split_tiles > 0) << text;
      EXPECT_EQ(text.find("parts=") != std::string::npos, schedule.split_tiles > 0) << text;
      split += schedule.split_tiles > 0;
    }
  });
  if (!wgmma_tma_instances().empty()) {
    EXPECT_GT(split, 50);
  }
}

}  // namespace
}  // namespace xgemm::test
