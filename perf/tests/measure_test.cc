// The measuring loop on a device with a scripted clock: what is paired, dropped, skipped and when it stops.
// SPDX-License-Identifier: BSD-3-Clause
#include "bench/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <utility>

#include "bench/host_time.h"
#include "bench/shapes.h"
#include "scripted_device.h"

namespace xgemm::perf {
namespace {

using testing::HasSubstr;

/// Takes the time that a script says and computes right results unless told otherwise.
class ScriptedCandidate final : public Candidate {
 public:
  ScriptedCandidate(std::string name, ScriptedDevice& device, Operands& operands, std::function<double(int)> us)
      : name_(std::move(name)), device_(device), operands_(operands), us_(std::move(us)) {}
  const std::string& name() const override { return name_; }
  std::string description() const override { return ""; }
  bool is_xgemm() const override { return name_.starts_with("xgemm"); }
  bool serves_all() const override { return name_ == "xgemm"; }
  std::string prepare(const Case&, const OperandSet&) override {
    checked_ = false;
    return refuses;
  }
  std::string prepare_operands(const Case&, const OperandSet& set) override {
    prepared.insert(set.a);
    return refuses_operands;
  }
  std::string run(const Case& one, const OperandSet& set) override {
    EXPECT_TRUE(prepared.count(set.a));
    if (!checked_ && !wrong) compute(one, set);  // the first call is the one that is checked
    checked_ = true;
    device_.pass(us_(calls_++));
    return calls_ > fails_after ? "it broke" : "";
  }
  std::string kernel(const Case&, const OperandSet&) override { return "scripted_kernel"; }

  std::string refuses, refuses_operands;
  std::set<const void*> prepared;
  bool wrong = false;
  int fails_after = 1 << 30;

 private:
  void compute(const Case& one, const OperandSet& set) const {
    auto* c = static_cast<float*>(set.c);
    for (std::int64_t j = 0; j < one.n; ++j)
      for (std::int64_t i = 0; i < one.m; ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < one.k; ++l) sum += operands_.a()[i + l * one.lda] * operands_.b()[l + j * one.ldb];
        c[i + j * one.ldc] = static_cast<float>(sum);
      }
  }

  std::string name_;
  ScriptedDevice& device_;
  Operands& operands_;
  std::function<double(int)> us_;
  int calls_ = 0;
  bool checked_ = false;
};

class ScriptedClocks final : public ClockMonitor {
 public:
  ClockSample sample() override { return script ? script(samples_++) : ClockSample{}; }
  std::function<ClockSample(int)> script;

 private:
  int samples_ = 0;
};

struct MeasureTest : testing::Test {
  explicit MeasureTest(bool is_gpu = true) : device(is_gpu), operands(device, DataKind::kNormal, 1, 4099) {
    one = parse_shape_text("16 16 16", "test", "test", {}).at(0);
    one.location = is_gpu ? "ddd" : "hhh";
  }
  ScriptedCandidate& add(const std::string& name, std::function<double(int)> us) {
    owned.push_back(std::make_unique<ScriptedCandidate>(name, device, operands, std::move(us)));
    return *owned.back();
  }
  ScriptedCandidate& add(const std::string& name, double us) {
    return add(name, [us](int) { return us; });
  }
  Row run() {
    std::vector<Candidate*> candidates;
    for (const auto& candidate : owned) candidates.push_back(candidate.get());
    Bench bench{device, operands, clocks, stop, [&](const MeasureProgress&) {
                  if (++progress_calls == stop_at_progress) stop = true;
                }};
    return measure(one, candidates, "reference", settings, bench);
  }

