// The scheduler. SPDX-License-Identifier: BSD-3-Clause
#include "sim/machine.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace xgemm::sim {

std::size_t Attachments::next_index() {
  static std::atomic<std::size_t> next{0};
  return next++;
}

bool Result::has(Fault fault) const {
  return find(fault) != nullptr;
}

const Report* Result::find(Fault fault) const {
  for (const Report& report : reports)
    if (report.fault == fault) return &report;
  return nullptr;
}

std::string Result::summary() const {
  std::string text;
  for (const Report& report : reports) text += to_string(report) + "\n";
  return text;
}

Machine::Machine(const LaunchShape& shape, GlobalMemory& memory, const Options& options, Body body)
    : shape_(shape), memory_(memory), options_(options), body_(std::move(body)), random_state_(options.seed) {}

Machine::~Machine() = default;

std::uint64_t Machine::random() {
  std::uint64_t z = (random_state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void Machine::pick_preemption(Thread& thread) {
  thread.until_preempted =
      options_.order == Order::random && options_.preempt_every > 0
          ? 1 + static_cast<int>(random() % (2 * static_cast<std::uint64_t>(options_.preempt_every)))
          : -1;
}

Result Machine::run() {
  Result result;
  const auto refuse = [&](std::string why) {
    Report report;
    report.fault = Fault::bad_launch;
    report.kernel = options_.kernel;
    report.message = std::move(why);
    reports_.add(std::move(report));
  };
  if (shape_.threads < 1 || shape_.threads > 1024) refuse("a CTA has 1 to 1024 threads");
  if (shape_.dynamic_shared_bytes > kMaxSharedBytes) refuse("a CTA has at most 227 KiB of shared memory");
  if (shape_.grid > 0x7fffffff) refuse("a grid has fewer than 2^31 CTAs");
  if (shape_.cluster < 1 || shape_.cluster > 16 || shape_.grid % shape_.cluster != 0) {
    refuse("a cluster has 1 to 16 CTAs, and a grid whole clusters");
  }
  if (std::max(options_.concurrent_ctas, shape_.cluster) * (shape_.threads + shape_.agents) > 0xffff) {
    refuse("the simulator runs at most 65535 threads at a time");
  }
  if (shape_.grid <= 0) refuse("a grid has at least one CTA");
  if (!reports_.empty()) {
    result.reports = reports_.all();
    return result;
  }

  memory_.forget_accesses();
  const std::int64_t concurrent = options_.concurrent_ctas + shape_.cluster - 1;
  const int together =
      static_cast<int>(std::clamp<std::int64_t>(concurrent - concurrent % shape_.cluster, shape_.cluster, shape_.grid));
  if (options_.order == Order::random && shape_.grid <= (1 << 20)) {
    cta_order_.resize(static_cast<std::size_t>(shape_.grid / shape_.cluster));
    std::iota(cta_order_.begin(), cta_order_.end(), 0);
    for (std::size_t i = cta_order_.size(); i > 1; --i) std::swap(cta_order_[i - 1], cta_order_[random() % i]);
  }
  for (std::int64_t first = 0; first < shape_.grid; first += together) {
    run_wave(first, static_cast<int>(std::min<std::int64_t>(together, shape_.grid - first)));
    if (cancelling_) break;  // what hangs in one CTA hangs in all
  }
  result.reports = reports_.all();
  if (options_.count) result.counters = counting_.result();
  return result;
}

void Machine::run_wave(std::int64_t first, int count) {
  const auto per_cta = static_cast<std::size_t>(shape_.threads);
  first_agent_ = shape_.threads * count;
  agent_names_.assign(static_cast<std::size_t>(shape_.agents * count), "");
  nothing_seen_ = ClockVector(static_cast<std::size_t>(first_agent_) + agent_names_.size());
  clusters_.clear();
  deferred_.clear();
  impatient_.clear();
  idle_rounds_ = 0;
  while (ctas_.size() < static_cast<std::size_t>(count)) ctas_.push_back(std::make_unique<Cta>());
  while (threads_.size() < per_cta * static_cast<std::size_t>(count)) threads_.push_back(std::make_unique<Thread>());

  ready_.clear();
  for (int c = 0; c < count; ++c) {
    Cta& cta = *ctas_[static_cast<std::size_t>(c)];
    std::int64_t cluster = (first + c) / shape_.cluster;
    if (!cta_order_.empty()) {
      cluster = cta_order_[static_cast<std::size_t>(cluster)];
    } else if (options_.order == Order::reverse) {
      cluster = shape_.grid / shape_.cluster - 1 - cluster;
    }
    cta.clear_state();
    cta.cluster_rank = static_cast<int>((first + c) % shape_.cluster);
    if (cta.cluster_rank == 0) clusters_.push_back(std::make_unique<Cluster>());
    cta.cluster = clusters_.back().get();
    cta.cluster->ctas.push_back(&cta);
    cta.first_agent = first_agent_ + c * shape_.agents;
    cta.agents = 0;
    cta.ctas_per_sm = shape_.ctas_per_sm;
    cta.at_thread_end.clear();
    cta.at_end.clear();
    cta.index = cluster * shape_.cluster + cta.cluster_rank;
    cta.running = shape_.threads;
    cta.shared.reset(shape_.dynamic_shared_bytes, shape_.granule);
    cta.threads.clear();
    cta.warps.assign((per_cta + kWarpSize - 1) / kWarpSize, Warp{});
    for (std::size_t t = 0; t < per_cta; ++t) {
      const std::size_t number = static_cast<std::size_t>(c) * per_cta + t;
      Thread& thread = *threads_[number];
      thread.clear_state();
      thread.machine = this;
      thread.cta = &cta;
      thread.index = static_cast<int>(t);
      thread.clock = ThreadClock(static_cast<int>(number), nothing_seen_);
      thread.waiting = thread.waits_for_a_while = false;
      thread.wait_detail = nullptr;
      thread.log.clear();
      thread.may_use_global_memory = !shape_.dependent;
      pick_preemption(thread);
      ++cta.warps[t / kWarpSize].running;
      cta.threads.push_back(&thread);
      thread.fiber.start(&Machine::thread_main, &thread);
      ready_.push_back(&thread);
    }
  }

  Thread* const outer = current_thread;
  const auto resume = [&](Thread* thread) {
    current_thread = thread;
    thread->fiber.resume();
    current_thread = outer;
  };
  // Rounds: everybody who can run does, in the order of the schedule; those woken meanwhile form the next round. What
  // is deferred happens when nobody can run; under a random schedule at any time, the sooner the smaller the patience.
  const std::uint64_t patience = options_.order == Order::random && shape_.agents > 0 ? 1u << random() % 10 : 0;
  // Now and then a CTA of a cluster or a warp is slow, so that the others run ahead as far as they can.
  int slow_begin = 0, slow_end = 0;
  if (patience != 0) {
    const auto threads = static_cast<std::uint64_t>(first_agent_);
    const int group = shape_.cluster > 1 && random() % 2 == 0 ? shape_.threads : kWarpSize;
    slow_begin = static_cast<int>(random() % threads) / group * group;
    slow_end = random() % 4 == 0 ? slow_begin : slow_begin + group;
  }
  const auto is_slow = [&](const Thread* thread) {
    return thread->clock.thread() >= slow_begin && thread->clock.thread() < slow_end;
  };
  while (!ready_.empty() || !deferred_.empty() || wake_the_impatient()) {
    if (options_.order == Order::random) {
      while (!ready_.empty() || !deferred_.empty()) {
        if (!deferred_.empty() && (ready_.empty() || random() % patience == 0)) {
          run_deferred(random() % deferred_.size());
          ready_.insert(ready_.end(), woken_.begin(), woken_.end());
          woken_.clear();
          continue;
        }
        std::size_t pick = random() % ready_.size();
        for (int again = 0; again < 8 && is_slow(ready_[pick]); ++again) pick = random() % ready_.size();
        Thread* const thread = ready_[pick];
        ready_[pick] = ready_.back();
        ready_.pop_back();
        resume(thread);
        ready_.insert(ready_.end(), woken_.begin(), woken_.end());
        woken_.clear();
      }
    } else if (ready_.empty()) {
      if (!deferred_.empty()) run_deferred(options_.order == Order::forward ? 0 : deferred_.size() - 1);
      ready_.swap(woken_);
      woken_.clear();
    } else {
      const auto before = [&](const Thread* a, const Thread* b) {
        const bool less = a->clock.thread() < b->clock.thread();
        return options_.order == Order::forward ? less : a != b && !less;
      };
      if (!std::is_sorted(ready_.begin(), ready_.end(), before)) std::sort(ready_.begin(), ready_.end(), before);
      std::vector<Thread*> round;
      round.swap(ready_);
      for (Thread* thread : round) resume(thread);
      ready_.swap(woken_);
      woken_.clear();
    }
  }

  bool stuck = false;
  for (int c = 0; c < count; ++c) stuck = stuck || ctas_[static_cast<std::size_t>(c)]->running > 0;
  if (stuck) {
    report_deadlock();
    cancelling_ = true;  // waits throw from now on: each thread unwinds its own stack
    for (int c = 0; c < count; ++c) {
      for (Thread* thread : ctas_[static_cast<std::size_t>(c)]->threads) {
        while (!thread->fiber.done()) resume(thread);
      }
    }
    woken_.clear();
  }
}

void Machine::thread_main(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  Machine& machine = *thread.machine;
  try {
    machine.body_(thread.cta->shared.base());
  } catch (const Cancelled&) {
  } catch (const std::exception& error) {
    machine.fail(Fault::exception, Loc(), error.what());
  } catch (...) {
    machine.fail(Fault::exception, Loc(), "of an unknown type");
  }
  if (machine.cancelling_) return;
  machine.idle_rounds_ = 0;
  for (std::size_t i = 0; i < thread.cta->at_thread_end.size(); ++i) thread.cta->at_thread_end[i](thread);
  if (--thread.cta->running == 0) {
    for (std::size_t i = 0; i < thread.cta->at_end.size(); ++i) thread.cta->at_end[i]();
  }
  if (--thread.cta->warps[static_cast<std::size_t>(thread.warp())].running == 0) {
    machine.warp_met(*thread.cta, thread.warp());
  }
}

void Machine::wait(const char* what, Loc loc) {
  Thread& thread = current();
  thread.waiting = true;
  thread.waits_for = what;
  thread.waits_at = loc;
  if (cancelling_) throw Cancelled();
  thread.fiber.suspend();
  if (cancelling_) throw Cancelled();
  pick_preemption(thread);
}

void Machine::wake(Thread& thread) {
  thread.waiting = thread.waits_for_a_while = false;
  idle_rounds_ = 0;
  woken_.push_back(&thread);
}

bool Machine::wait_for_a_while(const char* what, Loc loc) {
  Thread& thread = current();
  thread.waits_for_a_while = true;
  impatient_.push_back(&thread);
  wait(what, loc);
  if (thread.waits_for_a_while) {
    thread.waits_for_a_while = false;
    return false;
  }
  std::erase(impatient_, &thread);
  return true;
}

// Polling threads poll again when nobody else can do anything; not for ever, though.
bool Machine::wake_the_impatient() {
  constexpr int kMaxIdleRounds = 3;
  if (idle_rounds_ >= kMaxIdleRounds) return false;
  ++idle_rounds_;
  for (Thread* thread : impatient_) {
    if (!thread->waits_for_a_while || !thread->waiting) continue;
    thread->waiting = false;
    ready_.push_back(thread);
  }
  impatient_.clear();
  return !ready_.empty();
}

void Machine::defer(Thread& thread, std::function<void()> action) {
  deferred_.push_back({&thread, std::move(action)});
}

void Machine::run_deferred(std::size_t index) {
  const Deferred chosen = std::move(deferred_[index]);
  if (index == 0) {
    deferred_.pop_front();  // the order in which the others were deferred stays
  } else {
    std::swap(deferred_[index], deferred_.back());  // not the last one: by a random schedule alone
    deferred_.pop_back();
  }
  Thread* const outer = std::exchange(current_thread, chosen.thread);
  chosen.action();
  current_thread = outer;
}

int Machine::new_agent(Cta& cta, const char* name) {
  if (cta.agents == shape_.agents) throw std::length_error("more barriers and queues than LaunchShape::agents");
  const int agent = cta.first_agent + cta.agents++;
  agent_names_[static_cast<std::size_t>(agent - first_agent_)] = name;
  return agent;
}

void Machine::count_request(Site site, Traffic traffic, std::span<const LaneAccess> lanes, int bytes) {
  counting_.add_request(site, traffic, lanes, bytes);
}

void Machine::yield() {
  if (cancelling_) throw Cancelled();
  Thread& thread = current();
  wake(thread);
  thread.fiber.suspend();
  if (cancelling_) throw Cancelled();
  pick_preemption(thread);
}

void Machine::fail(Fault fault, Loc loc, std::string message, const Event* other) {
  const Thread& thread = current();
  Report report;
  report.fault = fault;
  report.kernel = options_.kernel;
  report.cta = thread.cta->index;
  report.thread = thread.index;
  report.where = loc;
  if (other != nullptr) {
    report.other = location_of(other->site);
    if (is_agent(other->thread)) {
      report.other_unit = agent_names_[static_cast<std::size_t>(other->thread - first_agent_)];
    } else {
      report.other_thread = other->thread % shape_.threads;
    }
  }
  report.message = std::move(message);
  reports_.add(std::move(report));
}

void Machine::report_deadlock() {
  for (const auto& cta : ctas_) {
    if (cta->running == 0) continue;
    // One report: it names the first waiting thread of each place.
    struct Group {
      Thread* first = nullptr;
      int threads = 0;
    };
    std::vector<std::pair<std::string, Group>> groups;
    for (Thread* thread : cta->threads) {
      if (!thread->waiting || thread->fiber.done()) continue;
      const std::string place = std::string(thread->waits_for) + " at " + to_string(thread->waits_at);
      auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == place; });
      if (found == groups.end()) found = groups.insert(groups.end(), {place, {thread, 0}});
      ++found->second.threads;
    }
    if (groups.empty()) continue;
    std::string message;
    for (const auto& [place, group] : groups) {
      message += (message.empty() ? "" : "; ") + std::to_string(group.threads) +
                 (group.threads == 1 ? " thread waits" : " threads wait") + " in " + place + " (first: thread " +
                 std::to_string(group.first->index) +
                 (group.first->wait_detail ? ", " + group.first->wait_detail() : "") + ")";
    }
    const int ended = static_cast<int>(cta->threads.size()) - cta->running;
    message += "; " + std::to_string(ended) + " have ended";
    Report report;
    report.fault = Fault::deadlock;
    report.kernel = options_.kernel;
    report.cta = cta->index;
    report.thread = groups.front().second.first->index;
    report.where = groups.front().second.first->waits_at;
    report.message = std::move(message);
    reports_.add(std::move(report));
  }
}

void Machine::warp_met(Cta& cta, int warp) {
  if (!options_.count) return;
  std::array<std::vector<AccessRecord>*, kWarpSize> logs{};
  std::size_t lanes = 0;
  for (std::size_t t = static_cast<std::size_t>(warp) * kWarpSize; t < cta.threads.size() && lanes < kWarpSize; ++t) {
    logs[lanes++] = &cta.threads[t]->log;
  }
  counting_.add_warp(std::span(logs.data(), lanes));
}

void Machine::cta_met(Cta& cta) {
  if (!options_.count) return;
  for (std::size_t warp = 0; warp < cta.warps.size(); ++warp) warp_met(cta, static_cast<int>(warp));
}

}  // namespace xgemm::sim
