// Barriers of a CTA. SPDX-License-Identifier: BSD-3-Clause
#include "sim/barrier.h"

#include <string>
#include <vector>

namespace xgemm::sim {
namespace {

constexpr int kNamedBarriers = 16;

struct Barrier {
  int expected = 0;  // 0: nobody has come yet
  int arrived = 0;
  std::vector<Thread*> waiting;
  ClockJoin join;
};

struct Barriers {
  Barrier barrier[kNamedBarriers];
};

void complete(Barrier& barrier, Thread* last) {
  for (Thread* waiter : barrier.waiting) {
    barrier.join.acquire(waiter->clock);
    if (waiter != last) waiter->machine->wake(*waiter);
  }
  barrier.expected = barrier.arrived = 0;
  barrier.waiting.clear();
  barrier.join = ClockJoin();
}

// Counts the running thread in; true when it was the last.
bool arrive(Barrier& barrier, int threads, Loc loc) {
  Thread& thread = current();
  if (barrier.expected == 0) {
    barrier.expected = threads;
  } else if (barrier.expected != threads) {
    fail(Fault::barrier_misuse, loc,
         "a barrier of " + std::to_string(threads) + " threads, where others wait for " +
             std::to_string(barrier.expected));
  }
  barrier.join.release(thread.clock);
  return ++barrier.arrived >= barrier.expected;
}

bool legal(int id, int threads, Loc loc) {
  Thread& thread = current();
  const int cta = static_cast<int>(thread.cta->threads.size());
  if (id >= 1 && id < kNamedBarriers && threads > 0 && threads % kWarpSize == 0 && threads <= cta) return true;
  fail(Fault::barrier_misuse, loc,
       "named barrier " + std::to_string(id) + " of " + std::to_string(threads) + " threads in a CTA of " +
           std::to_string(cta) + ": ids are 1 to 15, counts multiples of 32");
  return false;
}

}  // namespace

void sync_threads(Loc loc) {
  Thread& thread = current();
  Cta& cta = *thread.cta;
  Barrier& barrier = cta.state<Barriers>().barrier[0];
  barrier.waiting.push_back(&thread);
  if (!arrive(barrier, static_cast<int>(cta.threads.size()), loc)) {
    thread.machine->wait("__syncthreads", loc);
    return;
  }
  thread.machine->cta_met(cta);
  complete(barrier, &thread);
  thread.machine->yield();
}

void named_barrier_sync(int id, int threads, Loc loc) {
  if (!legal(id, threads, loc)) return;
  Thread& thread = current();
  Barrier& barrier = thread.cta->state<Barriers>().barrier[id];
  barrier.waiting.push_back(&thread);
  if (!arrive(barrier, threads, loc)) {
    thread.machine->wait("a named barrier", loc);
    return;
  }
  complete(barrier, &thread);
  thread.machine->yield();
}

}  // namespace xgemm::sim
