// Implementation of table.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

namespace xgemm::perf {
namespace {

constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kPlain = "\x1b[0m";

/// Four significant digits, so that columns of very different times stay readable.
std::string number(double value) {
  if (!(value > 0)) return "-";
  if (value >= 1000) return fmt::format("{:.0f}", value);
  const int digits = std::clamp(3 - static_cast<int>(std::floor(std::log10(value))), 0, 4);
  return fmt::format("{:.{}f}", value, digits);
}

std::string paint(const std::string& text, const char* colour, const TableStyle& style) {
  return style.colour && colour != nullptr ? colour + text + kPlain : text;
}

/// Green and red only where the whole interval is on one side.
const char* colour_of(const Interval& ratio) {
  if (ratio.low > 1) return kGreen;
  return ratio.high < 1 && ratio.median > 0 ? kRed : nullptr;
}

std::string ratio_columns(const CandidateResult* result, const TableStyle& style) {
  if (result == nullptr || !(result->ratio.median > 0)) return fmt::format("{:>7}  {:15}", "-", "");
  const std::string text = fmt::format("{:7.3f}  {:15}", result->ratio.median,
                                       fmt::format("[{:.3f}, {:.3f}]", result->ratio.low, result->ratio.high));
  return paint(text, colour_of(result->ratio), style);
}

std::string error_column(const CandidateResult* result) {
  if (result == nullptr || !result->checked) return fmt::format("{:>8}", "-");
  // The mark leads to the reason, which the summary prints.
  return fmt::format("{:>8.1e}{}", result->error, result->reason.empty() ? " " : "!");
}

std::string time_columns(const Row& row, const CandidateResult* result, std::size_t width, const TableStyle& style) {
  if (result == nullptr || !result->ok()) {
    const std::string word = result == nullptr ? "-" : result->status == "failed" ? "FAILED" : "-";
    return fmt::format("{:>{}} {:>8}", word, width, "-");
  }
  return fmt::format("{:>{}} {:>8}", number(result->time_us.median), width,
                     number(tflops(row, *result) * (style.giga ? 1e3 : 1)));
}

std::size_t column_width(const std::string& name) {
  return std::max<std::size_t>(name.size() + 3, 9);
}

std::string indented(const std::string& text) {
  std::string out = "      ";
  for (const char letter : text) {
    out += letter;
    if (letter == '\n') out += "      ";
  }
  return out + '\n';
}

/// The reference of a row; that of the table where the row's own could not be measured.
const std::string& reference_of(const Row& row, const TableStyle& style) {
  return row.reference.empty() ? style.reference : row.reference;
}

void append_notes(const Row& row, const TableStyle& style, std::string& text) {
  // What the primary candidate failed with stands in its line already.
  for (const CandidateResult& result : row.candidates)
    if (!result.reason.empty() && result.status != "skipped" &&
        (result.ok() || result.name == reference_of(row, style)))
      text += fmt::format("    {}: {}\n", result.name, result.reason);
  if (row.status == "ok" && !row.reason.empty()) text += fmt::format("    {}\n", row.reason);
}

/// Ratios of one candidate to one reference in one set and type.
struct Group {
  std::string reference;
  std::string set;
  char type = 's';
  std::vector<Interval> ratios;
  const Row* worst = nullptr;
  double worst_ratio = 0;
};

std::vector<Group> group_ratios(const Results& results, const std::string& candidate) {
  std::vector<Group> groups;
  for (const Row& row : results.rows) {
    const CandidateResult* const result = row.find(candidate);
    if (result == nullptr || !result->ok() || !(result->ratio.median > 0)) continue;
    auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.reference == row.reference && group.set == row.shape.set && group.type == row.shape.type;
    });
    if (found == groups.end())
      found = groups.insert(groups.end(), Group{row.reference, row.shape.set, row.shape.type, {}, nullptr, 0});
    found->ratios.push_back(result->ratio);
    if (found->worst == nullptr || result->ratio.median < found->worst_ratio) {
      found->worst = &row;
      found->worst_ratio = result->ratio.median;
    }
  }
  // Those of one reference together.
  std::map<std::string, std::size_t> order;
  for (const Group& group : groups) order.emplace(group.reference, order.size());
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const Group& x, const Group& y) { return order[x.reference] < order[y.reference]; });
  return groups;
}

