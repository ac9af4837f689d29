// The cache of plans: a plan that comes out is the one that went in under the same key.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "plan/blocks.h"
#include "plan/forced_kernel.h"
#include "plan/planner.h"
#include "runtime/device_gemm.h"
#include "unit/plan/plans.h"
#include "unit/plan/problems.h"

namespace xgemm::test {
namespace {

using device::DeviceInfo;
using plan::Plan;
using plan::PlanCache;
using plan::PlanKey;

Problem numbered(std::int64_t i) {
  return make_problem(DType::f16, 'N', 'N', 64 + i, 64, 64);
}

Plan numbered_plan(std::int64_t i) {
  Plan plan;
  plan.schedule.units = i;
  return plan;
}

// The number of the plan under the key of a numbered problem; -1 where there is none.
std::int64_t found(const PlanCache& cache, std::int64_t i, int device = 0) {
  Plan plan = numbered_plan(-1);
  const bool known = cache.find(PlanKey(numbered(i), device), &plan);
  EXPECT_EQ(known, plan.schedule.units != -1) << "untouched where there is none";
  return plan.schedule.units;
}

TEST(PlanCache, IsEmptyAtFirst) {
  const PlanCache cache;
  Plan plan;
  EXPECT_FALSE(cache.find(PlanKey(Problem{}, 0), &plan)) << "what an unused entry might be taken for";
  for (std::int64_t i = 0; i < 500; ++i) EXPECT_EQ(found(cache, i), -1);
}

// Whatever was put in, and in which order: a key finds its own last plan or none, and the newest entry is there.
TEST(PlanCache, FindsAPlanOrNone) {
  Random random(43);
  PlanCache cache(4);
  constexpr int kProblems = 300;
  std::vector<std::int64_t> last(kProblems, -1);
  int hits = 0, replaced = 0;
  for (std::int64_t step = 0; step < 3000 && !HasFailure(); ++step) {
    const std::int64_t i = random.integer(0, kProblems - 1);
    std::int64_t& newest = last[static_cast<std::size_t>(i)];
    if (const std::int64_t known = found(cache, i); known != -1) {
      EXPECT_EQ(known, newest);
      ++hits;
    } else {
      replaced += newest >= 0;
    }
    cache.insert(PlanKey(numbered(i), 0), numbered_plan(step));
    newest = step;
    EXPECT_EQ(found(cache, i), step) << "an insertion replaces";
    EXPECT_EQ(found(cache, i, 1), -1) << "another device";
  }
  EXPECT_GT(hits, 100);
  EXPECT_GT(replaced, 100) << "more problems than entries must collide";
}

// A full set gives up one plan for another, and not always the same one.
TEST(PlanCache, ReplacesOneEntryOfAFullSet) {
  PlanCache cache(1);
  constexpr std::int64_t kWays = PlanCache::kWays;
  for (std::int64_t i = 0; i < kWays; ++i) cache.insert(PlanKey(numbered(i), 0), numbered_plan(i));
  for (std::int64_t i = 0; i < kWays; ++i) EXPECT_EQ(found(cache, i), i);
  for (std::int64_t i = kWays; i < 50 * kWays; ++i) {
    cache.insert(PlanKey(numbered(i), 0), numbered_plan(i));
    int kept = 0;
    for (std::int64_t j = 0; j <= i; ++j) kept += found(cache, j) == j;
    EXPECT_EQ(kept, kWays);
  }
  int of_the_first = 0;
  for (std::int64_t i = 0; i < kWays; ++i) of_the_first += found(cache, i) == i;
  EXPECT_LT(of_the_first, kWays / 2) << "all entries are replaced in time";
}

// What a program of many shapes needs.
TEST(PlanCache, HoldsTenThousandShapes) {
  PlanCache cache;
  std::vector<PlanKey> keys;
  Random random(45);
  for (int i = 0; i < 10000; ++i) {
    const auto extent = [&] { return 8 * random.integer(1, 2048); };
    keys.emplace_back(make_problem(DType::f16, 'T', 'N', extent(), extent(), extent()), 0);
  }
  // The shapes of programs differ by powers of two and in few fields, too.
  for (std::int64_t m = 1; m <= 1 << 20; m *= 2)
    for (std::int64_t k = 1; k <= 1 << 20; k *= 2) keys.emplace_back(make_problem(DType::f16, 'T', 'N', m, 4096, k), 0);
  for (const PlanKey& key : keys) cache.insert(key, {});
  int kept = 0;
  Plan plan;
  for (const PlanKey& key : keys) kept += cache.find(key, &plan);
  EXPECT_GE(kept, static_cast<int>(keys.size()) - 40);
}

// Threads that read and write the same few sets: every plan that is found is whole, and belongs to its key.
TEST(PlanCache, NeverMixesPlans) {
  PlanCache cache(2);
  std::atomic<int> wrong = 0, hits = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Random random(100 + static_cast<unsigned>(t));
      for (int step = 0; step < 20000; ++step) {
        const std::int64_t i = random.integer(1, 40);
        const PlanKey key(numbered(i), 0);
        Plan plan;
        if (cache.find(key, &plan)) {
          hits.fetch_add(1);
          if (plan.schedule.units % 64 != i || plan.waves != plan.schedule.units ||
              plan.estimated_us != double(plan.schedule.units))
            wrong.fetch_add(1);
        } else {
          plan.schedule.units = plan.waves = 64 * random.integer(1, 1000) + i;
          plan.estimated_us = double(plan.schedule.units);
          cache.insert(key, plan);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(hits.load(), 1000);
}

// ---- The planner behind it -----------------------------------------------------------------------------------------

// What a call gets is what the planner says, the first time and again, whatever was asked in between.
TEST(PlanCache, AnswersAsThePlannerDoes) {
  Random random(44);
  DeviceInfo device = h200();
  device.ordinal = 17;  // of no other test: a key holds the ordinal alone
  std::vector<Problem> problems;
  for (int i = 0; i < 150; ++i) problems.push_back(some_problem(random));
  for (int step = 0; step < 1500 && !HasFailure(); ++step) {
    Problem p = problems[static_cast<std::size_t>(random.integer(0, step % 2 != 0 ? 9 : 149))];
    p.c.data = moved(p.c.data, 256 * random.integer(0, 100));
    SCOPED_TRACE(to_string(p));
    if (p.compute != Compute::strict && !plan::Blocks(p).whole()) continue;  // planned block by block
    Plan cached, fresh;
    const Status status = runtime::make_plan(p, device, &cached);
    const Status expected = plan::make_plan(p, plan::gather_facts(p), device, plan::forced_kernel(), &fresh);
    ASSERT_EQ(status.code, expected.code);
    if (expected.ok()) {
      EXPECT_TRUE(same(cached, fresh)) << to_string(cached) << "\n" << to_string(fresh);
    }
  }
}

}  // namespace
}  // namespace xgemm::test
