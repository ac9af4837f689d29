// The cache of plans: a key holds everything that the planner looks at and nothing else, and a plan that comes out is
// the one that went in under the same key.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan_cache.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "plan/forced_kernel.h"
#include "plan/planner.h"
#include "runtime/device_gemm.h"
#include "unit/plan/devices.h"
#include "unit/plan/problems.h"

namespace xgemm::test {
namespace {

using device::DeviceInfo;
using plan::Plan;
using plan::PlanCache;
using plan::PlanKey;

const DeviceInfo& h200() {
  return fake_devices()[6];
}

Plan plan_for(const Problem& p, const DeviceInfo& device) {
  Plan chosen;
  EXPECT_TRUE(plan::make_plan(p, plan::gather_facts(p), device, "", &chosen).ok()) << last_error();
  return chosen;
}

bool same(const Plan& x, const Plan& y) {
  return x.kernel == y.kernel && x.tiles_m == y.tiles_m && x.tiles_n == y.tiles_n && x.ctas == y.ctas &&
         x.waves == y.waves && x.whole_tiles == y.whole_tiles && x.parts == y.parts &&
         x.workspace_bytes == y.workspace_bytes && x.tile_efficiency == y.tile_efficiency &&
         x.estimated_us == y.estimated_us && x.forced == y.forced;
}

template <class T>
T* moved(T* pointer, std::int64_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(pointer) + static_cast<std::uintptr_t>(bytes));
}

// ---- Keys ---------------------------------------------------------------------------------------------------------

struct Mutation {
  const char* what;
  std::function<void(Random&, Problem&)> apply;
};

std::int64_t near(Random& random, std::int64_t x) {
  constexpr std::int64_t kSteps[] = {1, 2, 4, 8, 16, 32, 64, 128, 1000};
  return random.integer(0, 3) == 0 ? 2 * x : x + pick(random, kSteps);
}

constexpr float kFactors[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 3.0f};
constexpr std::int64_t kBytes[] = {2, 4, 8, 16, 32, 64, 128, 256, 512, 4096, 1 << 20};

// Each field of a Problem, one at a time.
const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> all = {
      {"type",
       [](Random& r, Problem& p) {
         p.type = pick(r, {DType::f32, DType::f16, DType::bf16});
       }},
      {"m", [](Random& r, Problem& p) { p.m = near(r, p.m); }},
      {"n", [](Random& r, Problem& p) { p.n = near(r, p.n); }},
      {"k", [](Random& r, Problem& p) { p.k = near(r, p.k); }},
      {"k = 0", [](Random&, Problem& p) { p.k = 0; }},
      {"batch_count", [](Random& r, Problem& p) { p.batch_count = near(r, p.batch_count); }},
      {"alpha", [](Random& r, Problem& p) { p.alpha.value = pick(r, kFactors); }},
      {"beta", [](Random& r, Problem& p) { p.beta.value = pick(r, kFactors); }},
      {"alpha on the device", [](Random&, Problem& p) { p.alpha.device = static_cast<const float*>(nowhere()); }},
      {"beta on the device", [](Random&, Problem& p) { p.beta.device = static_cast<const float*>(nowhere()); }},
      {"a.data", [](Random& r, Problem& p) { p.a.data = moved(p.a.data, pick(r, kBytes)); }},
      {"b.data", [](Random& r, Problem& p) { p.b.data = moved(p.b.data, pick(r, kBytes)); }},
      {"c.data", [](Random& r, Problem& p) { p.c.data = moved(p.c.data, pick(r, kBytes)); }},
      {"a.op", [](Random&, Problem& p) { p.a.op = p.a.op == Op::none ? Op::transpose : Op::none; }},
      {"b.op", [](Random&, Problem& p) { p.b.op = p.b.op == Op::none ? Op::transpose : Op::none; }},
      {"a.ld", [](Random& r, Problem& p) { p.a.ld = near(r, p.a.ld); }},
      {"b.ld", [](Random& r, Problem& p) { p.b.ld = near(r, p.b.ld); }},
      {"c.ld", [](Random& r, Problem& p) { p.c.ld = near(r, p.c.ld); }},
      {"a.batch_stride", [](Random& r, Problem& p) { p.a.batch_stride = near(r, p.a.batch_stride); }},
      {"b.batch_stride", [](Random& r, Problem& p) { p.b.batch_stride = near(r, p.b.batch_stride); }},
      {"a shared", [](Random&, Problem& p) { p.a.batch_stride = 0; }},
      {"b shared", [](Random&, Problem& p) { p.b.batch_stride = 0; }},
      {"c.batch_stride", [](Random& r, Problem& p) { p.c.batch_stride = near(r, p.c.batch_stride); }},
  };
  return all;
}

// Problems on which the planner has much to choose: the random ones are mostly odd or huge.
Problem common_problem(Random& random) {
  constexpr std::int64_t kExtents[] = {16, 64, 128, 512, 1024, 4096, 14336};
  Problem p = make_problem(pick(random, {DType::f16, DType::f16, DType::bf16, DType::f32}), pick(random, {'N', 'T'}),
                           pick(random, {'N', 'T'}), pick(random, kExtents), pick(random, kExtents),
                           pick(random, kExtents), {}, random.integer(0, 3) == 0 ? 3 : 1);
  p.beta.value = pick(random, {0.0f, 1.0f});
  return p;
}