std::string median_host_time(const Results& results, const std::string& candidate) {
  std::vector<double> times;
  for (const Row& row : results.rows)
    if (const CandidateResult* const result = row.find(candidate); result != nullptr && result->host_us > 0)
      times.push_back(result->host_us);
  return times.empty() ? "" : fmt::format("{} {:.2f} us", candidate, median(times));
}

std::string host_time_line(const Results& results) {
  std::string text;
  for (const auto& [name, description] : results.candidates)
    if (const std::string one = median_host_time(results, name); !one.empty()) text += (text.empty() ? "" : ", ") + one;
  return text.empty() ? "" : "host time per call (median): " + text + "\n";
}

/// Time that a replayed program spends in products, by candidate; empty unless calls were counted.
std::string replay_line(const Results& results, const TableStyle& style) {
  double primary = 0;
  double reference = 0;
  std::int64_t calls = 0;
  std::set<std::string> references;
  for (const Row& row : results.rows) {
    const CandidateResult* const ours = row.find(style.primary);
    const CandidateResult* const theirs = row.find(reference_of(row, style));
    if (row.shape.set != "replay" || ours == nullptr || theirs == nullptr || !ours->ok() || !theirs->ok()) continue;
    calls += row.shape.calls;
    references.insert(theirs->name);
    primary += ours->time_us.median * static_cast<double>(row.shape.calls);
    reference += theirs->time_us.median * static_cast<double>(row.shape.calls);
  }
  if (calls == 0) return "";
  return fmt::format("the {} replayed calls take {:.3f} ms with {}, {:.3f} ms with {}: ratio {:.3f}\n", calls,
                     primary * 1e-3, style.primary, reference * 1e-3, fmt::join(references, " and "),
                     reference / primary);
}

std::string skipped_lines(const Results& results) {
  std::map<std::string, int> reasons;
  for (const Row& row : results.rows)
    if (row.status == "skipped") ++reasons[row.reason];
  std::string text;
  for (const auto& [reason, count] : reasons) text += fmt::format("  {} skipped: {}\n", count, reason);
  return text;
}

}  // namespace

std::size_t case_width(const std::vector<Case>& cases) {
  std::size_t width = 20;
  for (const Case& one : cases) width = std::max(width, one.id().size());
  return std::min<std::size_t>(width, 46);
}

std::string table_header(const TableStyle& style) {
  const char* const unit = style.giga ? "GFLOP/s" : "TFLOP/s";
  std::string text = fmt::format("{:{}}  {:>{}} {:>8}", "case", style.case_width, style.primary + " us",
                                 column_width(style.primary), unit);
  if (!style.reference.empty())
    text += fmt::format("  {:>{}} {:>8}  {:>7}  {:15}", style.reference + " us", column_width(style.reference), unit,
                        "ratio", "95 % interval");
  text += fmt::format("  {:>8}   {}", "error", "kernel");
  return paint(text, kBold, style) + "\n";
}

