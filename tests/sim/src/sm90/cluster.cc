// Clusters. SPDX-License-Identifier: BSD-3-Clause
#include "sim/sm90/cluster.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "mbarrier_state.h"

namespace xgemm::sim {
namespace {

struct ClusterBarrier {
  unsigned generation = 0;
  int arrived = 0;
  bool watches_ends = false;
  ClockJoin released[2];  // by cluster_sync(), of even and odd generations
  std::vector<Thread*> waiting;
};

void complete_if_due(Cluster& cluster, int ending) {
  ClusterBarrier& barrier = cluster.state<ClusterBarrier>();
  int running = -ending;
  for (const Cta* cta : cluster.ctas) running += cta->running;
  if (barrier.arrived == 0 || barrier.arrived < running) return;
  barrier.arrived = 0;
  ++barrier.generation;
  for (Thread* thread : barrier.waiting) thread->machine->wake(*thread);
  barrier.waiting.clear();
}

// Those that have ended are not waited for.
void watch_ends(Cluster& cluster) {
  for (Cta* cta : cluster.ctas) {
    cta->at_thread_end.push_back([&cluster](Thread& thread) {
      ClusterBarrier& barrier = cluster.state<ClusterBarrier>();
      const ClusterMember& member = thread.state<ClusterMember>();
      if (member.arrived > barrier.generation) --barrier.arrived;
      complete_if_due(cluster, 1);
    });
  }
}

// What others have done inside a CTA, by thread; and what its threads knew at their ends.
struct Reached {
  std::map<int, Event> last;
  ClockJoin ends;
};

void check_end(Cta& cta) {
  Reached& reached = cta.state<Reached>();
  ThreadClock known(-1, machine().nothing_seen());
  reached.ends.acquire_over(known);
  for (const auto& [thread, event] : reached.last) {
    if (known.knows_over(thread, event.clock)) continue;
    machine().fail(Fault::cluster_misuse, location_of(event.site),
                   "CTA " + std::to_string(cta.cluster_rank) +
                       " of the cluster may end before this access to its shared memory: it does not wait for it");
  }
}

}  // namespace

Cta* reach(int cta_rank, const char* what, Loc loc) {
  Thread& thread = current();
  Cluster& cluster = *thread.cta->cluster;
  if (cta_rank < 0 || cta_rank >= static_cast<int>(cluster.ctas.size())) {
    fail(Fault::cluster_misuse, loc,
         std::string(what) + " of CTA " + std::to_string(cta_rank) + " in a cluster of " +
             std::to_string(cluster.ctas.size()));
    return nullptr;
  }
  Cta* const cta = cluster.ctas[static_cast<std::size_t>(cta_rank)];
  if (cta == thread.cta) return cta;
  if (cta->running == 0) {
    fail(Fault::cluster_misuse, loc, std::string(what) + " of CTA " + std::to_string(cta_rank) + ", which has ended");
    return nullptr;
  }
  if (thread.state<ClusterMember>().passed == 0) {
    fail(
        Fault::cluster_misuse, loc,
        std::string(what) + " of CTA " + std::to_string(cta_rank) + ", which may not have started: no cluster barrier");
  }
  return cta;
}

void note_reach(Cta& cta, const Event& event) {
  if (&cta == current().cta) return;
  Reached& reached = cta.state<Reached>();
  if (reached.last.empty()) {
    cta.at_thread_end.push_back([&reached](Thread& thread) { reached.ends.release_over(thread.clock); });
    cta.at_end.push_back([&cta] { check_end(cta); });
  }
  Event& last = reached.last[event.thread];
  if (last.clock <= event.clock) last = event;
}

void cluster_arrive(Loc loc) {
  Thread& thread = current();
  Cluster& cluster = *thread.cta->cluster;
  ClusterBarrier& barrier = cluster.state<ClusterBarrier>();
  ClusterMember& member = thread.state<ClusterMember>();
  if (member.arrived != member.passed) {
    fail(Fault::cluster_misuse, loc, "arrives at the cluster barrier again before waiting for it");
    return;
  }
  if (!barrier.watches_ends) {
    barrier.watches_ends = true;
    watch_ends(cluster);
  }
  const Fences& fences = thread.state<Fences>();
  if (!fences.init.empty()) {
    for (auto& [offset, mbarrier] : thread.cta->state<Mbarriers>().by_offset) {
      if (mbarrier.published || mbarrier.init_thread != thread.clock.thread() ||
          !fenced(fences.init, mbarrier.init_clock, thread.clock.now())) {
        continue;
      }
      mbarrier.published = true;
      mbarrier.generation = barrier.generation;
    }
  }
  ++member.arrived;
  ++barrier.arrived;
  complete_if_due(cluster, 0);
}

void cluster_wait(Loc loc) {
  Thread& thread = current();
  ClusterBarrier& barrier = thread.cta->cluster->state<ClusterBarrier>();
  ClusterMember& member = thread.state<ClusterMember>();
  if (member.arrived == member.passed) {
    fail(Fault::cluster_misuse, loc, "waits for the cluster barrier without having arrived");
    return;
  }
  if (barrier.generation == member.passed) {
    barrier.waiting.push_back(&thread);
    thread.machine->wait("cluster_wait", loc);
  }
  barrier.released[member.passed % 2].acquire(thread.clock);
  ++member.passed;
}

void cluster_sync(Loc loc) {
  Thread& thread = current();
  thread.cta->cluster->state<ClusterBarrier>().released[thread.state<ClusterMember>().passed % 2].release(thread.clock);
  cluster_arrive(loc);
  cluster_wait(loc);
}

void write_remote(float* local, int cta_rank, const float (&values)[4], Loc loc) {
  constexpr std::size_t kBytes = sizeof values;
  Thread& thread = current();
  const auto address = reinterpret_cast<std::uintptr_t>(local);
  if (!detail::check_shared_bounds(thread, address, kBytes, loc)) return;
  Cta* const cta = reach(cta_rank, "writes shared memory", loc);
  if (cta == nullptr) return;
  const std::size_t offset = thread.cta->shared.offset(address);
  SharedMemory& shared = cta->shared;
  const Site site = site_of(loc);
  note_reach(*cta, {thread.clock.now(), static_cast<std::uint16_t>(thread.clock.thread()), site});
  if (thread.machine->options().check_races) {
    for (auto *cell = shared.first_cell(offset), *end = shared.end_cell(offset, kBytes); cell != end; ++cell) {
      if (cell->pending != 0 || cell->shadow.conflict_of_write(thread.clock)) {
        detail::report_shared_write(thread, *cell, offset, loc);
      }
      cell->shadow.note_write(thread.clock, site);
      cell->pending = 0;
    }
  }
  std::memcpy(shared.base() + offset, values, kBytes);
  detail::count(thread, Traffic::shared_store, offset, kBytes, loc);
  detail::maybe_preempt(thread);
}

void write_remote_async(unsigned* local, void* barrier, int cta_rank, const unsigned (&values)[4], Loc loc) {
  constexpr std::size_t kBytes = sizeof values;
  Thread& thread = current();
  const auto address = reinterpret_cast<std::uintptr_t>(local), at = reinterpret_cast<std::uintptr_t>(barrier);
  if (!detail::check_shared_bounds(thread, address, kBytes, loc) ||
      !detail::check_shared_bounds(thread, at, sizeof(std::uint64_t), loc)) {
    return;
  }
  Cta* const cta = reach(cta_rank, "writes shared memory", loc);
  if (cta == nullptr) return;
  MbarrierState* const state = find_mbarrier(*cta, thread.cta->shared.offset(at), cta != thread.cta, loc);
  if (state == nullptr) return;
  const std::size_t offset = thread.cta->shared.offset(address);
  const std::uint32_t number = next_copy(*cta);
  const auto event_of = [state, loc] {
    return Event{state->phase + 1, static_cast<std::uint16_t>(state->agent), site_of(loc)};
  };
  const auto for_each_cell = [cta, offset](const auto& f) {
    for (auto *cell = cta->shared.first_cell(offset), *end = cta->shared.end_cell(offset, kBytes); cell != end; ++cell)
      f(*cell);
  };
  note_reach(*cta, event_of());
  const bool checks = thread.machine->options().check_races;
  if (checks) {
    for_each_cell([&](SharedMemory::Cell& cell) {
      if (cell.pending != 0 || cell.shadow.conflict_of_write(thread.clock)) {
        detail::report_shared_write(thread, cell, offset, loc);
      }
      cell.shadow.note_write(event_of());
      cell.pending = number;
    });
  }
  std::memset(cta->shared.base() + offset, kPoison, kBytes);
  detail::count(thread, Traffic::shared_store, offset, kBytes, loc);
  std::array<unsigned, 4> words;
  std::memcpy(words.data(), values, kBytes);
  thread.machine->defer(thread, [=] {
    if (cta->running == 0) {
      fail(Fault::cluster_misuse, loc, "a write ends in the shared memory of a CTA that has ended");
      return;
    }
    note_reach(*cta, event_of());
    std::memcpy(cta->shared.base() + offset, words.data(), kBytes);
    if (checks) {
      for_each_cell([&](SharedMemory::Cell& cell) {
        if (cell.pending != number) return;
        cell.pending = 0;
        cell.shadow.write = event_of();
      });
    }
    complete_bytes(*state, kBytes, loc);
  });
  detail::maybe_preempt(thread);
}

void grid_wait_dependencies() {
  current().may_use_global_memory = true;
}

}  // namespace xgemm::sim
