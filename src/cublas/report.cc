// Counting calls. Everything happens under the lock that forks wait for (core/once.h); a child counts from nothing.
#include "cublas/report.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/end_of_process.h"
#include "core/environment.h"
#include "core/once.h"
#include "core/status.h"

namespace xgemm::cublas {
namespace {

constexpr std::size_t kMostShapes = 10000;  // remembered; what comes after them is counted together
constexpr std::size_t kMostRows = 15;       // printed: with them all fits into what a pipe takes at once
constexpr int kMostComparisons = 5;         // of a shape

struct Row {
  long long calls = 0;
  double time_us = 0;

  void add(const Row& other) {
    calls += other.calls;
    time_us += other.time_us;
  }
};

struct Compared {
  int begun = 0, done = 0;
  Comparison best = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), 0};
};

struct Tables {
  Row served;
  std::map<std::string, Row> forwarded;  // by what and why
  std::map<std::string, Compared> compared;
  std::uint32_t process = forks();
};

// Of the process or of one that it was forked from; never destroyed while threads may still multiply.
constinit std::atomic<Tables*> tables{nullptr};

Tables& counted() {
  Tables* known = tables.load(std::memory_order_relaxed);
  if (known == nullptr || known->process != forks()) {
    const std::unique_ptr<const Tables> of_parent(known);  // whole: the fork waited for whoever counted
    tables.store(known = new Tables, std::memory_order_relaxed);
  }
  return *known;
}

// The rows with the largest time, at most kMostRows of them.
template <class Value, class Time>
std::vector<std::pair<std::string, Value>> longest(const std::map<std::string, Value>& all, Time time) {
  std::vector<std::pair<std::string, Value>> rows(all.begin(), all.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& x, const auto& y) { return time(x.second) > time(y.second); });
  rows.resize(std::min(rows.size(), kMostRows));
  return rows;
}

std::string line_of(const Row& row, const std::string& what) {
  return format("\nxgemm: %10lld %12.3f %12.1f  %s", row.calls, row.time_us * 1e-3,
                row.time_us / static_cast<double>(row.calls), what.c_str());
}

void print_summary(const Tables& t) {
  Row forwarded;
  for (const auto& [what, row] : t.forwarded) forwarded.add(row);
  Row all = t.served;
  all.add(forwarded);
  if (all.calls == 0) return;
  std::string text =
      format("cuBLAS products of %s: %lld, %.3f ms; libxgemm served %lld, %.3f ms", name_of_process().c_str(),
             all.calls, all.time_us * 1e-3, t.served.calls, t.served.time_us * 1e-3);
  if (all.time_us > 0) text += format(" (%.1f %% of the time)", 100 * t.served.time_us / all.time_us);
  if (forwarded.calls > 0) {
    text += format("\nxgemm: %10s %12s %12s  left to cuBLAS, and why", "products", "time ms", "us each");
    Row rest = forwarded;
    for (const auto& [what, row] : longest(t.forwarded, [](const Row& r) { return r.time_us; })) {
      text += line_of(row, what);
      rest.calls -= row.calls;
      rest.time_us -= row.time_us;
    }
    if (rest.calls > 0) text += line_of(rest, "others");
  }
  print_at_the_end(text);
}

void print_comparisons(const Tables& t) {
  if (t.compared.empty()) return;
  std::string text = format("libxgemm and cuBLAS on %zu shapes of %s\nxgemm: %12s %12s %8s %12s", t.compared.size(),
                            name_of_process().c_str(), "xgemm us", "cublas us", "ratio", "difference");
  for (const auto& [what, row] : longest(t.compared, [](const Compared& c) { return c.best.cublas_us; }))
    text += row.done == 0 ? format("\nxgemm: %12s %12s %8s %12s  %s", "-", "-", "-", "-", what.c_str())
                          : format("\nxgemm: %12.1f %12.1f %8.3f %12.1e  %s", row.best.xgemm_us, row.best.cublas_us,
                                   row.best.cublas_us / row.best.xgemm_us, row.best.difference, what.c_str());
  if (t.compared.size() > kMostRows) text += format("\nxgemm: and %zu that took less", t.compared.size() - kMostRows);
  print_at_the_end(text);
}

[[gnu::destructor]] void at_the_end() noexcept try {
  if (tables.load(std::memory_order_relaxed) == nullptr) return;
  const Making making;
  const std::unique_ptr<const Tables> all(tables.exchange(nullptr, std::memory_order_relaxed));
  if (all == nullptr || all->process != forks()) return;
  print_summary(*all);
  print_comparisons(*all);
} catch (...) {
}

}  // namespace

void print_call(const Call& call, const Outcome& outcome) noexcept try {
  std::string line = format("cublas=%s %s by=%s", call.routine, to_string(call).c_str(),
                            outcome.why_cublas == nullptr ? "libxgemm" : "cublas");
  if (outcome.status != kSuccess) line += format(" status=%d", outcome.status);
  if (outcome.time_us >= 0) line += format(" time_us=%.1f", outcome.time_us);
  if (outcome.why_cublas != nullptr) line += format(" because: %s", outcome.why_cublas);
  print_line(line);
} catch (...) {
}

void count_call(const Call& call, const Outcome& outcome) noexcept try {
  const Row one = {1, std::max(outcome.time_us, 0.0)};
  std::string what;
  if (outcome.why_cublas != nullptr) what = shape_of(call) + ": " + outcome.why_cublas;
  const Making making;
  Tables& t = counted();
  if (outcome.why_cublas == nullptr)
    t.served.add(one);
  else if (t.forwarded.size() < kMostShapes || t.forwarded.contains(what))
    t.forwarded[what].add(one);
  else
    t.forwarded["other shapes"].add(one);
} catch (...) {
}

bool wants_comparison(const Call& call) noexcept try {
  const std::string what = shape_of(call);
  const Making making;
  auto& compared = counted().compared;
  if (compared.size() >= kMostShapes && !compared.contains(what)) return false;
  Compared& row = compared[what];
  return row.begun < kMostComparisons && ++row.begun > 0;
} catch (...) {
  return false;
}

void count_comparison(const Call& call, const Comparison& comparison) noexcept try {
  const std::string what = shape_of(call);
  const Making making;
  Compared& row = counted().compared[what];
  ++row.done;
  row.best.xgemm_us = std::min(row.best.xgemm_us, comparison.xgemm_us);
  row.best.cublas_us = std::min(row.best.cublas_us, comparison.cublas_us);
  if (!(comparison.difference <= row.best.difference)) row.best.difference = comparison.difference;
} catch (...) {
}

}  // namespace xgemm::cublas
