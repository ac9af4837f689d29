// The machine: threads on fibers, in warps, in CTAs, and the scheduler that runs them.
//
// This file knows no mechanism of the GPU. Barriers (barrier.h), warp-wide operations (warp.h) and asynchronous copies
// (copy_async.h) are built on what it offers, each in a file of its own, and so is what comes later:
//
//   current()                the thread that runs
//   state<T>()               data of a mechanism T, attached to a thread, warp or CTA, made when first asked for
//   wait(what, loc) / wake() park a thread, run it again; a machine in which all are parked is deadlocked
//   defer()                  work that no thread does: it happens at some later time
//   new_agent()              who does it, for the clocks
//   ClockJoin (clock.h)      who sees whose writes afterwards
//   fail()                   reports a fault of the running thread
//   read / write             checked accesses of memory
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/clock.h"
#include "sim/counters.h"
#include "sim/fiber.h"
#include "sim/location.h"
#include "sim/memory.h"
#include "sim/options.h"
#include "sim/report.h"
#include "sim/shared_memory.h"

namespace xgemm::sim {

inline constexpr int kWarpSize = 32;

// Data of mechanisms, by type.
class Attachments {
 public:
  template <class T>
  T& state() {
    const std::size_t index = index_of<T>();
    if (index >= slots_.size()) slots_.resize(index + 1);
    if (!slots_[index]) slots_[index] = std::make_shared<T>();
    return *static_cast<T*>(slots_[index].get());
  }
  void clear_state() { slots_.clear(); }

 private:
  static std::size_t next_index();
  template <class T>
  static std::size_t index_of() {
    static const std::size_t index = next_index();
    return index;
  }
  std::vector<std::shared_ptr<void>> slots_;
};

class Machine;
struct Cta;
struct Cluster;

struct Thread : Attachments {
  Machine* machine = nullptr;
  Cta* cta = nullptr;
  int index = 0;  // in its CTA
  ThreadClock clock;
  int until_preempted = -1;

  Fiber fiber;
  bool waiting = false;
  bool waits_for_a_while = false;
  const char* waits_for = "";
  Loc waits_at;
  std::function<std::string()> wait_detail;  // for reports; may be empty
  std::vector<AccessRecord> log;
  bool may_use_global_memory = true;

  int lane() const { return index % kWarpSize; }
  int warp() const { return index / kWarpSize; }
};

struct Warp : Attachments {
  int running = 0;  // lanes that have not ended
};

struct Cta : Attachments {
  std::int64_t index = 0;  // in the grid
  int running = 0;         // threads that have not ended
  Cluster* cluster = nullptr;
  int cluster_rank = 0;
  int first_agent = 0;
  int agents = 0;
  int ctas_per_sm = 1;
  SharedMemory shared;
  std::vector<Thread*> threads;
  std::vector<Warp> warps;
  // Called on a thread that ends; and on the last one, when all have.
  std::vector<std::function<void(Thread&)>> at_thread_end;
  std::vector<std::function<void()>> at_end;
};

// CTAs that run together and reach each other's shared memory; a single one in launches without clusters.
struct Cluster : Attachments {
  std::vector<Cta*> ctas;
};

struct LaunchShape {
  std::int64_t grid = 1;  // CTAs
  int threads = 32;
  std::size_t dynamic_shared_bytes = 0;
  int granule = 1;         // see SharedMemory
  int cluster = 1;         // CTAs of a cluster
  int ctas_per_sm = 1;     // that the kernel's launch bounds promise
  int agents = 0;          // of a CTA: barriers, warpgroups and queues on whose behalf units work on their own
  bool dependent = false;  // programmatic dependent launch: threads wait for earlier kernels themselves
};

struct Result {
  std::vector<Report> reports;
  Counters counters;

  bool ok() const { return reports.empty(); }
  bool has(Fault fault) const;
  const Report* find(Fault fault) const;
  std::string summary() const;  // the reports, a line each
};

class Machine {
 public:
  // body runs once in each thread, with the CTA's dynamic shared memory.
  using Body = std::function<void(unsigned char* shared)>;

  Machine(const LaunchShape& shape, GlobalMemory& memory, const Options& options, Body body);
  ~Machine();
  Result run();

  const LaunchShape& shape() const { return shape_; }
  const Options& options() const { return options_; }
  GlobalMemory& memory() { return memory_; }