std::string table_row(const Row& row, const TableStyle& style) {
  std::string text = fmt::format("{:{}}", row.id, style.case_width);
  if (row.candidates.empty()) return text + fmt::format("  {}: {}\n", row.status, row.reason);
  const CandidateResult* const primary = row.find(style.primary);
  const std::string& reference = reference_of(row, style);
  text += fmt::format("  {}", time_columns(row, primary, column_width(style.primary), style));
  if (!style.reference.empty())
    text += fmt::format("  {}  {}", time_columns(row, row.find(reference), column_width(style.reference), style),
                        ratio_columns(primary, style));
  text += fmt::format("  {}", error_column(primary));
  const std::string kernel = primary == nullptr ? "" : primary->ok() ? primary->kernel : primary->reason;
  text += fmt::format("  {}{}", kernel, row.shape.label.empty() ? "" : "  # " + row.shape.label);
  if (!style.reference.empty() && reference != style.reference) text += fmt::format("  (against {})", reference);
  text += row.shape.calls > 1 ? fmt::format("  ({} calls)\n", row.shape.calls) : "\n";
  for (const CandidateResult& result : row.candidates) {
    if (style.plans && !result.plan.empty()) text += indented(result.plan);
    if (result.name == style.primary || result.name == reference) continue;
    text += fmt::format("{:{}}  {}", "  + " + result.name, style.case_width,
                        time_columns(row, &result, column_width(style.primary), style));
    if (!style.reference.empty())
      text += fmt::format("  {:>{}} {:>8}  {}", "", column_width(style.reference), "", ratio_columns(&result, style));
    text += fmt::format("  {}  {}", error_column(&result), result.ok() ? result.kernel : result.reason);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  append_notes(row, style, text);
  return text;
}

std::string table_summary(const Results& results, const TableStyle& style) {
  std::string text;
  const auto groups = style.reference.empty() ? std::vector<Group>{} : group_ratios(results, style.primary);
  const std::string* reference = nullptr;
  for (const Group& group : groups) {
    if (reference == nullptr || *reference != group.reference)
      text += fmt::format("{} against {}: geometric mean of the ratios (more than 1 is faster)\n", style.primary,
                          group.reference);
    reference = &group.reference;
    const Interval mean = geometric_mean(group.ratios);
    text += paint(fmt::format("  {:16} {} {:7.3f}  [{:.3f}, {:.3f}]", group.set, type_of(group.type).name, mean.median,
                              mean.low, mean.high),
                  colour_of(mean), style);
    text += fmt::format("  {:3} shapes, worst {:.3f} at {}\n", group.ratios.size(), group.worst_ratio, group.worst->id);
  }
  text += replay_line(results, style) + host_time_line(results);
  std::int64_t failed = 0;
  std::int64_t measured = 0;
  std::int64_t dropped = 0;
  std::int64_t warm = 0;
  std::int64_t short_of_rounds = 0;
  double confidence = kConfidence;
  for (const Row& row : results.rows) {
    failed += row.status == "failed";
    measured += row.status == "ok";
    dropped += row.dropped_rounds;
    warm += row.status == "ok" && !row.cold;
    if (row.status != "ok" || range_confidence(row.rounds) >= kConfidence) continue;
    ++short_of_rounds;
    confidence = std::min(confidence, range_confidence(row.rounds));
  }
  text += fmt::format("{} measured, {} failed, {} skipped", measured, failed,
                      static_cast<std::int64_t>(results.rows.size()) - measured - failed);
  if (dropped > 0) text += fmt::format(", {} throttled rounds dropped", dropped);
  if (warm > 0) text += fmt::format("; {} with operands that partly stay in the cache", warm);
  if (short_of_rounds > 0)
    text += fmt::format("; {} with so few rounds that their intervals are of {:g} % at least", short_of_rounds,
                        100 * confidence);
  return text + "\n" + skipped_lines(results);
}

std::string host_time_table(const Results& results, const TableStyle& style) {
  if (results.host_times.empty()) return "";
  const auto us = [](const CandidateResult* result) {
    return result == nullptr ? "-" : result->ok() ? number(result->time_us.median) : "FAILED";
  };
  const std::size_t width = std::max<std::size_t>(style.case_width, 30);
  std::string text =
      fmt::format("{:{}}  {:>{}}", "host time of a call", width, style.primary + " us", column_width(style.primary));
  if (!style.reference.empty())
    text += fmt::format("  {:>{}}  {:>7}  {}", style.reference + " us", column_width(style.reference), "ratio",
                        "95 % interval");
  text = paint(text, kBold, style) + "\n";
  for (const HostTime& one : results.host_times) {
    const CandidateResult* const primary = one.find(style.primary);
    text += fmt::format("{:{}}  {:>{}}", fmt::format("{}, {}", one.name, type_of(one.type).name), width, us(primary),
                        column_width(style.primary));
    if (!style.reference.empty())
      text += fmt::format("  {:>{}}  {}", us(one.find(style.reference)), column_width(style.reference),
                          ratio_columns(primary, style));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
    for (const CandidateResult& result : one.candidates)
      if (!result.reason.empty()) text += fmt::format("    {}: {}\n", result.name, result.reason);
  }
  return text;
}

std::string format_seconds(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(0.0, std::round(seconds)));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

void ProgressLine::show(const std::string& text) {
  if (!enabled_) return;
  winsize size{};
  const std::size_t columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79u;
  fmt::print(stderr, "\r\x1b[K{}", text.substr(0, columns));
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace xgemm::perf
