// Who has seen whose work: vector clocks, the memory model of the race checks.
//
// Each thread counts its synchronisations. An event is named by its thread and that thread's count at the time, its
// epoch. A thread has seen an event when some chain of barriers leads from it; `seen` holds, for each other thread, the
// last count that such a chain has brought. Threads that leave a barrier together share one vector.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace xgemm::sim {

using Clock = std::uint32_t;
using ClockVector = std::vector<Clock>;

// The clocks of one thread. Threads are numbered over all CTAs that run together.
class ThreadClock {
 public:
  ThreadClock() = default;
  ThreadClock(int thread, std::shared_ptr<const ClockVector> nothing_seen)
      : thread_(thread), shared_(std::move(nothing_seen)), seen_(shared_->data()) {}

  int thread() const { return thread_; }
  Clock now() const { return now_; }
  bool has_seen(int thread, Clock clock) const { return thread == thread_ || seen_[thread] >= clock; }

 private:
  friend class ClockJoin;

  int thread_ = 0;
  Clock now_ = 1;
  std::shared_ptr<const ClockVector> shared_;
  const Clock* seen_ = nullptr;
};

// A point where threads meet. release(): what the thread has done so far can be seen by those who acquire(). This is
// all that a new kind of synchronisation needs.
class ClockJoin {
 public:
  void release(ThreadClock& clock) {
    if (!joined_) {
      joined_ = std::make_shared<ClockVector>(*clock.shared_);
    } else if (clock.shared_ != last_) {
      for (std::size_t i = 0; i < joined_->size(); ++i) (*joined_)[i] = std::max((*joined_)[i], (*clock.shared_)[i]);
    }
    last_ = clock.shared_;
    (*joined_)[clock.thread_] = clock.now_++;
  }

  void acquire(ThreadClock& clock) const {
    if (!joined_) return;
    if (clock.shared_ == last_ || contains(*clock.shared_)) {
      clock.shared_ = joined_;
    } else {
      auto merged = std::make_shared<ClockVector>(*joined_);
      for (std::size_t i = 0; i < merged->size(); ++i) (*merged)[i] = std::max((*merged)[i], (*clock.shared_)[i]);
      clock.shared_ = merged;
    }
    clock.seen_ = clock.shared_->data();
  }

 private:
  bool contains(const ClockVector& other) const {
    for (std::size_t i = 0; i < other.size(); ++i)
      if (other[i] > (*joined_)[i]) return false;
    return true;
  }

  std::shared_ptr<ClockVector> joined_;
  std::shared_ptr<const ClockVector> last_;
};

}  // namespace xgemm::sim
