// The cache of plans: a plan that comes out is the one that went in under the same key.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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
  plan.ctas = i;
  return plan;
}

TEST(PlanCache, IsEmptyAtFirst) {
  const PlanCache cache;
  EXPECT_EQ(cache.find(PlanKey(Problem{}, 0)), nullptr) << "what an unused entry might be taken for";
  for (std::int64_t i = 0; i < 500; ++i) EXPECT_EQ(cache.find(PlanKey(numbered(i), 0)), nullptr);
}

// Whatever was put in, and in which order: a key finds its own last plan or none, and the newest entry is there.
TEST(PlanCache, FindsAPlanOrNone) {
  Random random(43);
  PlanCache cache;
  constexpr int kProblems = 300;
  std::vector<std::int64_t> last(kProblems, -1);
  int found = 0, replaced = 0;
  for (std::int64_t step = 0; step < 3000 && !HasFailure(); ++step) {
    const std::int64_t i = random.integer(0, kProblems - 1);
    const PlanKey key(numbered(i), 0);
    if (const Plan* known = cache.find(key); known != nullptr) {
      EXPECT_EQ(known->ctas, last[static_cast<std::size_t>(i)]);
      ++found;
    } else {
      replaced += last[static_cast<std::size_t>(i)] >= 0;
    }
    cache.insert(key, numbered_plan(step));
    last[static_cast<std::size_t>(i)] = step;
    const Plan* known = cache.find(key);
    ASSERT_NE(known, nullptr);
    EXPECT_EQ(known->ctas, step) << "an insertion replaces";
    EXPECT_EQ(cache.find(PlanKey(numbered(i), 1)), nullptr) << "another device";
  }
  EXPECT_GT(found, 100);
  EXPECT_GT(replaced, 100) << "more problems than entries must collide";
}

TEST(PlanCache, ACollisionReplacesTheOneEntry) {
  PlanCache cache;
  cache.insert(PlanKey(numbered(0), 0), numbered_plan(0));
  std::int64_t other = 0;
  while (cache.find(PlanKey(numbered(0), 0)) != nullptr && other < 100000) {
    ++other;
    cache.insert(PlanKey(numbered(other), 0), numbered_plan(other));
  }
  ASSERT_LT(other, 100000);
  ASSERT_NE(cache.find(PlanKey(numbered(other), 0)), nullptr);
  EXPECT_EQ(cache.find(PlanKey(numbered(other), 0))->ctas, other);
  cache.insert(PlanKey(numbered(0), 0), numbered_plan(-7));
  EXPECT_EQ(cache.find(PlanKey(numbered(0), 0))->ctas, -7);
  EXPECT_EQ(cache.find(PlanKey(numbered(other), 0)), nullptr);
}

// The shapes of programs differ by powers of two and in few fields; they must not share entries more than chance has
// it.
TEST(PlanCache, SpreadsCommonShapes) {
  const std::int64_t sizes[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192};
  PlanCache cache;
  std::vector<PlanKey> keys;
  for (const std::int64_t m : sizes)
    for (const std::int64_t k : {1024, 4096}) keys.emplace_back(make_problem(DType::f16, 'T', 'N', m, 4096, k), 0);
  for (const PlanKey& key : keys) cache.insert(key, {});
  int kept = 0;
  for (const PlanKey& key : keys) kept += cache.find(key) != nullptr;
  EXPECT_GE(kept, 10) << "of 16";
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
