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
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace xgemm::sim {

using Clock = std::uint32_t;

// A clock for each thread and agent, or nothing. Copies share their storage until one of them changes, and storage is
// used again: synchronisations make a new vector each.
class ClockVector {
 public:
  ClockVector() = default;
  explicit ClockVector(std::size_t size);  // all zero
  ClockVector(const ClockVector& other) : storage_(other.storage_) {
    if (storage_ != nullptr) ++storage_->holders;
  }
  ClockVector(ClockVector&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  ClockVector& operator=(ClockVector other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~ClockVector() {
    if (storage_ != nullptr && --storage_->holders == 0) release(storage_);
  }

  explicit operator bool() const { return storage_ != nullptr; }
  // The same storage, not only the same clocks.
  bool operator==(const ClockVector& other) const = default;

  const Clock* data() const { return storage_->clocks(); }
  bool contains(const ClockVector& part) const;
  void set(int thread, Clock clock) { own()->clocks()[thread] = clock; }
  void raise(int thread, Clock clock) {
    if (data()[thread] < clock) set(thread, clock);
  }
  // Componentwise; of nothing, the other.
  void raise(const ClockVector& other);

 private:
  struct Storage {
    std::size_t size;  // a multiple of kBlock
    std::size_t holders;
    Clock* clocks() { return reinterpret_cast<Clock*>(this + 1); }
  };
  static Storage* take(std::size_t size);
  static void release(Storage* storage);
  Storage* own();  // not shared

  Storage* storage_ = nullptr;
};

class ThreadClock;

// What threads knew before and after a synchronisation: those that come with the same vectors go on sharing.
class Transitions {
 public:
  // make(clock) is what it does to the vectors, the same each time.
  template <class Make>
  void pass(ThreadClock& clock, Make make);
  void clear() { known_.clear(); }

 private:
  struct Transition {
    ClockVector seen, over, seen_then, over_then;
  };
  std::vector<Transition> known_;
};

// The clocks of one thread. Threads are numbered over all CTAs that run together.
class ThreadClock {
 public:
  ThreadClock() = default;
  ThreadClock(int thread, const ClockVector& nothing_seen) : thread_(thread), shared_(nothing_seen) { update(); }

  int thread() const { return thread_; }
  Clock now() const { return now_; }
  // Ends an epoch and returns it, for events whose order within a thread matters to others.
  Clock tick() { return now_++; }

  bool has_seen(int thread, Clock clock) const { return thread == thread_ || seen_[thread] >= clock; }
  bool knows_over(int thread, Clock clock) const { return thread == thread_ || over_[thread] >= clock; }
  Clock seen(int thread) const { return thread == thread_ ? now_ : seen_[thread]; }
  const Clock* vector() const { return seen_; }  // tells threads apart that may have seen different things

  // Sees what an agent has done up to `clock`. learned: of all who learn from this agent.
  struct Learned {
    Clock clock = 0;
    Transitions transitions;
  };
  void learn(int agent, Clock clock, Learned& learned);

 private:
  friend class ClockJoin;
  friend class Transitions;
  void update() {
    seen_ = shared_.data();
    over_ = known_over_ ? known_over_.data() : seen_;
  }
  const ClockVector& known_over() const { return known_over_ ? known_over_ : shared_; }

  int thread_ = 0;
  Clock now_ = 1;
  ClockVector shared_;
  ClockVector known_over_;  // nothing: the same
  const Clock* seen_ = nullptr;
  const Clock* over_ = nullptr;
};

// A point where threads meet. release(): what the thread has done so far can be seen by those who acquire(). This is
// all that a new kind of synchronisation needs. The _over forms carry no more than that something is over.
class ClockJoin {
 public:
  void release(ThreadClock& clock);
  void release_over(ThreadClock& clock);
  // What an agent has done up to `clock` happens before the meeting. nothing_seen: of the right length.
  void release_agent(int agent, Clock clock, const ClockVector& nothing_seen);

  // After the last release.
  void acquire(ThreadClock& clock) const;
  void acquire_over(ThreadClock& clock) const;

 private:
  struct Sum {
    ClockVector all;
    std::array<ClockVector, 6> parts;  // some of what is in it: threads of a few warps share a vector each
    std::size_t count = 0;

    bool has(const ClockVector& part) const {
      return std::find(parts.begin(), parts.begin() + count, part) != parts.begin() + count;
    }
    void add(const ClockVector& part);
  };

  Sum joined_;
  Sum over_;  // nothing: the same
  mutable Transitions acquired_, acquired_over_;
};

}  // namespace xgemm::sim
