// The key of a plan: it holds everything that the planner looks at and nothing else, and no field of a Problem can be
// forgotten in it.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/plan_key.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>

#include "core/problem_fields.h"
#include "core/status.h"
#include "kernels/family.h"
#include "plan/planner.h"
#include "unit/plan/devices.h"
#include "unit/plan/plans.h"
#include "unit/plan/problems.h"

namespace xgemm::test {
namespace {

using device::DeviceInfo;
using plan::Plan;
using plan::PlanKey;

Plan plan_for(const Problem& p, const DeviceInfo& device) {
  Plan chosen;
  EXPECT_TRUE(plan::make_plan(p, plan::gather_facts(p), device, "", &chosen).ok()) << last_error();
  return chosen;
}

std::int64_t near(Random& random, std::int64_t x) {
  constexpr std::int64_t kSteps[] = {1, 2, 4, 8, 16, 32, 64, 128, 1000};
  return random.integer(0, 3) == 0 ? 2 * x : x + pick(random, kSteps);
}

// Changes one of the fields that visit_fields() lists, and says whether the list has a plan depend on that change.
class Mutation {
 public:
  Mutation(Random& random, int field) : random_(random), field_(field) {}

  void exact(const char* name, std::int64_t& x) {
    if (hit(name, true)) x = x != 0 && random_.integer(0, 3) == 0 ? 0 : near(random_, x) + (x == 0);
  }
  void step(const char* name, std::int64_t& x) {
    if (hit(name, true)) x = x + pick(random_, {1, 2, -1, -2, 100});
  }
  void exact(const char* name, Op& x) {
    if (hit(name, true)) x = x == Op::none ? Op::transpose : Op::none;
  }
  void exact(const char* name, DType& x) {
    if (hit(name, true)) x = static_cast<DType>((static_cast<int>(x) + random_.integer(1, 2)) % 3);
  }
  // Kinds of which one alone is served: a number beside it.
  template <class Kind>
  void exact(const char* name, Kind& x) {
    if (hit(name, true)) x = static_cast<Kind>(static_cast<int>(x) + 1);
  }
  template <class Pointer>
  requires std::is_pointer_v<Pointer>
  void unplanned(const char* name, Pointer& x) {
    if (hit(name, false)) x = moved(x, 4096);
  }
  void unplanned(const char* name, std::int64_t& x) {
    if (hit(name, false)) x = near(random_, x) + (x == 0);
  }
  template <class Pointer>
  void address(const char* name, Pointer& x) {
    constexpr std::int64_t kBytes[] = {2, 4, 8, 16, 32, 64, 128, 256, 512, 4096, 1 << 20};
    const std::int64_t bytes = pick(random_, kBytes);
    if (hit(name, bytes < plan::kKeyAlignment)) x = moved(x, bytes);
  }
  void factor(const char* name, Scalar& x) {
    constexpr float kFactors[] = {0.0f, 1.0f, -1.0f, 0.5f, 3.0f};
    Scalar other = x;
    while (other == x)
      other = random_.integer(0, 4) == 0 ? Scalar{0.0f, static_cast<const float*>(nowhere())}
                                         : Scalar{pick(random_, kFactors), nullptr};
    if (hit(name, other.is(0.0f) != x.is(0.0f))) x = other;
  }

  template <class T>
  void presence(const char* name, const T*& x) {
    static const char some[2] = {};
    const auto *const one = reinterpret_cast<const T*>(&some[0]), *const other = reinterpret_cast<const T*>(&some[1]);
    if (!hit(name, x == nullptr || random_.integer(0, 1) == 0)) return;
    x = x == nullptr ? one : matters_ ? nullptr : x == one ? other : one;
  }
  void presence(const char* name, const void*& x) {
    const auto* typed = static_cast<const char*>(x);
    presence(name, typed);
    x = typed;
  }

  bool found() const { return name_ != nullptr; }
  const char* name() const { return name_; }
  bool matters() const { return matters_; }