  // Parks the running thread until somebody wakes it.
  void wait(const char* what, Loc loc);
  void wake(Thread& thread);
  // The same, but when nothing else can happen any more it may return false.
  bool wait_for_a_while(const char* what, Loc loc);
  // Lets another thread run now.
  void yield();
  // At some time from now on, chosen by the schedule, `action` runs outside all threads. It must not wait. Faults in it
  // are reported in the name of `thread`.
  void defer(Thread& thread, std::function<void()> action);
  // A thread number for the clocks.
  int new_agent(Cta& cta, const char* name);
  bool is_agent(int thread) const { return thread >= first_agent_; }
  Thread& thread(int number) { return *threads_[static_cast<std::size_t>(number)]; }
  const ClockVector& nothing_seen() const { return nothing_seen_; }

  void fail(Fault fault, Loc loc, std::string message, const Event* other = nullptr);

  // The lanes of the warp (of all warps of the CTA) are at one point of the program: requests before it are complete.
  void warp_met(Cta& cta, int warp);
  void cta_met(Cta& cta);
  // A request that is not put together from the accesses of lanes.
  void count_request(Site site, Traffic traffic, std::span<const LaneAccess> lanes, int bytes);

 private:
  struct Cancelled {};
  static void thread_main(void* thread);
  void run_wave(std::int64_t first, int count);
  void run_deferred(std::size_t index);
  bool wake_the_impatient();
  void report_deadlock();
  void pick_preemption(Thread& thread);
  std::uint64_t random();

  LaunchShape shape_;
  GlobalMemory& memory_;
  Options options_;
  Body body_;
  ReportList reports_;
  Counting counting_;
  std::vector<std::int64_t> cta_order_;
  std::vector<std::unique_ptr<Cta>> ctas_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Thread*> ready_;  // runnable; the front part has been run
  std::vector<Thread*> woken_;
  struct Deferred {
    Thread* thread;
    std::function<void()> action;
  };
  std::deque<Deferred> deferred_;
  std::vector<Thread*> impatient_;  // in wait_for_a_while()
  int idle_rounds_ = 0;             // since somebody was woken for a reason
  std::vector<std::unique_ptr<Cluster>> clusters_;
  ClockVector nothing_seen_;
  int first_agent_ = 0;
  std::vector<const char*> agent_names_;
  std::uint64_t random_state_ = 0;
  bool cancelling_ = false;
};

inline constinit thread_local Thread* current_thread = nullptr;
inline Thread& current() {
  return *current_thread;
}
inline Machine& machine() {
  return *current_thread->machine;
}

inline void fail(Fault fault, Loc loc, std::string message, const Event* other = nullptr) {
  machine().fail(fault, loc, std::move(message), other);
}

// The running lane skips an access that others of its warp make. Outside of a kernel, where a test asks an epilogue,
// there is none.
inline void skip(Traffic traffic, Loc loc) {
  if (current_thread != nullptr && machine().options().count) current().log.push_back({site_of(loc), traffic, 0, 0});
}

// ---- Checked accesses (src/access.cc). On a fault reads give poison and writes do nothing. ----

namespace detail {
// as: the event to note, of an agent that accesses on behalf of the thread; null: the thread itself.
bool check_global(Thread& thread, std::uintptr_t address, std::size_t bytes, Access access, Loc loc,
                  const Event* as = nullptr);
bool check_shared_bounds(Thread& thread, std::uintptr_t address, std::size_t bytes, Loc loc);
void report_shared_read(Thread& thread, const SharedMemory::Cell& cell, std::size_t offset, Loc loc);
void report_shared_write(Thread& thread, const SharedMemory::Cell& cell, std::size_t offset, Loc loc);

inline void count(Thread& thread, Traffic traffic, std::uint64_t address, std::size_t bytes, Loc loc) {
  if (thread.machine->options().count) {
    thread.log.push_back({site_of(loc), traffic, static_cast<std::uint8_t>(bytes), address});
  }
}
inline void maybe_preempt(Thread& thread) {
  if (thread.until_preempted > 0 && --thread.until_preempted == 0) thread.machine->yield();
}
}  // namespace detail

// Of 1, 2, 4, 8 or 16 bytes.
template <std::size_t kBytes, bool kMayBeUnwritten = false>
void read_shared(const void* from, void* to, Loc loc);
template <std::size_t kBytes>
void write_shared(void* to, const void* from, Loc loc);
template <std::size_t kBytes>
void read_global(const void* from, void* to, Loc loc);
template <std::size_t kBytes>
void write_global(void* to, const void* from, Loc loc);

// *to becomes change(*to), and what it was is returned. Conflicts with plain accesses alone.
template <class Change>
unsigned atomic(unsigned* to, const Change& change, Loc loc) {
  Thread& thread = current();
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  if (!detail::check_global(thread, address, sizeof(unsigned), Access::read, loc)) return 0;
  const unsigned before = *to;
  *to = change(before);
  detail::count(thread, Traffic::global_store, address, sizeof(unsigned), loc);
  detail::maybe_preempt(thread);
  return before;
}

}  // namespace xgemm::sim
