// What an mbarrier is inside the simulator, for the units that complete on one.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/machine.h"
#include "sim/sm90/scope.h"

namespace xgemm::sim {

struct MbarrierState {
  Cta* cta = nullptr;
  std::size_t offset = 0;
  int count = 0;
  int pending = 0;            // arrivals that this phase still waits for
  std::int64_t expected = 0;  // bytes that this phase still waits for; below zero when they came before expect
  Clock phase = 0;            // number of the running phase
  int agent = 0;              // copies that complete here; their clock is the phase, from 1

  // Who may use it: visible() in mbarrier.cc.
  int init_thread = 0;
  Clock init_clock = 0;
  Loc init_loc;
  bool published = false;  // by the fence and the cluster barrier of this generation
  unsigned generation = 0;

  struct Phase {
    ClockJoin own;      // arrivals of the CTA, copies
    ClockJoin cluster;  // arrivals from other CTAs that release to the cluster
    ClockJoin over;     // other arrivals from other CTAs
  };
  Phase running, completed;
  struct Waiter {
    Thread* thread;
    unsigned parity;
    Scope acquire;
  };
  std::vector<Waiter> waiters;

  bool done(unsigned parity) const { return (phase & 1) != (parity & 1); }
};

struct Mbarriers {
  std::map<std::size_t, MbarrierState> by_offset;  // nodes stay where they are
};

// The barrier, if it is one and the running thread may use it; otherwise reports and returns null. outside: from
// another CTA or by the copy engine.
MbarrierState* find_mbarrier(Cta& cta, std::size_t offset, bool outside, Loc loc);
// `bytes` have arrived on behalf of the running thread.
void complete_bytes(MbarrierState& barrier, std::int64_t bytes, Loc loc);

// The number of a copy into the shared memory of a CTA, for SharedMemory::Cell::pending.
struct CopyNumbers {
  std::uint32_t last = 0;
};
inline std::uint32_t next_copy(Cta& cta) {
  return 0x80000000u | ++cta.state<CopyNumbers>().last;
}

// Fences of a thread, by its clock.
struct Fences {
  std::vector<Clock> init;
  std::vector<Clock> async_proxy;
  ThreadClock known;  // what the thread knew at the last of async_proxy
  // Whether it had seen what a thread did by then.
  bool cover(int thread, Clock clock) const { return !async_proxy.empty() && known.seen(thread) >= clock; }
};
// Whether thread `by` made one of these fences at `since` or later, and `until` or before.
bool fenced(const std::vector<Clock>& fences, Clock since, Clock until);

// The CTA of the running thread's cluster, if there is one of this rank that has not ended; otherwise reports.
Cta* reach(int cta_rank, const char* what, Loc loc);
// Somebody reaches into this CTA: it must not end before it knows that this is over.
void note_reach(Cta& cta, const Event& event);

struct ClusterMember {  // of a thread
  unsigned arrived = 0;
  unsigned passed = 0;  // cluster barriers
};

}  // namespace xgemm::sim
