// Who has seen whose work: vector clocks, the memory model of the race checks.
//
// Each thread counts its synchronisations. An event is named by its thread and that thread's count at the time, its
// epoch. A thread has seen an event when some chain of barriers leads from it; `seen` holds, for each other thread, the
// last count that such a chain has brought. Threads that leave a barrier together share one vector.
//
// Units that work on their own (the copy engine, tensor cores) are threads in this respect, numbered after the real
// ones: agents. Their events are what they do on behalf of one barrier or queue; to wait for that is to see them.
//
// Some synchronisation only says that something is over, so that its memory may be used again, and does not make writes
// visible: an arrival at the mbarrier of another CTA with no cluster-wide release. What a thread knows to be over lies
// in a second vector, never behind the first; most kernels have none.
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
      : thread_(thread), shared_(std::move(nothing_seen)), seen_(shared_->data()), over_(seen_) {}

  int thread() const { return thread_; }
  Clock now() const { return now_; }
  // Ends an epoch and returns it, for events whose order within a thread matters to others.
  Clock tick() { return now_++; }

  bool has_seen(int thread, Clock clock) const { return thread == thread_ || seen_[thread] >= clock; }
  bool knows_over(int thread, Clock clock) const { return thread == thread_ || over_[thread] >= clock; }
  Clock seen(int thread) const { return thread == thread_ ? now_ : seen_[thread]; }
  const Clock* vector() const { return seen_; }  // tells threads apart that may have seen different things

  // Sees what an agent has done up to `clock`. Threads that do so one after the other, with the same `last`, share.
  struct Learned {
    std::shared_ptr<const ClockVector> seen, over;  // before
    std::shared_ptr<const ClockVector> seen_then, over_then;
    Clock clock = 0;
  };
  void learn(int agent, Clock clock, Learned& last) {
    if (seen_[agent] >= clock) return;
    if (last.seen != shared_ || last.over != known_over_ || last.clock != clock) {
      const auto with = [&](const std::shared_ptr<const ClockVector>& vector) {
        auto copy = std::make_shared<ClockVector>(*vector);
        (*copy)[static_cast<std::size_t>(agent)] = std::max((*copy)[static_cast<std::size_t>(agent)], clock);
        return copy;
      };
      last = {shared_, known_over_, with(shared_), known_over_ ? with(known_over_) : nullptr, clock};
    }
    shared_ = last.seen_then;
    known_over_ = last.over_then;
    update();
  }

 private:
  friend class ClockJoin;
  void update() {
    seen_ = shared_->data();
    over_ = known_over_ ? known_over_->data() : seen_;
  }

  int thread_ = 0;
  Clock now_ = 1;
  std::shared_ptr<const ClockVector> shared_;
  std::shared_ptr<const ClockVector> known_over_;  // null: the same
  const Clock* seen_ = nullptr;
  const Clock* over_ = nullptr;
};

// A point where threads meet. release(): what the thread has done so far can be seen by those who acquire(). This is
// all that a new kind of synchronisation needs. The _over forms carry no more than that something is over.
class ClockJoin {
 public:
  void release(ThreadClock& clock) {
    if (clock.known_over_ && !over_) over_ = joined_ ? std::make_shared<ClockVector>(*joined_) : nullptr;
    if (clock.known_over_ || over_) merge(over_, *(clock.known_over_ ? clock.known_over_ : clock.shared_));
    if (!joined_) {
      joined_ = std::make_shared<ClockVector>(*clock.shared_);
    } else if (clock.shared_ != last_) {
      merge(joined_, *clock.shared_);
    }
    last_ = clock.shared_;
    if (over_) (*over_)[clock.thread_] = clock.now_;
    (*joined_)[clock.thread_] = clock.now_++;
  }
  void release_over(ThreadClock& clock) {
    if (!over_ && joined_) over_ = std::make_shared<ClockVector>(*joined_);
    merge(over_, *(clock.known_over_ ? clock.known_over_ : clock.shared_));
    (*over_)[clock.thread_] = clock.now_++;
  }
  // What an agent has done up to `clock` happens before the meeting. nothing_seen: of the right length.
  void release_agent(int agent, Clock clock, const ClockVector& nothing_seen) {
    if (!joined_) joined_ = std::make_shared<ClockVector>(nothing_seen);
    (*joined_)[static_cast<std::size_t>(agent)] = std::max((*joined_)[static_cast<std::size_t>(agent)], clock);
    if (over_) (*over_)[static_cast<std::size_t>(agent)] = std::max((*over_)[static_cast<std::size_t>(agent)], clock);
    last_ = nullptr;
  }

  // After the last release.
  void acquire(ThreadClock& clock) const {
    if (!joined_ && !over_) return;
    if (clock.shared_ == last_ && !clock.known_over_ && !over_) {
      clock.shared_ = joined_;
    } else if (Acquired& like = like_[0]; !like.is_from(clock)) {
      like.from(clock);
      if (joined_) clock.shared_ = maximum(joined_, clock.shared_);
      if (joined_ && clock.known_over_) clock.known_over_ = maximum(joined_, clock.known_over_);
      if (over_) clock.known_over_ = maximum(over_, clock.known_over_ ? clock.known_over_ : clock.shared_);
      like.to(clock);
    } else {
      like.give(clock);
    }
    clock.update();
  }
  void acquire_over(ThreadClock& clock) const {
    if (!joined_ && !over_) return;
    if (Acquired& like = like_[1]; !like.is_from(clock)) {
      like.from(clock);
      clock.known_over_ = maximum(over_ ? over_ : joined_, clock.known_over_ ? clock.known_over_ : clock.shared_);
      like.to(clock);
    } else {
      like.give(clock);
    }
    clock.update();
  }

 private:
  static bool contains(const ClockVector& all, const ClockVector& part) {
    for (std::size_t i = 0; i < part.size(); ++i)
      if (part[i] > all[i]) return false;
    return true;
  }
  // Componentwise; one of the two where it is that.
  static std::shared_ptr<const ClockVector> maximum(const std::shared_ptr<const ClockVector>& a,
                                                    const std::shared_ptr<const ClockVector>& b) {
    if (a == b || contains(*a, *b)) return a;
    if (contains(*b, *a)) return b;
    auto merged = std::make_shared<ClockVector>(*a);
    merge(merged, *b);
    return merged;
  }
  static void merge(std::shared_ptr<ClockVector>& into, const ClockVector& from) {
    if (!into) {
      into = std::make_shared<ClockVector>(from);
      return;
    }
    for (std::size_t i = 0; i < from.size(); ++i) (*into)[i] = std::max((*into)[i], from[i]);
  }

  // The last acquisition: threads that come with the same vectors go on sharing.
  struct Acquired {
    std::shared_ptr<const ClockVector> seen, over, seen_then, over_then;

    bool is_from(const ThreadClock& clock) const { return seen == clock.shared_ && over == clock.known_over_; }
    void from(const ThreadClock& clock) { seen = clock.shared_, over = clock.known_over_; }
    void to(ThreadClock& clock) {
      if (clock.known_over_ && (clock.known_over_ == clock.shared_ || contains(*clock.shared_, *clock.known_over_))) {
        clock.known_over_ = nullptr;
      }
      seen_then = clock.shared_, over_then = clock.known_over_;
    }
    void give(ThreadClock& clock) const { clock.shared_ = seen_then, clock.known_over_ = over_then; }
  };

  std::shared_ptr<ClockVector> joined_;
  std::shared_ptr<ClockVector> over_;  // null: the same
  std::shared_ptr<const ClockVector> last_;
  mutable Acquired like_[2];
};

}  // namespace xgemm::sim
