// Plans of products that were planned before: a program multiplies the same shapes again and again, and weighing all
// instances costs microseconds. Holds nothing but what the planner, which is pure, would say again.
//
// One cache serves all threads, and none of them ever waits. An entry is guarded by a version, which is odd while the
// entry is being written: a reader copies the plan and takes it only if the version was even and is still the same; a
// writer that finds the version odd leaves the entry to the other writer. Entries are grouped in sets; a key belongs to
// one set, and where that is full a new plan takes the place of one of its entries. So the memory is bounded, and only
// pages that were written to are ever taken from the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "plan/plan.h"
#include "plan/plan_key.h"

namespace xgemm::plan {

class PlanCache {
 public:
  static constexpr std::size_t kWays = 8;          // entries of a set
  static constexpr std::size_t kUsualSets = 4096;  // room for 10,000 shapes with hardly a full set

  explicit PlanCache(std::size_t sets = kUsualSets);  // a power of two; without memory the cache stays empty

  // False when the plan is not there; *plan is then untouched.
  bool find(const PlanKey& key, Plan* plan) const;
  void insert(const PlanKey& key, const Plan& plan);

 private:
  static_assert(std::is_trivially_copyable_v<Plan>);
  static constexpr std::size_t kKeyWords = std::tuple_size_v<PlanKey::Words>;
  static constexpr std::size_t kPlanWords = (sizeof(Plan) + 7) / 8;

  // Accessed through std::atomic_ref alone. Zeros are an entry that was never written.
  struct Entry {
    std::uint64_t version;
    std::uint64_t key[kKeyWords];
    std::uint64_t plan[kPlanWords];
  };

  struct Free {
    void operator()(Entry* entries) const;
  };

  Entry* set_of(std::uint64_t hash) const { return entries_.get() + (hash & (sets_ - 1)) * kWays; }

  std::size_t sets_;
  std::unique_ptr<Entry[], Free> entries_;
};

}  // namespace xgemm::plan
