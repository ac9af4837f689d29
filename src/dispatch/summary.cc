// Counting products by shape and place (core/counted.h).
#include "dispatch/summary.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "core/counted.h"
#include "core/end_of_process.h"
#include "core/environment.h"
#include "host/cpu_engine.h"
#include "host/plain_copies.h"

namespace xgemm::dispatch {
namespace {

constexpr int kMostComparisons = 3;  // of a shape

struct Row {
  long long products = 0;
  double time_us = 0;
  long long compared = 0;
  double cpu_us = 0;  // of the compared ones

  void add(const Row& other) {
    products += other.products;
    time_us += other.time_us;
    compared += other.compared;
    cpu_us += other.cpu_us;
  }
};

struct Table {
  std::map<std::string, Row> rows;  // by where and what
  std::map<std::string, int> comparisons;
  Row others;
};

constinit Counted<Table> counted;

// "f32 NT 300x200x100".
std::string shape_of(const Problem& p) {
  std::string text = format("%s %c%c %lldx%lldx%lld", to_string(p.types()).c_str(), static_cast<char>(p.a.op),
                            static_cast<char>(p.b.op), static_cast<long long>(p.m), static_cast<long long>(p.n),
                            static_cast<long long>(p.k));
  if (p.batch_count != 1) text += format(" batch of %lld", static_cast<long long>(p.batch_count));
  return text;
}

std::string text_of(const Row& row, const std::string& what) {
  const double each = row.time_us / static_cast<double>(row.products);
  std::string line = format("\nxgemm: %10lld %12.3f %12.1f", row.products, row.time_us * 1e-3, each);
  line += row.compared > 0 ? format(" %12.1f", row.cpu_us / static_cast<double>(row.compared))
                           : format(" %12s", environment().compare ? "-" : "");
  return line + "  " + what;
}

std::string text_of(const Table& t) {
  std::vector<std::pair<std::string, Row>> rows(t.rows.begin(), t.rows.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& x, const auto& y) { return x.second.time_us > y.second.time_us; });
  Row all = t.others, rest = t.others;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    all.add(rows[i].second);
    if (i >= kMostRows) rest.add(rows[i].second);
  }
  std::string text =
      format("summary of %s: %lld products, %.3f ms", name_of_process().c_str(), all.products, all.time_us * 1e-3);
  text += format("\nxgemm: %10s %12s %12s %12s  where, and what", "products", "time ms", "us each",
                 environment().compare ? "us by CPU" : "");
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) text += text_of(rows[i].second, rows[i].first);
  if (rest.products > 0) text += text_of(rest, "other shapes");
  return text;
}

[[gnu::destructor]] void at_the_end() {
  print_summary();
}

}  // namespace

void count_product(const Problem& problem, const std::string& where, Status status, double time_us, double cpu_us) {
  const std::string what =
      where + (status.ok() ? "" : format(", failed with status %d", status.code)) + ": " + shape_of(problem);
  Row one = {1, time_us, 0, 0};
  if (cpu_us >= 0) one.compared = 1, one.cpu_us = cpu_us;
  const Making making;
  Table& t = counted.get();
  if (t.rows.size() < kMostShapes || t.rows.contains(what))
    t.rows[what].add(one);
  else
    t.others.add(one);
}

double compare_with_cpu(const Problem& problem) {
  if (problem.epilogue.aux != nullptr) return -1;  // which the product would write
  {
    const Making making;
    std::map<std::string, int>& comparisons = counted.get().comparisons;
    if (comparisons.size() >= kMostShapes || comparisons[shape_of(problem)]++ >= kMostComparisons) return -1;
  }
  host::Operands copied = host::not_plain(problem);
  copied.c = true;
  const host::PlainCopies copies(problem, copied);
  if (!copies.ok()) return -1;
  const auto start = std::chrono::steady_clock::now();
  const Status status = host::cpu_gemm(copies.problem());
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  clear_last_error();
  return status.ok() ? elapsed.count() : -1;
}

void print_summary() noexcept try {
  if (!counted.any()) return;
  const Making making;
  if (const auto all = counted.take()) print_at_the_end(text_of(*all));
} catch (...) {
}

}  // namespace xgemm::dispatch
