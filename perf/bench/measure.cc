// Implementation of measure.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "bench/oracle.h"

namespace xgemm::perf {
namespace {

constexpr double kLongestBatchUs = 50e3;
constexpr std::int64_t kMostRecordedCalls = 4096;
constexpr double kClockSampleSeconds = 0.02;  // NVML's own values are no newer
constexpr double kUsableError = 1e-2;         // normwise
constexpr double kSlowClockShare = 0.9;       // of the median SM clock, below which a round counts as throttled

/// A candidate in this case: what it has to do in a round, and what it has done.
struct Entrant {
  Candidate* candidate = nullptr;
  CandidateResult result;
  double estimate_us = 0;
  std::int64_t calls = 1;  // in a batch
  std::unique_ptr<RecordedCalls> recording;
  std::vector<double> times_us;  // per call, one per round
  std::string error;             // of a call; empty while all is well
};

struct RoundClock {
  ClockSample sample;
  bool known = false;
};

class CaseRun {
 public:
  CaseRun(const Case& one, const std::vector<Candidate*>& candidates, const std::string& reference,
          const MeasureSettings& settings, Bench& bench)
      : one_(one), settings_(settings), bench_(bench) {
    row_.shape = one;
    row_.id = one.id();
    row_.reference = reference;
    for (Candidate* candidate : candidates) {
      entrants_.push_back({});
      entrants_.back().candidate = candidate;
      entrants_.back().result.name = candidate->name();
    }
  }

  Row run() {
    if (const std::string why = bench_.operands.prepare(one_); !why.empty()) return skipped(why);
    row_.operand_sets = bench_.operands.count();
    row_.cold = bench_.operands.cold();
    prepare_candidates();
    if (settings_.check) check_candidates();
    if (active().empty()) return nothing_to_measure();
    if (!estimate()) return skipped("Ctrl-C");
    if (active().empty()) return nothing_to_measure();  // without a check, the first calls are those of the estimate
    if (const double seconds = least_seconds(); seconds > settings_.hard_seconds)
      return skipped(fmt::format("needs {:.0f} s, which the time budget does not leave", seconds));
    plan_batches();
    measure_host_time();
    warm_up();
    run_rounds();
    if (bench_.stop && rounds_ < settings_.min_rounds) return skipped("Ctrl-C");
    summarise();
    return std::move(row_);
  }

 private:
  bool asynchronous() const { return bench_.device.facts().is_gpu && one_.location.find('h') == std::string::npos; }

  std::vector<Entrant*> active() {
    std::vector<Entrant*> list;
    for (Entrant& entrant : entrants_)
      if (entrant.result.ok()) list.push_back(&entrant);
    return list;
  }

  Row skipped(const std::string& reason) {
    row_.status = "skipped";
    row_.reason = reason;
    return std::move(row_);
  }

  Row nothing_to_measure() {
    // Every candidate says why; the row repeats what the first one says, as the one that is asked about.
    row_.status = "skipped";
    for (Entrant& entrant : entrants_) {
      if (entrant.result.status == "failed") row_.status = "failed";
      if (row_.reason.empty()) row_.reason = entrant.result.name + ": " + entrant.result.reason;
      row_.candidates.push_back(std::move(entrant.result));
    }
    if (row_.reason.empty()) row_.reason = "no candidate";
    return std::move(row_);
  }

  void prepare_candidates() {
    const OperandSet& example = bench_.operands.set(0);
    for (Entrant& entrant : entrants_) {
      std::string why = entrant.candidate->prepare(one_, example);
      const bool failed = !why.empty() && entrant.candidate->serves_all();
      for (std::int64_t set = 0; set < bench_.operands.count() && why.empty(); ++set)
        why = entrant.candidate->prepare_operands(one_, bench_.operands.set(set));
      entrant.result.kernel = entrant.candidate->kernel(one_, example);
      entrant.result.plan = entrant.candidate->plan(one_, example);
      if (why.empty()) continue;
      entrant.result.status = failed ? "failed" : "skipped";
      entrant.result.reason = why;
    }
  }

