// Entries of the cache of plans.
#include "plan/plan_cache.h"

namespace xgemm::plan {

const Plan* PlanCache::find(const PlanKey& key) const {
  const Entry& entry = entries_[key.hash() % kEntries];
  return entry.used && entry.key == key ? &entry.plan : nullptr;
}

void PlanCache::insert(const PlanKey& key, const Plan& plan) {
  entries_[key.hash() % kEntries] = {true, key, plan};
}

}  // namespace xgemm::plan
