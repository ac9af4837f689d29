// Text, markdown and JSON of a comparison. SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/element.h"
#include "compare/compare.h"

namespace xgemm::perf {
namespace {

constexpr std::size_t kMostListed = 10;

const char* type_name(char type) {
  const Element* const element = find_element(type);
  return element == nullptr ? "" : element->name;
}

std::string percent(double change) {
  return fmt::format("{:+.1f} %", 100 * (change - 1));
}

std::string change_text(const Interval& change) {
  return change.median > 0
             ? fmt::format("{:>8} [{:>8}, {:>8}]", percent(change.median), percent(change.low), percent(change.high))
             : fmt::format("{:>8}", "-");
}

std::string origin(const Results& results) {
  std::string text = results.fact("machine").empty() ? "unknown machine" : results.fact("machine");
  for (const char* key : {"driver", "commit"})
    if (const std::string value = results.fact(key); !value.empty()) text += fmt::format(", {} {}", key, value);
  return fmt::format("{}, {}{}", text, results.created, results.complete ? "" : ", NOT COMPLETE");
}

/// What has to be looked at, worst first: failures, then losses by their size, then missing ones.
std::vector<const Comparison*> to_look_at(const CompareReport& report, const CompareSettings& settings) {
  const auto rank = [](const Comparison* row) {
    return row->verdict == Verdict::kFailed ? 0 : row->verdict == Verdict::kSlower ? 1 : 2;
  };
  std::vector<const Comparison*> list;
  for (const Comparison& row : report.rows)
    if (row.verdict == Verdict::kFailed || row.verdict == Verdict::kSlower ||
        (row.verdict == Verdict::kMissing && !settings.allow_missing))
      list.push_back(&row);
  std::stable_sort(list.begin(), list.end(), [&](const Comparison* x, const Comparison* y) {
    return rank(x) != rank(y) ? rank(x) < rank(y) : x->change.median < y->change.median;
  });
  return list;
}

std::string row_text(const Comparison& row) {
  return fmt::format("  {:12} {:44} {}{}\n", name_of(row.verdict), row.id, change_text(row.change),
                     row.note.empty() ? "" : "  " + row.note);
}

std::string group_text(const GroupComparison& group) {
  return fmt::format("  {:16} {:4} {:4} {}  {}\n", group.set, type_name(group.type), group.shapes,
                     change_text(group.change), name_of(group.verdict));
}

std::string counts_text(const CompareReport& report) {
  std::string text;
  for (const Verdict verdict : {Verdict::kSlower, Verdict::kFaster, Verdict::kSame, Verdict::kUnclear, Verdict::kFailed,
                                Verdict::kMissing, Verdict::kAdded, Verdict::kIncomparable})
    if (const std::size_t count = report.count(verdict); count > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name_of(verdict));
  return text;
}

std::string conclusion(const CompareReport& report, const CompareSettings& settings) {
  return report.regressed(settings)
             ? fmt::format("REGRESSION beyond the tolerance of {:g} %", 100 * settings.tolerance)
             : fmt::format("no regression beyond the tolerance of {:g} %", 100 * settings.tolerance);
}

std::string what_is_compared(const CompareSettings& settings) {
  return settings.by_time ? fmt::format("speed of {}", settings.candidate)
                          : fmt::format("speed of {} relative to the reference", settings.candidate);
}

/// Text in a table cell: pipes would end it.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '|') escaped += '\\';
    escaped += letter == '\n' ? ' ' : letter;
  }
  return escaped;
}

nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json interval(const Interval& value) {
  return {{"median", number(value.median)}, {"low", number(value.low)}, {"high", number(value.high)}};
}

}  // namespace

std::string render_text(const CompareReport& report, const Results& base, const Results& now,
                        const CompareSettings& settings, bool all) {
  std::string text = fmt::format("base: {}\nnew:  {}\n{}; more than 0 is faster\n\n", origin(base), origin(now),
                                 what_is_compared(settings));
  if (all) {
    for (const Comparison& row : report.rows) text += row_text(row);
    text += '\n';
  }
  text += "geometric means\n";
  for (const GroupComparison& group : report.groups) text += group_text(group);
  text += group_text(report.overall);
  const auto list = to_look_at(report, settings);
  if (!list.empty() && !all) text += "\nto look at\n";
  for (std::size_t i = 0; i < std::min(list.size(), kMostListed) && !all; ++i) text += row_text(*list[i]);
  if (list.size() > kMostListed && !all)
    text += fmt::format("  and {} more (--all shows every shape)\n", list.size() - kMostListed);
  return text + fmt::format("\n{}\n{}\n", counts_text(report), conclusion(report, settings));
}

std::string render_markdown(const CompareReport& report, const Results& base, const Results& now,
                            const CompareSettings& settings) {
  std::string text = fmt::format("**{}**: {}\n\n", conclusion(report, settings), counts_text(report));
  text += fmt::format("base: {}  \nnew: {}  \n{}; more than 0 is faster\n\n", cell(origin(base)), cell(origin(now)),
                      what_is_compared(settings));
  text += "| set | type | shapes | change | 95 % interval | verdict |\n|---|---|---:|---:|---|---|\n";
  const auto append_group = [&](const GroupComparison& group) {
    text += fmt::format("| {} | {} | {} | {} | {} to {} | {} |\n", cell(group.set), type_name(group.type), group.shapes,
                        percent(group.change.median), percent(group.change.low), percent(group.change.high),
                        name_of(group.verdict));
  };
  for (const GroupComparison& group : report.groups) append_group(group);
  if (report.overall.shapes > 0) append_group(report.overall);
  const auto list = to_look_at(report, settings);
  if (list.empty()) return text;
  text += "\n| verdict | shape | before | after | change | |\n|---|---|---:|---:|---:|---|\n";
  for (const Comparison* row : list)
    text += row->change.median > 0
                ? fmt::format("| {} | `{}` | {:.3f} | {:.3f} | {} | {} |\n", name_of(row->verdict), cell(row->id),
                              row->before.median, row->after.median, percent(row->change.median), cell(row->note))
                : fmt::format("| {} | `{}` | | | | {} |\n", name_of(row->verdict), cell(row->id), cell(row->note));
  return text;
}

std::string render_json(const CompareReport& report, const CompareSettings& settings) {
  nlohmann::ordered_json root{{"schema", "xgemm-compare"},       {"version", 1},
                              {"candidate", settings.candidate}, {"tolerance", settings.tolerance},
                              {"noise", settings.noise},         {"regressed", report.regressed(settings)}};
  root["rows"] = nlohmann::ordered_json::array();
  for (const Comparison& row : report.rows) {
    nlohmann::ordered_json entry{{"id", row.id}, {"set", row.set}, {"verdict", name_of(row.verdict)}};
    if (row.change.median > 0) {
      entry["change"] = interval(row.change);
      entry["before"] = interval(row.before);
      entry["after"] = interval(row.after);
    }
    if (!row.note.empty()) entry["note"] = row.note;
    root["rows"].push_back(entry);
  }
  root["groups"] = nlohmann::ordered_json::array();
  auto groups = report.groups;
  groups.push_back(report.overall);
  for (const GroupComparison& group : groups)
    root["groups"].push_back({{"set", group.set},
                              {"type", type_name(group.type)},
                              {"shapes", group.shapes},
                              {"change", interval(group.change)},
                              {"verdict", name_of(group.verdict)}});
  return root.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace xgemm::perf