  void check_candidates() {
    const Operands& operands = bench_.operands;
    const Reference reference = make_reference(one_, operands.a(), operands.b(), operands.c());
    for (Entrant* entrant : active()) {
      if (bench_.stop) return;
      bench_.operands.prepare_check();
      std::string problem = entrant->candidate->run(one_, operands.set(0));
      if (const std::string device_error = bench_.device.synchronize(); problem.empty()) problem = device_error;
      if (!problem.empty()) {
        fail(*entrant, problem);
        continue;
      }
      const Accuracy accuracy =
          judge(one_, reference, operands.c(), operands.fetch_output(), entrant->candidate->operand_unit(one_));
      entrant->result.checked = true;
      entrant->result.error = accuracy.normwise;
      entrant->result.bound_share = accuracy.bound_share;
      judge_entrant(*entrant, accuracy);
    }
    if (one_.beta != 0) bench_.operands.reset_outputs();
  }

  /// Another library may miss our bound by a little and is still what users have today: it is timed, and the miss is
  /// said.
  static void judge_entrant(Entrant& entrant, const Accuracy& accuracy) {
    if (accuracy.pass) return;
    const bool usable = accuracy.complete && accuracy.normwise < kUsableError && !entrant.candidate->is_xgemm();
    if (usable)
      entrant.result.reason = "misses the error bound: " + accuracy.problem;
    else
      fail(entrant, "wrong result: " + accuracy.problem);
  }

  static void fail(Entrant& entrant, const std::string& reason) {
    entrant.result.status = "failed";
    entrant.result.reason = reason;
  }

  /// `count` calls over the next operand sets.
  void call(Entrant& entrant, std::int64_t count) {
    for (std::int64_t i = 0; i < count && entrant.error.empty(); ++i) {
      entrant.error = entrant.candidate->run(one_, bench_.operands.set(cursor_));
      cursor_ = (cursor_ + 1) % bench_.operands.count();
    }
  }

  /// Microseconds per call of one batch, without its recording.
  double time_calls(Entrant& entrant, std::int64_t count) {
    if (asynchronous()) return bench_.device.time([&] { call(entrant, count); }) / static_cast<double>(count);
    const double before = bench_.device.now();
    call(entrant, count);
    return (bench_.device.now() - before) * 1e6 / static_cast<double>(count);
  }

  double time_batch(Entrant& entrant) {
    if (entrant.recording == nullptr) return time_calls(entrant, entrant.calls);
    return bench_.device.time(*entrant.recording) / static_cast<double>(entrant.calls);
  }

  bool estimate() {
    for (Entrant* entrant : active()) {
      if (bench_.stop) return false;
      entrant->estimate_us = time_calls(*entrant, 1);
      // The first call pays for caches, lazily loaded code and, on a GPU, for its launch. One that takes half a second
      // is right within what matters here.
      for (std::int64_t calls = 1; calls <= 64 && entrant->estimate_us * static_cast<double>(calls) < 5e5; calls *= 4) {
        if (calls > 1 && entrant->estimate_us > 2000) break;
        entrant->estimate_us = std::min(entrant->estimate_us, time_calls(*entrant, calls));
      }
      entrant->estimate_us = std::max(entrant->estimate_us, 1e-3);
      if (!entrant->error.empty()) fail(*entrant, entrant->error);
    }
    return true;
  }

  double least_seconds() {
    double round_us = 0;
    for (const Entrant* entrant : active()) round_us += entrant->estimate_us;
    return static_cast<double>(kFewestRounds) * round_us * 1e-6;
  }

  void plan_batches() {
    const double wanted_us = settings_.batch_us > 0 ? settings_.batch_us : asynchronous() ? 1000 : 5000;
    const auto list = active();
    const auto fastest = std::min_element(
        list.begin(), list.end(), [](const Entrant* x, const Entrant* y) { return x->estimate_us < y->estimate_us; });
    bool record = asynchronous() && (*fastest)->estimate_us < settings_.record_below_us;
    for (Entrant* entrant : list) {
      const auto fit = [&](double us) { return static_cast<std::int64_t>(std::ceil(us / entrant->estimate_us)); };
      entrant->calls = std::max<std::int64_t>(1, fit(wanted_us));
      if (!record) continue;
      // A recording always replays the same sets: it has to hold all of them, as often as makes the batch long enough.
      const std::int64_t sets = bench_.operands.count();
      const std::int64_t all = (entrant->calls + sets - 1) / sets * sets;
      entrant->calls = std::clamp<std::int64_t>(std::min(all, fit(kLongestBatchUs)), 1, kMostRecordedCalls);
    }
    // All or none: launching costs time on the device's clock too. Only a bystander is left out instead.
    for (Entrant* entrant : list) record = record && start_recording(*entrant);
    if (!record)
      for (Entrant* entrant : list) entrant->recording.reset();
    row_.recorded = record;
  }

