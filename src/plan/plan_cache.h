// Plans of products that were planned before: a program multiplies the same shapes again and again, and weighing all
// instances costs microseconds. Holds nothing but what the planner, which is pure, would say again.
#pragma once

#include <array>
#include <cstdint>

#include "core/problem.h"
#include "plan/plan.h"

namespace xgemm::plan {

// All that a plan depends on: a problem without its addresses and factors, but with the alignment of the ones and
// whether the others make it read A, B and C.
class PlanKey {
 public:
  PlanKey(const Problem& problem, int device);
  bool operator==(const PlanKey&) const = default;
  std::uint64_t hash() const;

 private:
  std::array<std::int64_t, 12> words_;
};

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
