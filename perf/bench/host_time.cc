// Implementation of host_time.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/host_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <tuple>

namespace xgemm::perf {
namespace {

constexpr std::int64_t kRounds = 51;
constexpr std::int64_t kCallsPerRound = 200;  // some launches each: a stream takes about a thousand before it blocks
constexpr std::int64_t kWarmUpCalls = 2000;   // until hardly a kernel is run for the first time, which loads it
constexpr double kSmallest = 64, kLargest = 1024;
constexpr std::size_t kOperandBytes = std::size_t{1024} * 1024 * sizeof(float);

/// Shapes in an order that is always the same for a seed, none of them twice: extents that are multiples of 8, any
/// flags.
class ShapeStream {
 public:
  ShapeStream(char type, unsigned seed) : type_(type), engine_(seed) {}

  Case next() {
    Case one;
    one.type = type_;
    one.location = "ddd";
    do {
      one.m = extent();
      one.n = extent();
      one.k = extent();
      one.transa = uniform() < 0.5 ? 'N' : 'T';
      one.transb = uniform() < 0.5 ? 'N' : 'T';
    } while (!seen_.emplace(one.m, one.n, one.k, one.transa, one.transb).second);
    one.set_dense_layout(0);
    return one;
  }

  std::vector<Case> next(std::int64_t count) {
    std::vector<Case> cases(static_cast<std::size_t>(count));
    for (Case& one : cases) one = next();
    return cases;
  }

 private:
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  std::int64_t extent() { return 8 * std::llround(kSmallest * std::pow(kLargest / kSmallest, uniform()) / 8); }

  char type_;
  std::mt19937_64 engine_;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, char, char>> seen_;
};

/// What calls are made with: shapes that come again, or new ones for ever, which are not those that came again in a
/// case before.
class Calls {
 public:
  Calls(char type, std::int64_t shapes) : stream_(type, shapes == 0 ? 2 : 1), known_(stream_.next(shapes)) {}

  std::vector<Case> next(std::int64_t count) {
    if (known_.empty()) return stream_.next(count);
    std::vector<Case> cases;
    for (std::int64_t i = 0; i < count; ++i) cases.push_back(known_[at_++ % known_.size()]);
    return cases;
  }

 private:
  ShapeStream stream_;
  std::vector<Case> known_;
  std::size_t at_ = 0;
};

/// Device memory for the largest operands, of zeros: how long a call takes to enqueue does not depend on them.
class Memory {
 public:
  explicit Memory(Device& device) : device_(device) {
    for (void*& operand : operands_)
      if (operand = device.allocate('d', kOperandBytes); operand != nullptr) device.fill(operand, 0, kOperandBytes);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    for (void* operand : operands_) device_.release('d', operand);
  }
  bool complete() const { return std::find(operands_.begin(), operands_.end(), nullptr) == operands_.end(); }
  OperandSet set() const { return {operands_[0], operands_[1], operands_[2]}; }

 private:
  Device& device_;
  std::array<void*, 3> operands_{};
};

/// Microseconds of the processor per call; what goes wrong makes the candidate fail.
double time_calls(Candidate& candidate, CandidateResult& result, const std::vector<Case>& calls,
                  const OperandSet& operands, Device& device) {
  std::string error = device.synchronize();
  const double before = device.now();
  for (std::size_t i = 0; i < calls.size() && error.empty(); ++i) error = candidate.run(calls[i], operands);
  const double us = (device.now() - before) * 1e6 / static_cast<double>(calls.size());
  if (error.empty()) error = device.synchronize();
  if (!error.empty()) {
    result.status = "failed";
    result.reason = error;
  }
  return us;
}

}  // namespace

std::vector<HostTime> host_time_cases() {
  std::vector<HostTime> cases;
  const auto add = [&](const char* name, char type, std::int64_t shapes) {
    cases.push_back({name, type, shapes, 0, kCallsPerRound, "", {}});
  };
  add("one shape", 's', 1);
  add("one shape", 'h', 1);
  add("600 shapes in rotation", 'h', 600);
  add("10000 shapes in rotation", 'h', 10000);
  add("a new shape every call", 'h', 0);
  return cases;
}

HostTime measure_host_time(HostTime one, const std::vector<Candidate*>& candidates, const std::string& reference,
                           Device& device, const std::atomic<bool>& stop) {
  const Memory memory(device);
  std::vector<std::vector<double>> times_us(candidates.size());
  for (const Candidate* candidate : candidates) {
    one.candidates.emplace_back().name = candidate->name();
    if (memory.complete()) continue;
    one.candidates.back().status = "skipped";
    one.candidates.back().reason = "the operands do not fit into memory";
  }
  Calls calls(one.type, one.shapes);
  const auto enqueue = [&](const std::vector<Case>& chunk, bool counts) {
    // Each comes first equally often.
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::size_t at = (i + static_cast<std::size_t>(one.rounds)) % candidates.size();
      if (!one.candidates[at].ok()) continue;
      const double us = time_calls(*candidates[at], one.candidates[at], chunk, memory.set(), device);
      if (counts) times_us[at].push_back(us);
    }
  };
  for (std::int64_t made = 0; made < std::max(one.shapes, kWarmUpCalls) && !stop; made += kCallsPerRound)
    enqueue(calls.next(kCallsPerRound), false);
  for (; one.rounds < kRounds && !stop; ++one.rounds) enqueue(calls.next(kCallsPerRound), true);

  const auto base = std::find_if(one.candidates.begin(), one.candidates.end(), [&](const CandidateResult& result) {
    return result.name == reference && result.ok();
  });
  if (base != one.candidates.end()) one.reference = reference;
  for (std::size_t i = 0; i < candidates.size() && one.rounds > 0; ++i) {
    if (!one.candidates[i].ok()) continue;
    one.candidates[i].time_us = median_interval(times_us[i]);
    if (base != one.candidates.end())
      one.candidates[i].ratio =
          paired_ratio(times_us[static_cast<std::size_t>(base - one.candidates.begin())], times_us[i]);
  }
  return one;
}

}  // namespace xgemm::perf