  bool start_recording(Entrant& entrant) {
    std::string why;
    cursor_ = 0;
    entrant.recording = bench_.device.record([&] { call(entrant, entrant.calls); }, why);
    if (entrant.recording != nullptr && entrant.error.empty()) return true;
    if (!entrant.error.empty()) why = entrant.error;
    entrant.error.clear();
    entrant.recording.reset();
    if (!entrant.candidate->is_xgemm() && entrant.result.name != row_.reference) {
      entrant.result.status = "skipped";
      entrant.result.reason = fmt::format("cannot be recorded ({})", why);
      return true;
    }
    row_.reason = fmt::format("{} cannot be recorded ({}): launches are part of the times", entrant.result.name, why);
    return false;
  }

  void measure_host_time() {
    if (!asynchronous()) return;
    for (Entrant* entrant : active()) {
      const auto calls = static_cast<std::int64_t>(std::clamp(20e3 / entrant->estimate_us, 2.0, 200.0));
      std::vector<double> samples;
      for (int repeat = 0; repeat < 3 && !bench_.stop; ++repeat) {
        bench_.device.synchronize();
        const double before = bench_.device.now();
        call(*entrant, calls);
        samples.push_back((bench_.device.now() - before) * 1e6 / static_cast<double>(calls));
        bench_.device.synchronize();
      }
      if (!samples.empty()) entrant->result.host_us = median(samples);
    }
  }

  void warm_up() {
    const double until = bench_.device.now() + settings_.warm_up_seconds;
    do
      for (Entrant* entrant : active()) time_batch(*entrant);
    while (bench_.device.now() < until && !bench_.stop);
  }

  void run_rounds() {
    rounds_start_ = bench_.device.now();
    while (!bench_.stop && !finished()) {
      auto list = active();
      // Each candidate comes first equally often: what runs first finds the GPU cooler.
      std::rotate(list.begin(), list.begin() + rounds_ % static_cast<std::int64_t>(list.size()), list.end());
      for (Entrant* entrant : list) {
        if (std::abs(one_.beta) >= 1) bench_.operands.reset_outputs();
        entrant->times_us.push_back(time_batch(*entrant));
      }
      round_clocks_.push_back(sample_clock());
      ++rounds_;
      if (bench_.on_progress) bench_.on_progress({rounds_, widest()});
    }
    if (bench_.stop) row_.stopped_by = "interrupt";
  }

  RoundClock sample_clock() {
    const double now = bench_.device.now();
    if (now - last_sample_ >= kClockSampleSeconds || round_clocks_.empty()) {
      last_sample_ = now;
      const ClockSample sample = bench_.clocks.sample();
      return {sample, sample.sm_mhz > 0};
    }
    return round_clocks_.back();
  }

  bool finished() {
    if (rounds_ >= settings_.max_rounds) return stopped_by("rounds");
    if (rounds_ >= settings_.min_rounds && widest() <= settings_.precision) return stopped_by("precision");
    if (rounds_ >= kFewestRounds && bench_.device.now() - rounds_start_ > settings_.max_seconds)
      return stopped_by("time");
    return false;
  }

  bool stopped_by(const char* what) {
    row_.stopped_by = what;
    return true;
  }

  const Entrant* reference() const {
    for (const Entrant& entrant : entrants_)
      if (entrant.result.name == row_.reference && entrant.result.ok()) return &entrant;
    return nullptr;
  }

