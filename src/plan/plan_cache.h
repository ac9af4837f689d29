// Plans of products that were planned before: a program multiplies the same shapes again and again, and weighing all
// instances costs microseconds. Holds nothing but what the planner, which is pure, would say again.
#pragma once

#include <array>

#include "plan/plan.h"
#include "plan/plan_key.h"

namespace xgemm::plan {

// Direct-mapped. Serves one thread.
class PlanCache {
 public:
  // Null when the plan is not there.
  const Plan* find(const PlanKey& key) const;
  void insert(const PlanKey& key, const Plan& plan);

 private:
  static constexpr int kEntries = 64;
  struct Entry {
    bool used = false;
    PlanKey key{Problem{}, 0};
    Plan plan;
  };
  std::array<Entry, kEntries> entries_{};
};

}  // namespace xgemm::plan
