// xgemm-tune: how fast the kernels that the planner chooses among really are. For every case it times the legal
// instances, in clusters of all shapes that they can form, whose estimates come near the best one, with and without
// split K, and cuBLAS beside them. Its table is what the planner's rates are fitted to.
//
//   xgemm-tune [--within 1.6] [--most 20] [--most-of-family 4] [--only 104,160x] [--clusters 1x1,2x4]
//       [--budget-us 1000] [--rounds 7] [--warm-ms 150] SET-OR-SHAPE... > measured.tsv
//
// The first line names the GPU: its name, SMs, clusters of 1, 2, 4 and 8 CTAs that fit, bytes of L2. A line after it:
// case, kernel (tuned_name.h), cluster, whole tiles, parts, measured us, estimated us; tabs between. Operands are N(0,
// 1) and rotate through several times the L2; calls are replayed from graphs, all kernels and cuBLAS in turn, round
// after round: which tile is best differs between a burst and what the power limit allows.
//
// Links the library's inside, since a plan cannot be forced through the interface.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

#include "bench/candidate.h"
#include "bench/device.h"
#include "bench/input_error.h"
#include "bench/operands.h"
#include "bench/shapes.h"
#include "core/problem.h"
#include "device/device_info.h"
#include "plan/planner.h"
#include "runtime/launch.h"
#include "tune/tuned_name.h"

namespace xgemm::perf {
namespace {

constexpr int kMostCtas = 8;  // of a cluster

class Tuner {
 public:
  struct Options {
    double within = 1.6;
    int most = 1000;
    int most_of_family = 1000;
    std::vector<std::string> only, clusters;
    double budget_us = 1000;
    int rounds = 7;
    double warm_ms = 150;
  };

  explicit Tuner(const Options& options) : options_(options) {
    std::string why;
    device_ = make_cuda_device(0, why);
    if (!device_) throw std::runtime_error(why);
    cublas_ = make_cublas(*device_, "", std::size_t{32} << 20, CublasMath::kDefault, why);
    if (!cublas_) fmt::print(stderr, "xgemm-tune: cuBLAS is not timed: {}\n", why);
    operands_ = std::make_unique<Operands>(*device_, DataKind::kNormal, 1);
  }

  void run(const Case& one) {
    if (!operands_->prepare(one).empty()) return;
    const device::DeviceInfo& info = runtime::completed(*device::device_info(0));
    const Problem example = problem(one, operands_->set(0));
    const std::vector<plan::Plan> candidates = all_candidates(example, info);
    std::vector<Entry> entries;
    if (cublas_ && !candidates.empty() && cublas_->prepare(one, operands_->set(0)).empty()) {
      entries.push_back(record("cublas", {0, 1}, 0, candidates[0].estimated_us,
                               [&](const OperandSet& set) { cublas_->run(one, set); }));
    }
    std::map<kernels::Family, int> of_family;
    for (const plan::Plan& candidate : candidates) {
      if (candidate.estimated_us > options_.within * candidates[0].estimated_us) break;
      if (entries.size() > static_cast<std::size_t>(options_.most)) break;
      if (!wanted(name_of(candidate)) || ++of_family[kernels::info(candidate.kernel).family] > options_.most_of_family)
        continue;
      entries.push_back(record(one, candidate));
      if (candidate.schedule.split_tiles > 0)
        entries.push_back(record(one, plan::with_sharing(candidate, block_of(candidate, example), info,
                                                         {0, 1, candidate.schedule.cluster})));
    }
    if (entries.empty()) {
      fmt::print(stderr, "xgemm-tune: {}: no plan is left to time\n", one.id());
      return;
    }
    // In turn, with hardly a pause, and not before the power limit has had time to slow the GPU down as it does in
    // lasting work: all meet the same clocks.
    double warm_us = 0;
    for (int round = 0; round < options_.rounds;) {
      const bool counts = warm_us >= 1e3 * options_.warm_ms;
      for (Entry& entry : entries) {
        const double us = device_->time(*entry.calls);
        warm_us += us;
        if (counts) entry.us.push_back(us / entry.count);
      }
      round += counts;
    }
    for (Entry& entry : entries) {
      std::sort(entry.us.begin(), entry.us.end());
      const kernels::Sharing& s = entry.sharing;
      fmt::print("{}\t{}\t{}\t{}\t{}\t{:.3f}\t{:.3f}\n", one.id(), entry.name, to_string(s.cluster), s.whole_tiles,
                 s.parts, entry.us[entry.us.size() / 2], entry.estimated_us);
    }
    std::fflush(stdout);
  }

 private:
  struct Entry {
    std::string name;
    kernels::Sharing sharing;
    double estimated_us;
    std::unique_ptr<RecordedCalls> calls;
    int count;
    std::vector<double> us;  // of a call, by round
  };

  // Of each instance in each cluster that it can form, the least estimate first.
  std::vector<plan::Plan> all_candidates(const Problem& p, const device::DeviceInfo& info) const {
    const plan::ProblemFacts facts = plan::gather_facts(p);
    std::vector<plan::Plan> all;
    for (int k = 1; k <= kMostCtas; k *= 2)
      for (int m = 1; m * k <= kMostCtas; m *= 2)
        for (int n = 1; m * n * k <= kMostCtas; n *= 2) {
          const kernels::ClusterShape cluster = {m, n, k};
          const std::vector<std::string>& chosen = options_.clusters;
          if (!chosen.empty() && std::ranges::count(chosen, to_string(cluster)) == 0) continue;
          std::ranges::copy(plan::candidates(p, facts, info, &cluster), std::back_inserter(all));
        }
    std::ranges::stable_sort(all, {}, &plan::Plan::estimated_us);
    return all;
  }