  /// Half width of the widest ratio; of the widest time when there is nothing to compare with.
  double widest() {
    double width = 0;
    const Entrant* const base = reference();
    for (const Entrant* entrant : active()) {
      if (entrant == base && active().size() > 1) continue;
      const Interval interval = base != nullptr && entrant != base
                                    ? paired_ratio(base->times_us, entrant->times_us, settings_.confidence)
                                    : median_interval(entrant->times_us, settings_.confidence);
      width = std::max(width, interval.relative_half_width());
    }
    return width;
  }

  /// Which rounds count: those in which the GPU was neither hot nor much slower than usual. All, if most were not.
  std::vector<bool> kept_rounds() {
    std::vector<double> clocks;
    for (const RoundClock& clock : round_clocks_)
      if (clock.known) clocks.push_back(clock.sample.sm_mhz);
    const double usual = clocks.empty() ? 0 : median(clocks);
    std::vector<bool> keep(round_clocks_.size(), true);
    for (std::size_t i = 0; i < keep.size(); ++i) {
      const RoundClock& clock = round_clocks_[i];
      // At the power limit the clock follows the load, which is how the GPU always runs such products.
      const bool slow = !clock.sample.power_capped && clock.sample.sm_mhz < kSlowClockShare * usual;
      keep[i] = !clock.known || (!clock.sample.thermal && !slow);
    }
    const auto good = static_cast<std::size_t>(std::count(keep.begin(), keep.end(), true));
    if (2 * good < keep.size()) {
      row_.reason = fmt::format("throttled in {} of {} rounds, so all are kept", keep.size() - good, keep.size());
      keep.assign(keep.size(), true);
    }
    return keep;
  }

  void summarise() {
    const std::vector<bool> keep = kept_rounds();
    row_.rounds = std::count(keep.begin(), keep.end(), true);
    row_.dropped_rounds = rounds_ - row_.rounds;
    for (Entrant& entrant : entrants_) {
      std::vector<double> kept;
      for (std::size_t i = 0; i < entrant.times_us.size(); ++i)
        if (keep[i]) kept.push_back(entrant.times_us[i]);
      entrant.times_us = std::move(kept);
      if (entrant.result.ok() && !entrant.error.empty()) fail(entrant, entrant.error);
    }
    summarise_clocks(keep);
    const Entrant* const base = reference();
    for (Entrant& entrant : entrants_) {
      if (entrant.result.ok()) fill_times(entrant, base);
      if (entrant.result.status == "failed" && entrant.candidate->is_xgemm()) row_.status = "failed";
    }
    for (Entrant& entrant : entrants_) row_.candidates.push_back(std::move(entrant.result));
    if (base == nullptr) row_.reference.clear();
  }

  void fill_times(Entrant& entrant, const Entrant* base) const {
    CandidateResult& result = entrant.result;
    result.time_us = median_interval(entrant.times_us, settings_.confidence);
    result.fastest_us = *std::min_element(entrant.times_us.begin(), entrant.times_us.end());
    result.calls_per_round = entrant.calls;
    if (base != nullptr) result.ratio = paired_ratio(base->times_us, entrant.times_us, settings_.confidence);
  }

  void summarise_clocks(const std::vector<bool>& keep) {
    std::vector<double> clocks;
    std::vector<double> watts;
    for (std::size_t i = 0; i < keep.size(); ++i) {
      if (!keep[i] || !round_clocks_[i].known) continue;
      clocks.push_back(round_clocks_[i].sample.sm_mhz);
      watts.push_back(round_clocks_[i].sample.power_w);
      row_.power_capped = row_.power_capped || round_clocks_[i].sample.power_capped;
    }
    if (clocks.empty()) return;
    row_.sm_mhz = median(clocks);
    row_.power_w = median(watts);
  }

  const Case& one_;
  const MeasureSettings& settings_;
  Bench& bench_;
  double rounds_start_ = 0;
  Row row_;
  std::vector<Entrant> entrants_;
  std::int64_t cursor_ = 0;  // the operand set that is next
  std::int64_t rounds_ = 0;
  std::vector<RoundClock> round_clocks_;
  double last_sample_ = -1;
};

}  // namespace

Row measure(const Case& one, const std::vector<Candidate*>& candidates, const std::string& reference,
            const MeasureSettings& settings, Bench& bench) {
  return CaseRun(one, candidates, reference, settings, bench).run();
}

}  // namespace xgemm::perf
