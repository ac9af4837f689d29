// xgemm-sim: runs a kernel lane by lane on the CPU, checks its result, and prints what each source line does to memory.
//
//   xgemm-sim smem_tiled --m 128 --n 128 --k 64 --flags TN
//
// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "../gemm_cases.h"
#include "../kernels.h"
#include "layout/operand_facts.h"

namespace {

using namespace xgemm;
using sim::Counters;
using sim::LineCounters;
using sim::SimKernel;

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::replace(text.begin(), text.end(), 'C', 'T');
  return text;
}

bool serves(const SimKernel& kernel, const std::string& flags) {
  const std::vector<std::string> served = sim::flags_of(kernel.config);
  return std::find(served.begin(), served.end(), flags) != served.end();
}

// An instance by its name, or the first of a family, or of those whose name starts so, that serves the flags.
const SimKernel* choose(const std::string& name, const std::string& flags) {
  if (const SimKernel* kernel = sim::find_kernel(name)) return kernel;
  for (const SimKernel& kernel : sim::all_kernels()) {
    if (serves(kernel, flags) && (name == kernel.family || std::string_view(kernel.name).starts_with(name))) {
      return &kernel;
    }
  }
  return nullptr;
}

// The source text of a line, for those who have the source at hand.
class SourceText {
 public:
  std::string line(const std::string& file, unsigned number, std::size_t width) {
    auto [found, is_new] = files_.try_emplace(file);
    if (is_new) {
      std::ifstream in(file);
      for (std::string text; std::getline(in, text);) found->second.push_back(text);
    }
    if (number == 0 || number > found->second.size()) return {};
    std::string text = found->second[number - 1];
    text.erase(0, text.find_first_not_of(" \t"));
    if (text.size() > width) text = text.substr(0, width - 1) + "~";
    return text;
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

void print_counters(const Counters& counters) {
  if (counters.lines.empty()) {
    fmt::print("No memory was accessed.\n");
    return;
  }
  constexpr std::size_t kSource = 60;
  SourceText source;
  fmt::print("{:<24} {:<13} {:>5} {:>10} {:>11} {:>11} {:>6} {:>9}  {}\n", "line", "access", "bytes", "requests",
             "units", "ideal", "ratio", "excess", "source");
  for (const LineCounters& line : counters.lines) {
    const std::string place =
        fmt::format("{}:{}", std::string_view(line.file).substr(line.file.rfind('/') + 1), line.line);
    fmt::print("{:<24} {:<13} {:>5} {:>10} {:>11} {:>11} {:>6.2f} {:>9}  {}\n", place, to_string(line.traffic),
               line.bytes, line.requests, line.units, line.ideal, line.ratio(), line.excess(),
               source.line(line.file, line.line, kSource));
  }
  fmt::print("\n");
  for (const auto traffic :
       {sim::Traffic::global_load, sim::Traffic::global_store, sim::Traffic::shared_load, sim::Traffic::shared_store}) {
    const LineCounters total = counters.total(traffic);
    if (total.requests == 0) continue;
    if (sim::is_shared(traffic)) {
      fmt::print("{:<13}  {} wavefronts for {} requests, {} bank conflicts ({:.2f}x ideal)\n", to_string(traffic),
                 total.units, total.requests, total.excess(), total.ratio());
    } else {
      fmt::print("{:<13}  {} sectors for {} requests, {:.2f} sectors per request ({:.2f}x ideal)\n", to_string(traffic),
                 total.units, total.requests, static_cast<double>(total.units) / static_cast<double>(total.requests),
                 total.ratio());
    }
  }
}

void print_list() {
  fmt::print("{:<44} {:<16} {:<5} {:>13} {:>7} {:>7} {:>6}  {}\n", "kernel", "family", "type", "CTA tile", "threads",
             "shared", "vector", "flags");
  for (const SimKernel& kernel : sim::all_kernels()) {
    const auto& c = kernel.config;
    fmt::print("{:<44} {:<16} {:<5} {:>13} {:>7} {:>7} {:>6}  {}\n", kernel.name, kernel.family, name_of(c.type),
               fmt::format("{}x{}x{}", c.cta_m, c.cta_n, c.cta_k), c.threads(), kernel.shared_bytes, c.vector,
               fmt::join(sim::flags_of(c), " "));
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Runs a GPU kernel lane by lane on the CPU, checks its result and prints what each source line does to memory:\n"
      "wavefronts (passes over the banks of shared memory) and 32-byte sectors of global memory, against the ideal.",
      "xgemm-sim"};
  std::string name, flags = "NN", order = "forward";
  sim::GemmCase problem{.m = 128, .n = 128, .k = 64};
  sim::Options options{.count = true};
  bool list = false;
  app.add_option("KERNEL", name, "an instance, a family (naive, smem_tiled, ...) or the beginning of a name");
  app.add_flag("--list", list, "list the kernels");
  app.add_option("--m", problem.m, "rows of C")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--n", problem.n, "columns of C")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--k", problem.k, "depth of the product")->check(CLI::Range(0, 1 << 20))->capture_default_str();
  auto* const flags_option =
      app.add_option("--flags", flags, "transposition of A and B: NN, NT, TN or TT")
          ->transform([](std::string text) { return upper(std::move(text)); })
          ->check([](const std::string& text) {
            const std::string given = upper(text);
            return given == "NN" || given == "NT" || given == "TN" || given == "TT" ? "" : "flags are NN, NT, TN or TT";
          })
          ->capture_default_str();
  app.add_option("--alpha", problem.alpha)->capture_default_str();
  app.add_option("--beta", problem.beta)->capture_default_str();
  app.add_option("--batch", problem.batch, "matrices of a batch")->check(CLI::Range(1, 1 << 16))->capture_default_str();
  app.add_option("--ld-pad", problem.ld_pad, "vectors by which leading dimensions exceed the least value")
      ->check(CLI::Range(0, 1 << 16))
      ->capture_default_str();
  app.add_option("--shift", problem.shift, "vectors by which pointers miss an alignment of 128 bytes")
      ->check(CLI::Range(0, 127))
      ->capture_default_str();
  app.add_option("--schedule", order, "order of threads: forward, reverse or random")
      ->check(CLI::IsMember({"forward", "reverse", "random"}))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of the random schedule")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  if (list) {
    print_list();
    return 0;
  }
  if (name.empty()) {
    fmt::print(stderr, "Which kernel? xgemm-sim --list shows them, xgemm-sim --help the options.\n");
    return 2;
  }
  const SimKernel* const kernel = choose(name, flags);
  if (kernel == nullptr) {
    fmt::print(stderr, "No kernel is called {} and serves {}. xgemm-sim --list shows the kernels.\n", name, flags);
    return 2;
  }
  if (flags_option->count() == 0 && !serves(*kernel, flags)) flags = sim::flags_of(kernel->config).front();
  if (!serves(*kernel, flags)) {
    fmt::print(stderr, "{} is for {}, not for {}.\n", kernel->name, sim::flags_of(kernel->config).front(), flags);
    return 2;
  }
  problem.transa = flags[0];
  problem.transb = flags[1];
  options.order = order == "reverse"  ? sim::Order::reverse
                  : order == "random" ? sim::Order::random
                                      : sim::Order::forward;

  const auto& c = kernel->config;
  fmt::print("{}: {} {}, m = {}, n = {}, k = {}; CTA tile {} x {} x {}, {} threads, {} bytes of shared memory\n\n",
             kernel->name, name_of(c.type), flags, problem.m, problem.n, problem.k, c.cta_m, c.cta_n, c.cta_k,
             c.threads(), kernel->shared_bytes);
  Counters counters;
  const std::string wrong = run_case(*kernel, problem, options, &counters);
  print_counters(counters);
  if (!wrong.empty()) {
    fmt::print("\nFAULTY: {}\n", wrong);
    return 1;
  }
  fmt::print("\nThe result agrees with fp64; no fault was found.\n");
  return 0;
}