  ScriptedDevice device;
  Operands operands;
  ScriptedClocks clocks;
  std::atomic<bool> stop{false};
  Case one;
  MeasureSettings settings;
  std::vector<std::unique_ptr<ScriptedCandidate>> owned;
  int progress_calls = 0;
  int stop_at_progress = -1;
};

TEST_F(MeasureTest, RatioIsReferenceOverOurs) {
  add("xgemm", 200);
  add("reference", 300);
  const Row row = run();
  EXPECT_EQ(row.status, "ok");
  EXPECT_EQ(row.rounds, settings.min_rounds);
  EXPECT_EQ(row.stopped_by, "precision");
  EXPECT_FALSE(row.recorded);
  ASSERT_EQ(row.candidates.size(), 2u);
  EXPECT_NEAR(row.candidates[0].time_us.median, 200, 1e-6);
  EXPECT_NEAR(row.candidates[0].ratio.median, 1.5, 1e-9);
  EXPECT_NEAR(row.candidates[1].ratio.median, 1, 1e-9);
  EXPECT_TRUE(row.candidates[0].checked);
  EXPECT_LT(row.candidates[0].error, 1e-6);
  EXPECT_EQ(row.candidates[0].kernel, "scripted_kernel");
}

TEST_F(MeasureTest, ShortCallsAreReplayed) {
  add("xgemm", 8);
  add("reference", 4);
  const Row row = run();
  EXPECT_TRUE(row.recorded);
  EXPECT_GT(device.replays, 2 * settings.min_rounds);
  EXPECT_NEAR(row.candidates[0].time_us.median, 4, 1e-6);  // recordings take half the time of launches here
  EXPECT_NEAR(row.candidates[0].host_us, 8, 1e-6);         // launches are seen by the host
  EXPECT_GE(row.candidates[0].calls_per_round, operands.count());
  EXPECT_EQ(row.candidates[0].calls_per_round % operands.count(), 0);
}

TEST_F(MeasureTest, WhatCannotBeRecordedIsSaid) {
  device.can_record = false;
  add("xgemm", 8);
  add("reference", 4);
  const Row row = run();
  EXPECT_FALSE(row.recorded);
  EXPECT_THAT(row.reason, HasSubstr("cannot be recorded (scripted)"));
  EXPECT_NEAR(row.candidates[0].time_us.median, 8, 1e-6);
}

TEST_F(MeasureTest, ABystanderThatCannotBeRecordedIsLeftOut) {
  add("xgemm", 8);
  add("reference", 4);
  add("other", 6).fails_after = 150;  // after the estimates, in the recording
  const Row row = run();
  EXPECT_TRUE(row.recorded);
  EXPECT_EQ(row.candidates[2].status, "skipped");
  EXPECT_THAT(row.candidates[2].reason, HasSubstr("cannot be recorded (it broke)"));
  EXPECT_NEAR(row.candidates[0].ratio.median, 0.5, 1e-9);
}

TEST_F(MeasureTest, DriftMeetsBothSides) {
  // Both slow down by a factor of three while they run; the ratio stays.
  const auto drifting = [this](double us) { return [this, us](int) { return us * (1 + device.now()); }; };
  add("xgemm", drifting(200));
  add("reference", drifting(220));
  settings.max_seconds = 2;
  const Row row = run();
  EXPECT_NEAR(row.candidates[0].ratio.median, 1.1, 0.01);
}

TEST_F(MeasureTest, NoiseRunsUntilTheTimeIsUp) {
  std::uint32_t state = 1;
  const auto noisy = [&state](int) {
    state = state * 1664525u + 1013904223u;
    return 150.0 + (state >> 8) % 400;
  };
  add("xgemm", noisy);
  add("reference", noisy);
  settings.precision = 1e-5;
  settings.max_seconds = 0.2;
  EXPECT_EQ(run().stopped_by, "time");
  settings.max_seconds = 100;
  settings.max_rounds = 30;
  const Row row = run();
  EXPECT_EQ(row.stopped_by, "rounds");
  EXPECT_EQ(row.rounds, 30);
}

TEST_F(MeasureTest, ThrottledRoundsAreDropped) {
  add("xgemm", 20000);
  add("reference", 20000);
  settings.precision = -1;  // never tight enough
  settings.max_rounds = 10;
  settings.max_seconds = 1000;
  clocks.script = [](int sample) { return ClockSample{sample == 2 ? 1000.0 : 1900.0, 500, sample == 4, sample == 6}; };
  const Row row = run();
  EXPECT_EQ(row.dropped_rounds, 2);  // one at a low clock, one for heat; the power limit is no reason
  EXPECT_EQ(row.rounds, 8);
  EXPECT_EQ(row.sm_mhz, 1900);
  EXPECT_EQ(row.power_w, 500);
  EXPECT_TRUE(row.power_capped);
}

TEST_F(MeasureTest, RoundsThatAreMostlyThrottledAreKeptAndSaid) {
  add("xgemm", 20000);
  add("reference", 20000);
  clocks.script = [](int sample) { return ClockSample{1900, 0, sample % 4 != 0, false}; };
  const Row row = run();
  EXPECT_EQ(row.dropped_rounds, 0);
  EXPECT_THAT(row.reason, HasSubstr("throttled in"));
}

TEST_F(MeasureTest, WrongResultsFail) {
  add("xgemm", 200).wrong = true;
  add("reference", 200);
  const Row row = run();
  EXPECT_EQ(row.status, "failed");
  EXPECT_EQ(row.candidates[0].status, "failed");
  EXPECT_THAT(row.candidates[0].reason, HasSubstr("wrong result: NaN"));
  EXPECT_EQ(row.candidates[0].time_us.median, 0);
  EXPECT_EQ(row.candidates[1].status, "ok");
}

TEST_F(MeasureTest, ErrorsAndRefusalsAreKeptApart) {
  add("xgemm", 200).fails_after = 3;
  add("reference", 200);
  add("other", 200).refuses = "cannot do that";
  const Row row = run();
  EXPECT_EQ(row.status, "failed");
  EXPECT_EQ(row.candidates[0].reason, "it broke");
  EXPECT_EQ(row.candidates[2].status, "skipped");
  EXPECT_EQ(row.candidates[2].reason, "cannot do that");
  EXPECT_EQ(row.candidates[1].ratio.median, 1);
}

TEST_F(MeasureTest, ForeignFailuresAreNotOurs) {
  add("xgemm", 200);
  add("reference", 200).wrong = true;
  const Row row = run();
  EXPECT_EQ(row.status, "ok");
  EXPECT_EQ(row.reference, "");  // there is nothing to compare with
  EXPECT_EQ(row.candidates[0].ratio.median, 0);
}

TEST_F(MeasureTest, NobodyServes) {
  add("xgemm:forced", 200).refuses = "too odd";
  const Row row = run();
  EXPECT_EQ(row.status, "skipped");
  EXPECT_EQ(row.reason, "xgemm:forced: too odd");
}

TEST_F(MeasureTest, OurRefusalIsAFailure) {
  add("xgemm", 200).refuses = "too odd";
  add("reference", 200);
  const Row row = run();
  EXPECT_EQ(row.status, "failed");
  EXPECT_EQ(row.candidates[0].status, "failed");
  EXPECT_EQ(row.candidates[0].reason, "too odd");
  EXPECT_EQ(row.candidates[1].status, "ok");
}

TEST_F(MeasureTest, AllMayFailWithoutACheck) {
  add("xgemm", 200).fails_after = 0;
  add("reference", 200).fails_after = 0;
  settings.check = false;
  const Row row = run();
  EXPECT_EQ(row.status, "failed");
  EXPECT_EQ(row.reason, "xgemm: it broke");
  EXPECT_EQ(row.candidates.size(), 2u);
}

TEST_F(MeasureTest, HopelessCasesAreSkipped) {
  add("xgemm", 60e6);
  add("reference", 60e6);
  settings.hard_seconds = 100;
  const Row row = run();
  EXPECT_EQ(row.status, "skipped");
  EXPECT_THAT(row.reason, HasSubstr("time budget"));
}

TEST_F(MeasureTest, OperandsThatCannotBePreparedAreSkipped) {
  add("xgemm", 200).refuses_operands = "no memory for them";
  add("reference", 300);
  const Row row = run();
  EXPECT_EQ(row.candidates[0].status, "skipped");
  EXPECT_EQ(row.candidates[0].reason, "no memory for them");
  EXPECT_EQ(owned[0]->prepared.size(), 1u);
  EXPECT_EQ(std::ssize(owned[1]->prepared), operands.count());
}

TEST_F(MeasureTest, InterruptsKeepOnlyWholeRows) {
  add("xgemm", 200);
  add("reference", 200);
  stop_at_progress = 4;
  EXPECT_EQ(run().status, "skipped");
}

TEST_F(MeasureTest, InterruptsAfterEnoughRoundsKeepTheRow) {
  add("xgemm", 200);
  add("reference", 200);
  settings.precision = -1;  // never tight enough
  stop_at_progress = 12;
  const Row row = run();
  EXPECT_EQ(row.status, "ok");
  EXPECT_EQ(row.rounds, 12);
  EXPECT_EQ(row.stopped_by, "interrupt");
}

struct HostMeasureTest : MeasureTest {
  HostMeasureTest() : MeasureTest(false) {}
};

TEST_F(HostMeasureTest, CallsOnTheHostAreTimedDirectly) {
  add("xgemm", 50);
  add("reference", 100);
  const Row row = run();
  EXPECT_FALSE(row.recorded);
  EXPECT_NEAR(row.candidates[0].time_us.median, 50, 1e-6);
  EXPECT_EQ(row.candidates[0].host_us, 0);
  EXPECT_NEAR(row.candidates[0].ratio.median, 2, 1e-9);
  EXPECT_NEAR(row.candidates[0].calls_per_round, 100, 1);  // 5 ms
}

/// Keeps what it is called with; a shape that it has not seen costs it ten times as much.
class RememberingCandidate final : public Candidate {
 public:
  RememberingCandidate(std::string name, ScriptedDevice& device, double us)
      : name_(std::move(name)), device_(device), us_(us) {}
  const std::string& name() const override { return name_; }
  std::string description() const override { return ""; }
  std::string prepare(const Case&, const OperandSet&) override { return "is not asked"; }
  std::string run(const Case& one, const OperandSet&) override {
    device_.pass(seen.insert(one.id()).second ? 10 * us_ : us_);
    ++calls;
    return calls > fails_after ? "it broke" : "";
  }

