// Vectors of clocks and their joins. SPDX-License-Identifier: BSD-3-Clause
#include "sim/clock.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

namespace xgemm::sim {
namespace {

// Clocks that are compared at a time: loops of a fixed length become vector instructions.
constexpr std::size_t kBlock = 16;

// The storage that nobody holds, all of one size: that of the launch under way.
struct Pool {
  std::size_t size = 0;
  std::vector<void*> free;

  void clear() {
    for (void* storage : free) ::operator delete(storage);
    free.clear();
  }
  ~Pool() { clear(); }
};

Pool& pool() {
  static thread_local Pool instance;
  return instance;
}

// Componentwise; one of the two where it is that.
ClockVector maximum(const ClockVector& a, const ClockVector& b) {
  if (a == b || a.contains(b)) return a;
  if (b.contains(a)) return b;
  ClockVector merged = a;
  merged.raise(b);
  return merged;
}

}  // namespace

ClockVector::Storage* ClockVector::take(std::size_t size) {
  Pool& p = pool();
  if (p.size != size) {
    p.clear();
    p.size = size;
  }
  void* memory;
  if (p.free.empty()) {
    memory = ::operator new(sizeof(Storage) + size * sizeof(Clock));
  } else {
    memory = p.free.back();
    p.free.pop_back();
  }
  return new (memory) Storage{size, 1};
}

void ClockVector::release(Storage* storage) {
  Pool& p = pool();
  if (storage->size == p.size) {
    p.free.push_back(storage);
  } else {
    ::operator delete(storage);
  }
}

ClockVector::ClockVector(std::size_t size) : storage_(take((size + kBlock - 1) / kBlock * kBlock)) {
  std::fill_n(storage_->clocks(), storage_->size, Clock{0});
}

ClockVector::Storage* ClockVector::own() {
  if (storage_->holders == 1) return storage_;
  Storage* const copy = take(storage_->size);
  std::memcpy(copy->clocks(), storage_->clocks(), storage_->size * sizeof(Clock));
  --storage_->holders;
  return storage_ = copy;
}

bool ClockVector::contains(const ClockVector& part) const {
  const Clock *const all = data(), *const some = part.data();
  for (std::size_t first = 0; first < storage_->size; first += kBlock) {
    Clock larger = 0;
    for (std::size_t i = first; i < first + kBlock; ++i) larger |= some[i] > all[i];
    if (larger != 0) return false;
  }
  return true;
}

void ClockVector::raise(const ClockVector& other) {
  if (storage_ == nullptr || *this == other) {
    *this = other;
    return;
  }
  Clock* const to = own()->clocks();
  const Clock* const from = other.data();
  for (std::size_t first = 0; first < storage_->size; first += kBlock) {
    Clock block[kBlock];
    for (std::size_t i = 0; i < kBlock; ++i) block[i] = std::max(to[first + i], from[first + i]);
    std::memcpy(to + first, block, sizeof block);
  }
}

template <class Make>
void Transitions::pass(ThreadClock& clock, Make make) {
  constexpr std::size_t kMost = 16;
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Transition& t) {
    return t.seen == clock.shared_ && t.over == clock.known_over_;
  });
  if (found != known_.end()) {
    clock.shared_ = found->seen_then, clock.known_over_ = found->over_then;
  } else {
    if (known_.size() == kMost) known_.clear();
    Transition& t = known_.emplace_back();
    t.seen = clock.shared_, t.over = clock.known_over_;
    make(clock);
    if (clock.known_over_ && clock.shared_.contains(clock.known_over_)) clock.known_over_ = {};
    t.seen_then = clock.shared_, t.over_then = clock.known_over_;
  }
  clock.update();
}

void ThreadClock::learn(int agent, Clock clock, Learned& learned) {
  if (seen_[agent] >= clock) return;
  if (std::exchange(learned.clock, clock) != clock) learned.transitions.clear();
  learned.transitions.pass(*this, [&](ThreadClock& own) {
    own.shared_.raise(agent, clock);
    if (own.known_over_) own.known_over_.raise(agent, clock);
  });
}

void ClockJoin::Sum::add(const ClockVector& part) {
  if (has(part)) return;
  all.raise(part);
  if (count == parts.size()) count = 0;
  parts[count++] = part;
}

void ClockJoin::release(ThreadClock& clock) {
  if (clock.known_over_ && !over_.all) over_ = joined_;
  if (clock.known_over_ || over_.all) over_.add(clock.known_over());
  joined_.add(clock.shared_);
  if (over_.all) over_.all.set(clock.thread_, clock.now_);
  joined_.all.set(clock.thread_, clock.now_++);
}

void ClockJoin::release_over(ThreadClock& clock) {
  if (!over_.all) over_ = joined_;
  over_.add(clock.known_over());
  over_.all.set(clock.thread_, clock.now_++);
}

void ClockJoin::release_agent(int agent, Clock clock, const ClockVector& nothing_seen) {
  if (!joined_.all) joined_.all = nothing_seen;
  joined_.all.raise(agent, clock);
  if (over_.all) over_.all.raise(agent, clock);
}

void ClockJoin::acquire(ThreadClock& clock) const {
  if (!joined_.all && !over_.all) return;
  if (!clock.known_over_ && !over_.all && joined_.has(clock.shared_)) {
    clock.shared_ = joined_.all;
    clock.update();
    return;
  }
  acquired_.pass(clock, [&](ThreadClock& own) {
    if (joined_.all) own.shared_ = maximum(joined_.all, own.shared_);
    if (joined_.all && own.known_over_) own.known_over_ = maximum(joined_.all, own.known_over_);
    if (over_.all) own.known_over_ = maximum(over_.all, own.known_over());
  });
}

void ClockJoin::acquire_over(ThreadClock& clock) const {
  if (!joined_.all && !over_.all) return;
  acquired_over_.pass(clock, [&](ThreadClock& own) {
    own.known_over_ = maximum(over_.all ? over_.all : joined_.all, own.known_over());
  });
}

}  // namespace xgemm::sim
