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

const ClockVector& over_or_seen(const ClockVector& over, const ClockVector& seen) {
  return over ? over : seen;
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

void ClockJoin::release(ThreadClock& clock) {
  if (clock.known_over_ && !over_) over_ = joined_;
  if (clock.known_over_ || over_) over_.raise(over_or_seen(clock.known_over_, clock.shared_));
  if (!joined_ || clock.shared_ != last_) joined_.raise(clock.shared_);
  last_ = clock.shared_;
  if (over_) over_.set(clock.thread_, clock.now_);
  joined_.set(clock.thread_, clock.now_++);
}

void ClockJoin::release_over(ThreadClock& clock) {
  if (!over_) over_ = joined_;
  over_.raise(over_or_seen(clock.known_over_, clock.shared_));
  over_.set(clock.thread_, clock.now_++);
}

void ClockJoin::release_agent(int agent, Clock clock, const ClockVector& nothing_seen) {
  if (!joined_) joined_ = nothing_seen;
  joined_.raise(agent, clock);
  if (over_) over_.raise(agent, clock);
  last_ = {};
}

void ClockJoin::acquire(ThreadClock& clock) const {
  if (!joined_ && !over_) return;
  if (clock.shared_ == last_ && !clock.known_over_ && !over_) {
    clock.shared_ = joined_;
  } else if (Acquired& like = like_[0]; !like.is_from(clock)) {
    like.from(clock);
    if (joined_) clock.shared_ = maximum(joined_, clock.shared_);
    if (joined_ && clock.known_over_) clock.known_over_ = maximum(joined_, clock.known_over_);
    if (over_) clock.known_over_ = maximum(over_, over_or_seen(clock.known_over_, clock.shared_));
    like.to(clock);
  } else {
    like.give(clock);
  }
  clock.update();
}

void ClockJoin::acquire_over(ThreadClock& clock) const {
  if (!joined_ && !over_) return;
  if (Acquired& like = like_[1]; !like.is_from(clock)) {
    like.from(clock);
    clock.known_over_ = maximum(over_or_seen(over_, joined_), over_or_seen(clock.known_over_, clock.shared_));
    like.to(clock);
  } else {
    like.give(clock);
  }
  clock.update();
}

void ClockJoin::Acquired::to(ThreadClock& clock) {
  if (clock.known_over_ && clock.shared_.contains(clock.known_over_)) clock.known_over_ = {};
  seen_then = clock.shared_, over_then = clock.known_over_;
}

}  // namespace xgemm::sim