  std::set<std::string> seen;
  int calls = 0;
  int fails_after = 1 << 30;

 private:
  std::string name_;
  ScriptedDevice& device_;
  double us_;
};

struct HostTimeTest : testing::Test {
  HostTime measure(const HostTime& one) {
    return measure_host_time(one, {&ours, &reference}, "reference", device, stop);
  }
  ScriptedDevice device{true};
  RememberingCandidate ours{"xgemm", device, 2}, reference{"reference", device, 3};
  std::atomic<bool> stop{false};
};

TEST_F(HostTimeTest, ShapesThatComeAgainAreKnownBeforeTheFirstRound) {
  for (const HostTime& one : host_time_cases()) {
    if (one.shapes == 0) continue;
    ours.seen.clear();
    reference.seen.clear();
    const HostTime done = measure(one);
    EXPECT_EQ(static_cast<std::int64_t>(ours.seen.size()), one.shapes) << one.name;
    EXPECT_EQ(ours.seen, reference.seen);
    ASSERT_EQ(done.candidates.size(), 2u);
    EXPECT_GE(done.rounds * done.calls_per_round, one.shapes);
    EXPECT_NEAR(done.candidates[0].time_us.median, 2, 1e-6);
    EXPECT_NEAR(done.candidates[0].ratio.median, 1.5, 1e-6);
    EXPECT_NEAR(done.candidates[1].ratio.median, 1, 1e-6);
    EXPECT_EQ(done.reference, "reference");
  }
}

TEST_F(HostTimeTest, ANewShapeEveryCallIsNew) {
  const HostTime one = host_time_cases().back();
  ASSERT_EQ(one.shapes, 0);
  const HostTime done = measure(one);
  EXPECT_EQ(static_cast<int>(ours.seen.size()), ours.calls);
  EXPECT_EQ(ours.seen, reference.seen);
  EXPECT_NEAR(done.candidates[0].time_us.low, 20, 1e-6);
  EXPECT_NEAR(done.candidates[0].time_us.high, 20, 1e-6);
}

TEST_F(HostTimeTest, TheCasesAreThoseOfTheTable) {
  std::set<std::pair<char, std::int64_t>> kinds;
  for (const HostTime& one : host_time_cases()) kinds.emplace(one.type, one.shapes);
  EXPECT_EQ(kinds, (std::set<std::pair<char, std::int64_t>>{{'s', 1}, {'h', 1}, {'h', 600}, {'h', 10000}, {'h', 0}}));
}

TEST_F(HostTimeTest, WhatFailsIsSaidAndTheOthersGoOn) {
  ours.fails_after = 2500;
  const HostTime done = measure(host_time_cases().front());
  EXPECT_EQ(done.candidates[0].status, "failed");
  EXPECT_EQ(done.candidates[0].reason, "it broke");
  EXPECT_EQ(ours.calls, 2501);
  EXPECT_TRUE(done.candidates[1].ok());
  EXPECT_NEAR(done.candidates[1].time_us.median, 3, 1e-6);
  reference.fails_after = 0;
  ours.fails_after = 1 << 30;
  const HostTime alone = measure(host_time_cases().front());
  EXPECT_NEAR(alone.candidates[0].time_us.median, 2, 1e-6);
  EXPECT_EQ(alone.candidates[0].ratio.median, 0);
  EXPECT_EQ(alone.reference, "");
}

TEST_F(HostTimeTest, StopsWhenAsked) {
  stop = true;
  EXPECT_EQ(measure(host_time_cases().front()).rounds, 0);
  EXPECT_EQ(ours.calls, 0);
}

}  // namespace
}  // namespace xgemm::perf
