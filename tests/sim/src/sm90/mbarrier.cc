// Phases, arrivals, bytes. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>
#include <utility>

#include "mbarrier_state.h"
#include "sim/sm90/mbarrier.h"

namespace xgemm::sim {
namespace {

constexpr int kMaxCount = (1 << 20) - 1;
constexpr std::int64_t kMaxBytes = (1 << 20) - 1;
constexpr std::size_t kBytes = 8;

std::string name_of(const MbarrierState& barrier) {
  return "the mbarrier at offset " + std::to_string(barrier.offset);
}

std::size_t offset_of(const void* barrier) {
  return current().cta->shared.offset(reinterpret_cast<std::uintptr_t>(barrier));
}

bool in_shared_memory(const void* barrier, Loc loc) {
  return detail::check_shared_bounds(current(), reinterpret_cast<std::uintptr_t>(barrier), kBytes, loc);
}

MbarrierState* own_mbarrier(const void* barrier, Loc loc) {
  if (!in_shared_memory(barrier, loc)) return nullptr;
  return find_mbarrier(*current().cta, offset_of(barrier), false, loc);
}

// An init is seen through an ordinary barrier or through the cluster barrier that published it; from outside, it must
// also have been fenced on the way.
bool visible(const MbarrierState& barrier, bool outside) {
  Thread& thread = current();
  if (barrier.published && thread.state<ClusterMember>().passed > barrier.generation) return true;
  if (!thread.clock.has_seen(barrier.init_thread, barrier.init_clock)) return false;
  if (!outside) return true;
  const Fences& fences = thread.machine->thread(barrier.init_thread).state<Fences>();
  const Clock until = thread.clock.seen(barrier.init_thread);
  return fenced(fences.init, barrier.init_clock, until) || fenced(fences.async_proxy, barrier.init_clock, until);
}

void see(const MbarrierState::Phase& phase, Scope acquire, ThreadClock& clock) {
  phase.own.acquire(clock);
  if (acquire == Scope::cluster) {
    phase.cluster.acquire(clock);
  } else {
    phase.cluster.acquire_over(clock);
  }
  phase.over.acquire_over(clock);
}

void complete_phase_if_due(MbarrierState& barrier) {
  if (barrier.pending != 0 || barrier.expected != 0) return;
  Machine& machine = *current().machine;
  ++barrier.phase;
  barrier.running.own.release_agent(barrier.agent, barrier.phase, machine.nothing_seen());
  barrier.completed = std::move(barrier.running);
  barrier.running = {};
  barrier.pending = barrier.count;
  auto waiters = std::move(barrier.waiters);
  barrier.waiters.clear();
  for (const MbarrierState::Waiter& waiter : waiters) {
    if (!barrier.done(waiter.parity)) {
      barrier.waiters.push_back(waiter);
      continue;
    }
    see(barrier.completed, waiter.acquire, waiter.thread->clock);
    machine.wake(*waiter.thread);
  }
}

// Room for one arrival?
bool expects_arrival(MbarrierState& barrier, Loc loc) {
  if (barrier.pending > 0) return true;
  fail(Fault::barrier_misuse, loc,
       "arrives at " + name_of(barrier) + " more often than the " + std::to_string(barrier.count) +
           " times that a phase counts; phase " + std::to_string(barrier.phase) + " waits for " +
           std::to_string(barrier.expected) + " bytes");
  return false;
}

void check_bytes(MbarrierState& barrier, Loc loc) {
  if (barrier.pending == 0 && barrier.expected < 0) {
    fail(Fault::barrier_misuse, loc,
         std::to_string(-barrier.expected) + " bytes more than expected have come to " + name_of(barrier) +
             " in phase " + std::to_string(barrier.phase));
  } else if (barrier.expected > kMaxBytes || barrier.expected < -kMaxBytes) {
    fail(Fault::barrier_misuse, loc, name_of(barrier) + " counts fewer than 2^20 bytes");
  }
}

std::string describe(const MbarrierState& barrier, unsigned parity) {
  return "for parity " + std::to_string(parity) + " of " + name_of(barrier) + ", whose phase " +
         std::to_string(barrier.phase) + " lacks " + std::to_string(barrier.pending) + " of " +
         std::to_string(barrier.count) + " arrivals and " + std::to_string(barrier.expected) + " bytes";
}

// True when the phase is over; otherwise the thread has been entered as a waiter.
bool enter(MbarrierState& barrier, unsigned parity, Scope acquire) {
  Thread& thread = current();
  if (barrier.done(parity)) {
    see(barrier.completed, acquire, thread.clock);
    return true;
  }
  barrier.waiters.push_back({&thread, parity, acquire});
  thread.wait_detail = [&barrier, parity] { return describe(barrier, parity); };
  return false;
}

}  // namespace

bool fenced(const std::vector<Clock>& fences, Clock since, Clock until) {
  const auto first = std::lower_bound(fences.begin(), fences.end(), since);
  return first != fences.end() && *first <= until;
}

MbarrierState* find_mbarrier(Cta& cta, std::size_t offset, bool outside, Loc loc) {
  auto& barriers = cta.state<Mbarriers>().by_offset;
  const auto found = barriers.find(offset);
  if (found == barriers.end()) {
    fail(Fault::barrier_misuse, loc,
         "uses shared memory at offset " + std::to_string(offset) + " as an mbarrier, which has not been initialised");
    return nullptr;
  }
  MbarrierState& barrier = found->second;
  if (!visible(barrier, outside || &cta != current().cta)) {
    const Event init{barrier.init_clock, static_cast<std::uint16_t>(barrier.init_thread), site_of(barrier.init_loc)};
    fail(Fault::barrier_misuse, loc,
         name_of(barrier) + " was initialised with no barrier in between" +
             (outside ? ", or no mbarrier_init_fence() before that" : ""),
         &init);
  }
  return &barrier;
}

void complete_bytes(MbarrierState& barrier, std::int64_t bytes, Loc loc) {
  barrier.expected -= bytes;
  check_bytes(barrier, loc);
  complete_phase_if_due(barrier);
}

void mbarrier_init(void* address, int count, Loc loc) {
  if (!in_shared_memory(address, loc)) return;
  Thread& thread = current();
  Cta& cta = *thread.cta;
  const std::size_t offset = offset_of(address);
  if (count < 1 || count > kMaxCount) {
    fail(Fault::barrier_misuse, loc, "an mbarrier of " + std::to_string(count) + " arrivals");
    return;
  }
  auto& barriers = cta.state<Mbarriers>().by_offset;
  if (barriers.empty()) {
    cta.at_end.push_back([&cta, &barriers] {
      for (const auto& [at, barrier] : barriers) {
        if (barrier.expected == 0) continue;
        fail(Fault::left_in_flight, barrier.init_loc,
             "the CTA ends while " + name_of(barrier) + " waits for " + std::to_string(barrier.expected) + " bytes");
      }
    });
  }
  const auto [position, fresh] = barriers.try_emplace(offset);
  MbarrierState& barrier = position->second;
  if (!fresh) {
    fail(Fault::barrier_misuse, loc, name_of(barrier) + " is initialised again");
    return;
  }
  barrier.cta = &cta;
  barrier.offset = offset;
  barrier.count = barrier.pending = count;
  barrier.agent = thread.machine->new_agent(cta, "the copy engine");
  barrier.init_thread = thread.clock.thread();
  barrier.init_clock = thread.clock.now();
  barrier.init_loc = loc;
  if (thread.machine->options().check_races) {
    for (auto *cell = cta.shared.first_cell(offset), *end = cta.shared.end_cell(offset, kBytes); cell != end; ++cell) {
      cell->pending = SharedMemory::Cell::kOpaque;
      cell->shadow.note_write(thread.clock, site_of(loc));
    }
  }
}

void mbarrier_init_fence(Loc) {
  Thread& thread = current();
  thread.state<Fences>().init.push_back(thread.clock.tick());
}

void mbarrier_arrive(void* address, Loc loc) {
  MbarrierState* const barrier = own_mbarrier(address, loc);
  if (barrier == nullptr || !expects_arrival(*barrier, loc)) return;
  barrier->running.own.release(current().clock);
  --barrier->pending;
  check_bytes(*barrier, loc);
  complete_phase_if_due(*barrier);
  detail::maybe_preempt(current());
}

void mbarrier_arrive_expect(void* address, int bytes, Loc loc) {
  MbarrierState* const barrier = own_mbarrier(address, loc);
  if (barrier == nullptr || !expects_arrival(*barrier, loc)) return;
  if (bytes < 0 || bytes > kMaxBytes) {
    fail(Fault::barrier_misuse, loc, "expects " + std::to_string(bytes) + " bytes");
    return;
  }
  barrier->expected += bytes;
  barrier->running.own.release(current().clock);
  --barrier->pending;
  check_bytes(*barrier, loc);
  complete_phase_if_due(*barrier);
  detail::maybe_preempt(current());
}

void mbarrier_arrive_remote(void* address, int cta_rank, Scope release, Loc loc) {
  if (!in_shared_memory(address, loc)) return;
  Thread& thread = current();
  Cta* const cta = reach(cta_rank, "arrives at an mbarrier", loc);
  if (cta == nullptr) return;
  MbarrierState* const barrier = find_mbarrier(*cta, offset_of(address), cta != thread.cta, loc);
  if (barrier == nullptr || !expects_arrival(*barrier, loc)) return;
  note_reach(*cta, {thread.clock.now(), static_cast<std::uint16_t>(thread.clock.thread()), site_of(loc)});
  if (cta == thread.cta) {
    barrier->running.own.release(thread.clock);
  } else if (release == Scope::cluster) {
    barrier->running.cluster.release(thread.clock);
  } else {
    barrier->running.over.release_over(thread.clock);
  }
  --barrier->pending;
  check_bytes(*barrier, loc);
  complete_phase_if_due(*barrier);
  detail::maybe_preempt(thread);
}

bool mbarrier_try_wait(void* address, unsigned parity, Scope acquire, Loc loc) {
  MbarrierState* const barrier = own_mbarrier(address, loc);
  if (barrier == nullptr || enter(*barrier, parity, acquire)) return true;
  Thread& thread = current();
  if (thread.machine->wait_for_a_while("mbarrier_try_wait", loc)) {
    thread.wait_detail = nullptr;
    return true;
  }
  std::erase_if(barrier->waiters, [&](const MbarrierState::Waiter& waiter) { return waiter.thread == &thread; });
  return false;
}

void mbarrier_wait(void* address, unsigned parity, Scope acquire, Loc loc) {
  MbarrierState* const barrier = own_mbarrier(address, loc);
  if (barrier == nullptr || enter(*barrier, parity, acquire)) return;
  Thread& thread = current();
  thread.machine->wait("mbarrier_wait", loc);
  thread.wait_detail = nullptr;
}

}  // namespace xgemm::sim
