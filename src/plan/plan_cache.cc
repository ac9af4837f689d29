// Entries of the cache of plans.
#include "plan/plan_cache.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace xgemm::plan {
namespace {

using Word = std::atomic_ref<std::uint64_t>;

template <std::size_t kWords>
bool holds(std::uint64_t (&entry)[kWords], const PlanKey& key) {
  for (std::size_t i = 0; i < kWords; ++i)
    if (Word(entry[i]).load(std::memory_order_relaxed) != key.words()[i]) return false;
  return true;
}

}  // namespace

void PlanCache::Free::operator()(Entry* entries) const {
  std::free(entries);
}

// calloc leaves pages that are not written to with the system.
PlanCache::PlanCache(std::size_t sets)
    : sets_(sets), entries_(static_cast<Entry*>(std::calloc(sets * kWays, sizeof(Entry)))) {}

bool PlanCache::find(const PlanKey& key, Plan* plan) const {
  if (entries_ == nullptr) return false;
  Entry* set = set_of(key.hash());
  for (std::size_t way = 0; way < kWays; ++way) {
    Entry& entry = set[way];
    const std::uint64_t version = Word(entry.version).load(std::memory_order_acquire);
    if (version == 0) return false;  // ways are filled in order, and never emptied
    if (version % 2 != 0 || !holds(entry.key, key)) continue;
    std::uint64_t copy[kPlanWords];
    for (std::size_t i = 0; i < kPlanWords; ++i) copy[i] = Word(entry.plan[i]).load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (Word(entry.version).load(std::memory_order_relaxed) != version) return false;  // being replaced
    std::memcpy(plan, copy, sizeof *plan);
    return true;
  }
  return false;
}

void PlanCache::insert(const PlanKey& key, const Plan& plan) {
  if (entries_ == nullptr) return;
  const std::uint64_t hash = key.hash();
  Entry* set = set_of(hash);
  // The entry of this key, else one that was never written, else one by the part of the hash that chooses no set, which
  // moves on with every replacement.
  std::uint64_t replaced = 0;
  Entry* place = nullptr;
  for (std::size_t way = 0; way < kWays && place == nullptr; ++way) {
    const std::uint64_t version = Word(set[way].version).load(std::memory_order_acquire);
    if (version == 0 || (version % 2 == 0 && holds(set[way].key, key))) place = &set[way];
    replaced += version / 2;
  }
  if (place == nullptr) place = &set[(hash / sets_ + replaced) % kWays];

  std::uint64_t version = Word(place->version).load(std::memory_order_relaxed);
  if (version % 2 != 0 ||
      !Word(place->version).compare_exchange_strong(version, version + 1, std::memory_order_acquire))
    return;  // somebody else writes it
  std::atomic_thread_fence(std::memory_order_release);
  std::uint64_t copy[kPlanWords] = {};
  std::memcpy(copy, &plan, sizeof plan);
  for (std::size_t i = 0; i < kKeyWords; ++i) Word(place->key[i]).store(key.words()[i], std::memory_order_relaxed);
  for (std::size_t i = 0; i < kPlanWords; ++i) Word(place->plan[i]).store(copy[i], std::memory_order_relaxed);
  Word(place->version).store(version + 2, std::memory_order_release);
}

}  // namespace xgemm::plan
