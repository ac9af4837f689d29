// The regression gate on synthetic results: known slowdowns, noise and missing shapes have known verdicts.
// SPDX-License-Identifier: BSD-3-Clause
#include "compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "bench/input_error.h"
#include "bench/shapes.h"
#include "golden.h"

namespace xgemm::perf {
namespace {

using testing::HasSubstr;

/// Ratios of `count` square shapes, each an interval of half width `noise` around `ratio(index)`.
Results synthetic(int count, const std::function<double(int)>& ratio, double noise = 0.005) {
  Results results;
  results.complete = true;
  results.created = "2026-01-02T03:04:05Z";
  results.environment = {{"machine", "NVIDIA H200"}, {"commit", "abc1234"}};
  for (int i = 0; i < count; ++i) {
    Row row;
    const std::string type = i % 2 == 0 ? "s" : "h";
    row.shape =
        parse_shape_text(std::to_string(128 * (i + 1)) + " = = type=" + type, "test", i < 6 ? "squares" : "odd", {})
            .at(0);
    row.id = row.shape.id();
    row.reference = "cublas-ws32";
    CandidateResult ours;
    ours.name = "xgemm";
    const double value = ratio(i);
    ours.ratio = {value, value * (1 - noise), value * (1 + noise)};
    ours.time_us = {100 / value, 100 / value * (1 - noise), 100 / value * (1 + noise)};
    row.candidates = {ours};
    results.rows.push_back(row);
  }
  return results;
}

Results flat(int count = 10, double noise = 0.005) {
  return synthetic(
      count, [](int) { return 1.0; }, noise);
}

Verdict verdict_of(const CompareReport& report, const std::string& id) {
  for (const Comparison& row : report.rows)
    if (row.id == id) return row.verdict;
  ADD_FAILURE() << id;
  return Verdict::kIncomparable;
}

TEST(Verdicts, RestOnTheWholeInterval) {
  const auto judge = [](double low, double high) { return judge_change({0.5 * (low + high), low, high}, 0.03); };
  EXPECT_EQ(judge(0.98, 1.02), Verdict::kSame);
  EXPECT_EQ(judge(0.97, 1.03), Verdict::kSame);
  EXPECT_EQ(judge(0.90, 0.96), Verdict::kSlower);
  EXPECT_EQ(judge(0.96, 0.98), Verdict::kUnclear);
  EXPECT_EQ(judge(0.80, 1.20), Verdict::kUnclear);
  EXPECT_EQ(judge(1.02, 1.05), Verdict::kUnclear);
  EXPECT_EQ(judge(1.04, 1.10), Verdict::kFaster);
  EXPECT_EQ(judge_change({}, 0.03), Verdict::kUnclear);
}

TEST(Verdicts, ChangeCombinesBothIntervals) {
  const Interval change = change_of({1.0, 0.98, 1.02}, {1.1, 1.08, 1.12}, 0);
  EXPECT_DOUBLE_EQ(change.median, 1.1);
  EXPECT_NEAR(change.low, 1.1 * std::exp(-std::hypot(std::log(1.1 / 1.08), std::log(1.02))), 1e-12);
  EXPECT_NEAR(change.high, 1.1 * std::exp(std::hypot(std::log(1.12 / 1.1), std::log(1 / 0.98))), 1e-12);
  const Interval wider = change_of({1.0, 0.98, 1.02}, {1.1, 1.08, 1.12}, 0.01);
  EXPECT_DOUBLE_EQ(wider.low, change.low * 0.99);
  EXPECT_DOUBLE_EQ(wider.high, change.high * 1.01);
}

TEST(Gate, TheSameBuildTwiceIsNoRegression) {
  const CompareReport report = compare(flat(), flat(), {});
  EXPECT_EQ(report.count(Verdict::kSame), 10u);
  EXPECT_FALSE(report.regressed({}));
  EXPECT_EQ(report.overall.verdict, Verdict::kSame);
  ASSERT_EQ(report.groups.size(), 4u);
}

TEST(Gate, NoiseBetweenRunsIsNoRegression) {
  // Fifty pairs of runs of one build whose medians wander as their intervals say.
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 0.005);
  for (int trial = 0; trial < 50; ++trial) {
    const auto run = [&] {
      return synthetic(
          40, [&](int) { return 1 + noise(random); }, 0.01);
    };
    EXPECT_FALSE(compare(run(), run(), {}).regressed({})) << trial;
  }
}

TEST(Gate, ASlowdownIsFoundAndNamed) {
  for (const double slowdown : {0.95, 0.9, 0.5}) {
    const Results now = synthetic(10, [&](int i) { return i == 3 ? slowdown : 1.0; });
    const CompareReport report = compare(flat(), now, {});
    EXPECT_EQ(report.count(Verdict::kSlower), 1u) << slowdown;
    EXPECT_EQ(verdict_of(report, "h NN 512x512x512"), Verdict::kSlower);
    EXPECT_TRUE(report.regressed({}));
  }
}

TEST(Gate, HostOperandsHaveMoreNoise) {
  const auto on_host = [](double speed) {
    Results results = synthetic(4, [&](int) { return speed; });
    for (Row& row : results.rows) row.shape.location = "hhh";
    return results;
  };
  EXPECT_FALSE(compare(on_host(1.0), on_host(0.9), {}).regressed({}));
  EXPECT_TRUE(compare(on_host(1.0), on_host(0.5), {}).regressed({}));
}

TEST(Gate, WithinTheToleranceIsAllowed) {
  const Results now = synthetic(10, [](int) { return 0.985; });
  EXPECT_FALSE(compare(flat(), now, {}).regressed({}));
  CompareSettings strict;
  strict.tolerance = 0.002;
  strict.noise = 0;
  EXPECT_TRUE(compare(flat(10, 0.001),
                      synthetic(
                          10, [](int) { return 0.985; }, 0.001),
                      strict)
                  .regressed(strict));
}

TEST(Gate, WideIntervalsAreUnclear) {
  const CompareReport report = compare(flat(10, 0.2),
                                       synthetic(
                                           10, [](int) { return 0.9; }, 0.2),
                                       {});
  EXPECT_EQ(report.count(Verdict::kUnclear), 10u);
  EXPECT_FALSE(report.regressed({}));
}

TEST(Gate, SpeedupsAreFaster) {
  const CompareReport report = compare(flat(), synthetic(10, [](int) { return 1.2; }), {});
  EXPECT_EQ(report.count(Verdict::kFaster), 10u);
  EXPECT_NEAR(report.overall.change.median, 1.2, 1e-12);
  EXPECT_FALSE(report.regressed({}));
}

TEST(Gate, MissingShapesFailUnlessAllowed) {
  Results now = flat();
  now.rows.erase(now.rows.begin() + 2);
  now.rows[4].status = "skipped";
  now.rows[4].reason = "does not fit";
  now.rows[4].candidates.clear();
  const CompareReport report = compare(flat(), now, {});
  EXPECT_EQ(report.count(Verdict::kMissing), 2u);
  EXPECT_TRUE(report.regressed({}));
  CompareSettings lenient;
  lenient.allow_missing = true;
  EXPECT_FALSE(report.regressed(lenient));
}

TEST(Gate, FailuresAreRegressions) {
  Results now = flat();
  now.rows[0].candidates[0].status = "failed";
  now.rows[0].candidates[0].reason = "wrong result";
  EXPECT_EQ(compare(flat(), now, {}).count(Verdict::kFailed), 1u);
  EXPECT_TRUE(compare(flat(), now, {}).regressed({}));
  // A new shape that fails from the start is one too.
  Results more = flat(11);
  more.rows[10].candidates[0].status = "failed";
  EXPECT_TRUE(compare(flat(10), more, {}).regressed({}));
}

TEST(Gate, AddedShapesAreFine) {
  const CompareReport report = compare(flat(8), flat(10), {});
  EXPECT_EQ(report.count(Verdict::kAdded), 2u);
  EXPECT_FALSE(report.regressed({}));
}

TEST(Gate, WhatTheBaseCouldNotMeasureIsNoLoss) {
  Results base = flat();
  base.rows[1].status = "skipped";
  base.rows[1].candidates.clear();
  Results now = flat();
  EXPECT_EQ(compare(base, now, {}).count(Verdict::kAdded), 1u);
  now.rows.erase(now.rows.begin() + 1);
  EXPECT_FALSE(compare(base, now, {}).regressed({}));
}

TEST(Gate, OtherReferencesCannotBeCompared) {
  Results now = flat();
  for (Row& row : now.rows) row.reference = "openblas";
  const CompareReport report = compare(flat(), now, {});
  EXPECT_EQ(report.count(Verdict::kIncomparable), 10u);
  EXPECT_THAT(report.rows[0].note, HasSubstr("cublas-ws32 and to openblas"));
  CompareSettings times;
  times.by_time = true;
  EXPECT_EQ(compare(flat(), now, times).count(Verdict::kSame), 10u);
}

TEST(Gate, TimesAreInverseSpeeds) {
  CompareSettings times;
  times.by_time = true;
  const CompareReport report = compare(flat(), synthetic(10, [](int) { return 0.8; }), times);
  EXPECT_EQ(report.count(Verdict::kSlower), 10u);
  EXPECT_NEAR(report.overall.change.median, 0.8, 1e-12);
}

TEST(Gate, ForeignFilesAreErrors) {
  Results other = flat(2);
  other.rows[0].id = "elsewhere 1";
  other.rows[1].id = "elsewhere 2";
  EXPECT_THROW(compare(flat(), other, {}), InputError);
  Results twice = flat(2);
  twice.rows[1].id = twice.rows[0].id;
  EXPECT_THROW(compare(flat(), twice, {}), InputError);
}

/// One of each verdict.
Results mixed() {
  Results now = synthetic(12, [](int i) {
    return i == 1 ? 0.9 : i == 3 ? 1.25 : i == 5 ? 0.968 : i == 7 ? 0.7 : 1.002;
  });
  now.rows.erase(now.rows.begin() + 2);
  now.rows[3].candidates[0].status = "failed";
  now.rows[3].candidates[0].reason = "wrong result: C(0, 0) = 1 | 2";
  now.rows[5].reference = "openblas";
  return now;
}

TEST(Golden, Text) {
  const CompareReport report = compare(flat(11), mixed(), {});
  expect_golden("compare.txt", render_text(report, flat(11), mixed(), {}, false));
  expect_golden("compare-all.txt", render_text(report, flat(11), mixed(), {}, true));
}

TEST(Golden, Markdown) {
  expect_golden("compare.md", render_markdown(compare(flat(11), mixed(), {}), flat(11), mixed(), {}));
}

TEST(Golden, Json) {
  expect_golden("compare.json", render_json(compare(flat(11), mixed(), {}), {}));
}

TEST(Text, FitsAScreen) {
  const Results now = synthetic(300, [](int) { return 0.8; });
  const std::string text = render_text(compare(flat(300), now, {}), flat(300), now, {}, false);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40);
  EXPECT_THAT(text, HasSubstr("and 290 more"));
}

}  // namespace
}  // namespace xgemm::perf
