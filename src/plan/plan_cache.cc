// Keys and entries of the cache of plans.
#include "plan/plan_cache.h"

namespace xgemm::plan {
namespace {

// No kernel asks for more than lines of 128 bytes.
std::int64_t alignment(const void* pointer) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer) % 256);
}

}  // namespace

PlanKey::PlanKey(const Problem& p, int device)
    : words_{p.m,
             p.n,
             p.k,
             p.batch_count,
             p.a.ld,
             p.b.ld,
             p.c.ld,
             p.a.batch_stride,
             p.b.batch_stride,
             p.c.batch_stride,
             alignment(p.a.data) | alignment(p.b.data) << 8 | alignment(p.c.data) << 16 | std::int64_t{device} << 32,
             static_cast<std::int64_t>(p.type) | std::int64_t{p.a.op == Op::transpose} << 8 |
                 std::int64_t{p.b.op == Op::transpose} << 9 | std::int64_t{p.reads_inputs()} << 10 |
                 std::int64_t{p.reads_c()} << 11} {}

std::uint64_t PlanKey::hash() const {
  std::uint64_t h = 0;
  for (const std::int64_t word : words_) {
    h = (h ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return h;
}

const Plan* PlanCache::find(const PlanKey& key) const {
  const Entry& entry = entries_[key.hash() % kEntries];
  return entry.used && entry.key == key ? &entry.plan : nullptr;
}

void PlanCache::insert(const PlanKey& key, const Plan& plan) {
  entries_[key.hash() % kEntries] = {true, key, plan};
}

}  // namespace xgemm::plan