 private:
  bool hit(const char* name, bool matters) {
    if (field_-- != 0) return false;
    name_ = name;
    matters_ = matters;
    return true;
  }

  Random& random_;
  int field_;
  const char* name_ = nullptr;
  bool matters_ = false;
};

// Every field of the list: what it says a plan depends on changes the key, and the rest does not.
TEST(PlanKey, DoesWithEachFieldWhatTheListSays) {
  Random random(40);
  int fields = 0;
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    const Problem p = some_problem(random);
    for (fields = 0;; ++fields) {
      Problem q = p;
      Mutation mutation(random, fields);
      visit_fields(q, mutation);
      if (!mutation.found()) break;
      SCOPED_TRACE(std::string(mutation.name()) + ": " + to_string(p) + " and " + to_string(q));
      EXPECT_FALSE(p == q);
      EXPECT_EQ(PlanKey(p, 0) == PlanKey(q, 0), !mutation.matters());
      if (!mutation.matters()) {
        EXPECT_EQ(PlanKey(p, 0).hash(), PlanKey(q, 0).hash());
      }
    }
  }
  EXPECT_GE(fields, 30);
}

// A kernel is asked for nothing that the checks or the route have refused.
bool reaches_the_planner(const Problem& p, const DeviceInfo& device) {
  const auto aligned = [](const auto& x) {
    return reinterpret_cast<std::uintptr_t>(x.data) % static_cast<unsigned>(size_of(x.type)) == 0;
  };
  return kernels::serves(p.types(), device) && p.batch_kind == BatchKind::strided && p.compute == Compute::strict &&
         p.epilogue == Epilogue{} && aligned(p.a) && aligned(p.b) && aligned(p.c) && !p.does_nothing() &&
         p.has_plain_c() && passes_checks(p);
}

// The contract: equal keys, equal plans; so a field that changes a plan changes the key.
TEST(PlanKey, HoldsAllThatAPlanDependsOn) {
  Random random(41);
  int changed = 0, kept = 0;
  for (int i = 0; i < 150 && !HasFailure(); ++i) {
    const Problem p = some_problem(random);
    const DeviceInfo& device = random.integer(0, 2) == 0 ? fake_devices()[2] : h200();
    const PlanKey key(p, 0);
    const Plan chosen = plan_for(p, device);
    EXPECT_TRUE(key == PlanKey(p, 0));
    for (int field = -1;; ++field) {
      Problem q = p;
      Mutation mutation(random, field);
      if (field < 0) {  // all types at once: kernels for mixed ones are few
        const DType type = pick(random, {DType::f32, DType::f16, DType::bf16, DType::f64});
        q.a.type = q.b.type = q.c.type = type;
      } else {
        visit_fields(q, mutation);
        if (!mutation.found()) break;
      }
      if (!reaches_the_planner(q, device)) continue;
      SCOPED_TRACE(to_string(p) + " and " + to_string(q));
      const Plan other = plan_for(q, device);
      if (PlanKey(q, 0) == key) {
        EXPECT_TRUE(same(chosen, other)) << to_string(chosen) << "\n" << to_string(other);
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
    const Problem p = some_problem(random);
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

TEST(PlanKey, TellsDevicesAndExchangedExtentsApart) {
  const Problem p = make_problem(DType::f16, 'N', 'T', 256, 512, 1024, {}, 2);
  for (const int device : {1, 2, 63, 1 << 20}) EXPECT_FALSE(PlanKey(p, 0) == PlanKey(p, device)) << device;
  Problem q = p;
  std::swap(q.m, q.n);
  EXPECT_FALSE(PlanKey(p, 0) == PlanKey(q, 0));
  q = p;
  std::swap(q.a.op, q.b.op);
  EXPECT_FALSE(PlanKey(p, 0) == PlanKey(q, 0));
}

}  // namespace
}  // namespace xgemm::test