  bool wanted(std::string_view kernel) const {
    return options_.only.empty() || std::ranges::any_of(options_.only, [&](const std::string& part) {
             return kernel.find(part) != std::string_view::npos;
           });
  }

  static Problem block_of(const plan::Plan& plan, const Problem& problem) {
    return plan.packing.any() ? plan::packed_problem(plan.packing, problem) : problem;
  }

  static Problem problem(const Case& one, const OperandSet& s) {
    const ColumnMajorCall call = column_major(one, s);
    Problem p;
    const auto type_of = [](const Element& element) {
      switch (element.letter) {
        case 'd':
          return DType::f64;
        case 's':
          return DType::f32;
        case 'h':
          return DType::f16;
        default:
          return DType::bf16;
      }
    };
    const DType type = type_of(one.input());
    p.m = call.m;
    p.n = call.n;
    p.k = call.k;
    p.batch_count = one.batch;
    p.alpha.value = one.alpha;
    p.beta.value = one.beta;
    p.a = {type, call.a, call.transa == 'N' ? Op::none : Op::transpose, call.lda, call.stride_a};
    p.b = {type, call.b, call.transb == 'N' ? Op::none : Op::transpose, call.ldb, call.stride_b};
    p.c = {type_of(one.output()), call.c, call.ldc, call.stride_c};
    if (one.by_pointers) {
      p.batch_kind = BatchKind::pointers;
      p.a.batch_stride = p.b.batch_stride = p.c.batch_stride = 0;
      p.a.data = call.a_pointers, p.b.data = call.b_pointers, p.c.data = const_cast<void**>(call.c_pointers);
    }
    return p;
  }

  Entry record(const Case& one, const plan::Plan& candidate) {
    const device::DeviceInfo& info = *device::device_info(0);
    const runtime::LaunchSettings settings = {device_->stream(), nullptr, 0};  // as most calls come: no memory is lent
    const kernels::Schedule& schedule = candidate.schedule;
    const std::int64_t whole_tiles = schedule.split_tiles == 0 ? 0 : schedule.whole_tiles;
    return record(tuned_name(candidate), {whole_tiles, static_cast<int>(schedule.parts), schedule.cluster},
                  candidate.estimated_us, candidate.estimated_us, [&](const OperandSet& s) {
                    const Status status = runtime::launch(candidate, problem(one, s), info, settings);
                    if (!status.ok()) throw std::runtime_error(last_error());
                  });
  }

  template <class Call>
  Entry record(const std::string& name, const kernels::Sharing& sharing, double estimated_us, double expected_us,
               const Call& call) {
    const int count = static_cast<int>(std::clamp(options_.budget_us / expected_us, 1.0, 60.0));
    call(operands_->set(0));  // a kernel is loaded when it is first run
    std::string why = device_->synchronize();
    if (!why.empty()) throw std::runtime_error(why);
    auto calls = device_->record(
        [&] {
          for (int i = 0; i < count; ++i) call(operands_->set((next_ + i) % operands_->count()));
        },
        why);
    next_ += count;
    if (!calls) throw std::runtime_error(why);
    return {name, sharing, estimated_us, std::move(calls), count, {}};
  }

  Options options_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Candidate> cublas_;
  std::unique_ptr<Operands> operands_;
  std::int64_t next_ = 0;  // of the operand sets
};

int run(int argc, char** argv) {
  CLI::App app("Times the kernels that the planner chooses among");
  Tuner::Options options;
  std::vector<std::string> arguments;
  ShapeDefaults defaults;
  std::string types, transposes;
  app.add_option("--within", options.within, "Leave out what is estimated to be slower than this many times the best");
  app.add_option("--most", options.most, "So many of the least estimated plans, and no more");
  app.add_option("--most-of-family", options.most_of_family, "The same of each family of kernels");
  app.add_option("--only", options.only, "Parts of names of the kernels to time; cuBLAS is timed in any case")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--clusters", options.clusters, "Only clusters of these shapes along C, such as 1x1,2x4")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--budget-us", options.budget_us, "Time to spend on one replay");
  app.add_option("--rounds", options.rounds, "Replays of each, of which the median counts")->check(CLI::PositiveNumber);
  app.add_option("--warm-ms", options.warm_ms, "How long to compute before rounds count");
  app.add_option("--type", types, "Types of shapes that name none");
  app.add_option("--trans", transposes, "Flags of shapes that name none");
  app.add_option("shapes", arguments, "Shapes, built-in sets or files, as xgemm-bench takes them")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!types.empty()) defaults.types = parse_types(types);
  if (!transposes.empty()) defaults.trans = parse_transposes(transposes);
  defaults.location = "ddd";
  std::vector<Case> cases;
  for (const std::string& argument : arguments)
    for (const Case& one : parse_shape_argument(argument, defaults)) cases.push_back(one);
  Tuner tuner(options);
  const device::DeviceInfo& gpu = runtime::completed(*device::device_info(0));
  fmt::print("# {}\t{}\t{},{},{},{}\t{}\n", gpu.name, gpu.sm_count, gpu.clusters_of(1), gpu.clusters_of(2),
             gpu.clusters_of(4), gpu.clusters_of(8), gpu.l2_bytes);
  for (const Case& one : without_duplicates(cases)) tuner.run(one);
  return 0;
}

}  // namespace
}  // namespace xgemm::perf

int main(int argc, char** argv) {
  try {
    return xgemm::perf::run(argc, argv);
  } catch (const xgemm::perf::InputError& error) {
    fmt::print(stderr, "xgemm-tune: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "xgemm-tune: {}\n", error.what());
    return 1;
  }
}
