// Verdicts of compare.h. SPDX-License-Identifier: BSD-3-Clause
#include "compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/input_error.h"

namespace xgemm::perf {
namespace {

using Index = std::map<std::string, const Row*>;

Index index_rows(const Results& results, const char* which) {
  Index index;
  for (const Row& row : results.rows)
    if (!index.emplace(row.id, &row).second)
      throw InputError(fmt::format("the {} file holds '{}' twice", which, row.id));
  return index;
}

Comparison start(const Row& row) {
  Comparison comparison;
  comparison.id = row.id;
  comparison.set = row.shape.set;
  comparison.type = row.shape.type;
  return comparison;
}

/// The candidate's result when it was measured; else null, and why not.
const CandidateResult* measured(const Row& row, const CompareSettings& settings, std::string& why) {
  const CandidateResult* const result = row.find(settings.candidate);
  if (result == nullptr) {
    why = row.candidates.empty() && !row.reason.empty() ? row.status + ": " + row.reason
                                                        : "no candidate " + settings.candidate;
    return nullptr;
  }
  if (result->ok() && result->time_us.median > 0) return result;
  why = fmt::format("{}: {}", result->status, result->reason);
  return nullptr;
}

bool has_failed(const Row& row, const CompareSettings& settings) {
  const CandidateResult* const result = row.find(settings.candidate);
  return result != nullptr && result->status == "failed";
}

/// Speed as an interval: the ratio to the reference, or the inverse of the time.
Interval speed(const CandidateResult& result, const CompareSettings& settings) {
  if (!settings.by_time) return result.ratio;
  return {1 / result.time_us.median, 1 / result.time_us.high, 1 / result.time_us.low};
}

bool on_host(const Row& row) {
  return row.shape.location.find('h') != std::string::npos;
}

Comparison compare_rows(const Row& base, const Row& now, const CompareSettings& settings) {
  Comparison comparison = start(base);
  const auto give_up = [&](Verdict verdict, std::string note) {
    comparison.verdict = verdict;
    comparison.note = std::move(note);
    return comparison;
  };
  std::string why;
  const CandidateResult* const before = measured(base, settings, why);
  std::string why_now;
  const CandidateResult* const after = measured(now, settings, why_now);
  if (after == nullptr && has_failed(now, settings)) return give_up(Verdict::kFailed, why_now);
  if (before == nullptr && after == nullptr) return give_up(Verdict::kIncomparable, why_now);
  if (before == nullptr) return give_up(Verdict::kAdded, "");
  if (after == nullptr) return give_up(Verdict::kMissing, why_now);
  if (!settings.by_time && base.reference != now.reference)
    return give_up(Verdict::kIncomparable,
                   fmt::format("ratios refer to {} and to {}", base.reference.empty() ? "nothing" : base.reference,
                               now.reference.empty() ? "nothing" : now.reference));
  comparison.before = settings.by_time ? before->time_us : before->ratio;
  comparison.after = settings.by_time ? after->time_us : after->ratio;
  if (!(comparison.before.low > 0 && comparison.after.low > 0)) return give_up(Verdict::kIncomparable, "no ratio");
  const double noise = on_host(base) ? std::max(settings.noise, settings.host_noise) : settings.noise;
  comparison.change = change_of(speed(*before, settings), speed(*after, settings), noise);
  comparison.verdict = judge_change(comparison.change, settings.tolerance);
  return comparison;
}

GroupComparison summarise(const std::string& set, char type, const std::vector<Interval>& changes, double tolerance) {
  GroupComparison group{set, type, changes.size(), {}, Verdict::kIncomparable};
  if (changes.empty()) return group;
  group.change = geometric_mean(changes);
  group.verdict = judge_change(group.change, tolerance);
  return group;
}

void add_groups(CompareReport& report, double tolerance) {
  std::vector<std::pair<std::string, char>> keys;
  std::vector<std::vector<Interval>> changes;
  std::vector<Interval> all;
  for (const Comparison& row : report.rows) {
    if (!(row.change.median > 0)) continue;
    const std::pair key{row.set, row.type};
    const auto found = std::find(keys.begin(), keys.end(), key);
    const auto at = static_cast<std::size_t>(found - keys.begin());
    if (found == keys.end()) {
      keys.push_back(key);
      changes.emplace_back();
    }
    changes[at].push_back(row.change);
    all.push_back(row.change);
  }
  for (std::size_t i = 0; i < keys.size(); ++i)
    report.groups.push_back(summarise(keys[i].first, keys[i].second, changes[i], tolerance));
  report.overall = summarise("all", 0, all, tolerance);
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "SAME";
    case Verdict::kFaster:
      return "FASTER";
    case Verdict::kSlower:
      return "SLOWER";
    case Verdict::kUnclear:
      return "UNCLEAR";
    case Verdict::kFailed:
      return "FAILED";
    case Verdict::kMissing:
      return "MISSING";
    case Verdict::kAdded:
      return "ADDED";
    case Verdict::kIncomparable:
      return "INCOMPARABLE";
  }
  return "";
}

Verdict judge_change(const Interval& change, double tolerance) {
  if (!(change.low > 0 && change.high >= change.low)) return Verdict::kUnclear;
  if (change.high < 1 - tolerance) return Verdict::kSlower;
  if (change.low > 1 + tolerance) return Verdict::kFaster;
  if (change.low >= 1 - tolerance && change.high <= 1 + tolerance) return Verdict::kSame;
  return Verdict::kUnclear;
}

Interval change_of(const Interval& before, const Interval& after, double noise) {
  // The two are independent: half widths of logarithms add in squares, and what lowers the ratio of `before` raises the
  // change.
  const double below = std::hypot(std::log(after.median / after.low), std::log(before.high / before.median));
  const double above = std::hypot(std::log(after.high / after.median), std::log(before.median / before.low));
  const double change = after.median / before.median;
  return {change, change * std::exp(-below) * (1 - noise), change * std::exp(above) * (1 + noise)};
}

std::size_t CompareReport::count(Verdict verdict) const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const Comparison& row) { return row.verdict == verdict; }));
}

bool CompareReport::regressed(const CompareSettings& settings) const {
  return count(Verdict::kSlower) > 0 || count(Verdict::kFailed) > 0 ||
         (!settings.allow_missing && count(Verdict::kMissing) > 0);
}

CompareReport compare(const Results& base, const Results& now, const CompareSettings& settings) {
  const Index before = index_rows(base, "base");
  const Index after = index_rows(now, "new");
  CompareReport report;
  std::size_t common = 0;
  for (const Row& row : base.rows) {
    if (const auto found = after.find(row.id); found != after.end()) {
      ++common;
      report.rows.push_back(compare_rows(row, *found->second, settings));
      continue;
    }
    std::string why;
    // A shape that the base could not measure either is no loss.
    if (measured(row, settings, why) == nullptr) continue;
    report.rows.push_back(start(row));
    report.rows.back().verdict = Verdict::kMissing;
    report.rows.back().note = "not in the new file";
  }
  if (common == 0) throw InputError("the two files have no shape in common");
  for (const Row& row : now.rows) {
    if (before.contains(row.id)) continue;
    report.rows.push_back(start(row));
    report.rows.back().verdict = has_failed(row, settings) ? Verdict::kFailed : Verdict::kAdded;
    if (const CandidateResult* result = row.find(settings.candidate); result != nullptr)
      report.rows.back().note = result->reason;
  }
  add_groups(report, settings.tolerance);
  return report;
}

}  // namespace xgemm::perf