// A kernel is asked for nothing that the route has refused.
bool reaches_the_planner(const Problem& p) {
  for (const void* data : {p.a.data, p.b.data, static_cast<const void*>(p.c.data)})
    if (reinterpret_cast<std::uintptr_t>(data) % static_cast<unsigned>(size_of(p.type)) != 0) return false;
  return !p.does_nothing() && passes_checks(p);
}

// The contract: equal keys, equal plans; so a field that changes a plan changes the key.
TEST(PlanKey, HoldsAllThatAPlanDependsOn) {
  Random random(41);
  int changed = 0, kept = 0;
  for (int i = 0; i < 150 && !HasFailure(); ++i) {
    const Problem p = i % 2 != 0 ? random_problem(random) : common_problem(random);
    const DeviceInfo& device = random.integer(0, 2) == 0 ? fake_devices()[2] : h200();
    const PlanKey key(p, 0);
    const Plan chosen = plan_for(p, device);
    EXPECT_TRUE(key == PlanKey(p, 0));
    for (const Mutation& mutation : mutations()) {
      Problem q = p;
      mutation.apply(random, q);
      if (!reaches_the_planner(q)) continue;
      SCOPED_TRACE(std::string(mutation.what) + ": " + to_string(p) + " and " + to_string(q));
      const Plan other = plan_for(q, device);
      if (PlanKey(q, 0) == key) {
        EXPECT_TRUE(same(chosen, other)) << to_string(chosen) << "\n" << to_string(other);
        EXPECT_EQ(PlanKey(q, 0).hash(), key.hash());
        ++kept;
      } else {
        changed += !same(chosen, other);
      }
    }
  }
  EXPECT_GT(changed, 300) << "the mutations must matter";
  EXPECT_GT(kept, 100);
}

// Several fields at once, of pairs that differ in what a key leaves out.
TEST(PlanKey, LeavesOutAddressesAndFactors) {
  Random random(42);
  for (int i = 0; i < 400 && !HasFailure(); ++i) {
    const Problem p = i % 2 != 0 ? random_problem(random) : common_problem(random);
    Problem q = p;
    const auto whole_lines = [&] { return 256 * random.integer(0, 1 << 20); };
    q.a.data = moved(q.a.data, whole_lines());
    q.b.data = moved(q.b.data, whole_lines());
    q.c.data = moved(q.c.data, whole_lines());
    if (!p.alpha.is(0.0f)) q.alpha = {random.integer(0, 1) != 0 ? 2.5f : -1.0f, nullptr};
    if (!p.beta.is(0.0f)) q.beta = {0.25f, random.integer(0, 1) != 0 ? static_cast<const float*>(nowhere()) : nullptr};
    if (q.does_nothing()) continue;
    SCOPED_TRACE(to_string(p) + " and " + to_string(q));
    EXPECT_TRUE(PlanKey(p, 3) == PlanKey(q, 3));
    EXPECT_EQ(PlanKey(p, 3).hash(), PlanKey(q, 3).hash());
    EXPECT_TRUE(same(plan_for(p, h200()), plan_for(q, h200())));
  }
}

TEST(PlanKey, TellsFieldsAndDevicesApart) {
  Problem p = make_problem(DType::f16, 'N', 'T', 256, 512, 1024, {}, 2);
  p.beta.value = 1.0f;
  const PlanKey key(p, 0);
  for (const int device : {1, 2, 63, 1 << 20}) EXPECT_FALSE(key == PlanKey(p, device)) << device;
  const auto differs = [&](const char* what, auto&& change) {
    Problem q = p;
    change(q);
    EXPECT_FALSE(key == PlanKey(q, 0)) << what;
  };
  differs("type", [](Problem& q) { q.type = DType::bf16; });
  differs("m", [](Problem& q) { q.m = 257; });
  differs("n", [](Problem& q) { q.n = 513; });
  differs("k", [](Problem& q) { q.k = 1025; });
  differs("m and n exchanged", [](Problem& q) { std::swap(q.m, q.n); });
  differs("batch", [](Problem& q) { q.batch_count = 3; });
  differs("alpha is 0", [](Problem& q) { q.alpha.value = 0; });
  differs("beta is 0", [](Problem& q) { q.beta.value = 0; });
  differs("a.op", [](Problem& q) { q.a.op = Op::transpose; });
  differs("b.op", [](Problem& q) { q.b.op = Op::none; });
  differs("both ops", [](Problem& q) { std::swap(q.a.op, q.b.op); });
  differs("lda", [](Problem& q) { ++q.a.ld; });
  differs("ldb", [](Problem& q) { ++q.b.ld; });
  differs("ldc", [](Problem& q) { ++q.c.ld; });
  differs("stride_a", [](Problem& q) { q.a.batch_stride = 0; });
  differs("stride_b", [](Problem& q) { ++q.b.batch_stride; });
  differs("stride_c", [](Problem& q) { ++q.c.batch_stride; });
  for (const int bytes : {2, 16, 64, 128}) {
    differs("a", [&](Problem& q) { q.a.data = moved(q.a.data, bytes); });
    differs("b", [&](Problem& q) { q.b.data = moved(q.b.data, bytes); });
    differs("c", [&](Problem& q) { q.c.data = moved(q.c.data, bytes); });
  }
}

// ---- The cache ----------------------------------------------------------------------------------------------------

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
  for (int i = 0; i < 150; ++i) problems.push_back(i % 2 != 0 ? random_problem(random) : common_problem(random));
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
