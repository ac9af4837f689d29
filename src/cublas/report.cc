// Counting calls (core/counted.h).
#include "cublas/report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/counted.h"
#include "core/end_of_process.h"
#include "core/environment.h"
#include "core/status.h"

namespace xgemm::cublas {
namespace {

constexpr int kMostComparisons = 5;  // of a shape

// Calls of one shape. Their least time is what they cost but for the first ones, which load kernels.
struct Row {
  long long calls = 0;
  double time_us = 0;
  double least_us = std::numeric_limits<double>::infinity();  // of those that were timed

  void add(double one_us) {  // below 0: not timed
    ++calls;
    if (one_us < 0) return;
    time_us += one_us;
    least_us = std::min(least_us, one_us);
  }
  double usual_us() const { return std::isfinite(least_us) ? least_us * static_cast<double>(calls) : 0; }
};

struct Total {
  long long calls = 0;
  double time_us = 0, usual_us = 0;
};

Total total(const std::map<std::string, Row>& rows) {
  Total all;
  for (const auto& [what, row] : rows) {
    all.calls += row.calls;
    all.time_us += row.time_us;
    all.usual_us += row.usual_us();
  }
  return all;
}

struct Compared {
  int begun = 0, done = 0;
  Comparison best = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), 0};
};

struct Tables {
  std::map<std::string, Row> served;     // by shape
  std::map<std::string, Row> forwarded;  // by shape and reason
  std::map<std::string, Compared> compared;
};

constinit Counted<Tables> counted;

// The rows with the largest time, at most kMostRows of them.
template <class Value, class Time>
std::vector<std::pair<std::string, Value>> longest(const std::map<std::string, Value>& all, Time time) {
  std::vector<std::pair<std::string, Value>> rows(all.begin(), all.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& x, const auto& y) { return time(x.second) > time(y.second); });
  rows.resize(std::min(rows.size(), kMostRows));
  return rows;
}

void print_summary(const Tables& t) {
  const Total served = total(t.served), forwarded = total(t.forwarded);
  if (served.calls + forwarded.calls == 0) return;
  std::string text = format("cuBLAS products of %s: %lld, %.3f ms; libxgemm served %lld, %.3f ms",
                            name_of_process().c_str(), served.calls + forwarded.calls,
                            (served.time_us + forwarded.time_us) * 1e-3, served.calls, served.time_us * 1e-3);
  if (served.usual_us + forwarded.usual_us > 0)
    text += format(" (%.1f %% of the time, by the least time of each shape)",
                   100 * served.usual_us / (served.usual_us + forwarded.usual_us));
  if (forwarded.calls > 0) {
    text += format("\nxgemm: %10s %12s %12s  left to cuBLAS, and why", "products", "time ms", "least us");
    long long rest = forwarded.calls;
    for (const auto& [what, row] : longest(t.forwarded, [](const Row& r) { return r.usual_us(); })) {
      text += format("\nxgemm: %10lld %12.3f %12.1f  %s", row.calls, row.time_us * 1e-3,
                     std::isfinite(row.least_us) ? row.least_us : 0.0, what.c_str());
      rest -= row.calls;
    }
    if (rest > 0) text += format("\nxgemm: %10lld others", rest);
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
  if (!counted.any()) return;
  const Making making;
  const auto all = counted.take();
  if (all == nullptr) return;
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
  std::string what = shape_of(call);
  if (outcome.why_cublas != nullptr) what.append(": ").append(outcome.why_cublas);
  const Making making;
  auto& rows = outcome.why_cublas == nullptr ? counted.get().served : counted.get().forwarded;
  if (rows.size() >= kMostShapes && !rows.contains(what)) what = "other shapes";
  rows[what].add(outcome.time_us);
} catch (...) {
}

bool wants_comparison(const Call& call) noexcept try {
  const std::string what = shape_of(call);
  const Making making;
  auto& compared = counted.get().compared;
  if (compared.size() >= kMostShapes && !compared.contains(what)) return false;
  Compared& row = compared[what];
  return row.begun < kMostComparisons && ++row.begun > 0;
} catch (...) {
  return false;
}

void count_comparison(const Call& call, const Comparison& comparison) noexcept try {
  const std::string what = shape_of(call);
  const Making making;
  Compared& row = counted.get().compared[what];
  ++row.done;
  row.best.xgemm_us = std::min(row.best.xgemm_us, comparison.xgemm_us);
  row.best.cublas_us = std::min(row.best.cublas_us, comparison.cublas_us);
  if (!(comparison.difference <= row.best.difference)) row.best.difference = comparison.difference;
} catch (...) {
}

}  // namespace xgemm::cublas
