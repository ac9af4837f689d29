// xgemm-tune: how fast the kernels that the planner chooses among really are. For every case it times the legal
// instances whose estimates come near the best one, with and without split K, and cuBLAS beside them. Its table is what
// the planner's rates are fitted to.
//
//   xgemm-tune [--within 1.6] [--budget-us 1500] [--heat-us 10000] SET-OR-SHAPE... > measured.tsv
//
// A line: case, kernel, whole tiles, parts, measured us, estimated us; tabs between. Operands are N(0, 1) and rotate
// through several times the L2; calls are replayed from a graph; medians of three, after some milliseconds
// of the same work: which tile is best differs between a burst and what the power limit allows.
//
// Links the library's inside, since a plan cannot be forced through the interface.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "bench/candidate.h"
#include "bench/device.h"
#include "bench/shapes.h"
#include "core/problem.h"
#include "plan/planner.h"
#include "runtime/device_info.h"
#include "runtime/launch.h"

namespace xgemm::perf {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;
constexpr std::size_t kRotatedBytes = std::size_t{320} << 20;
constexpr std::size_t kArenaBytes = std::size_t{6} << 30;

std::uint16_t half_bits(float x) {  // of normal numbers, cut rather than rounded: random data need no more
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const int exponent = static_cast<int>(bits >> 23 & 0xff) - 112;
  if (exponent <= 0) return 0;
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | static_cast<unsigned>(exponent) << 10 |
                                    (bits >> 13 & 0x3ff));
}

std::vector<unsigned char> random_block(char type, std::size_t bytes) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<unsigned char> block(bytes);
  const std::size_t size = type == 's' ? 4 : 2;
  for (std::size_t i = 0; i < bytes; i += size) {
    const float x = normal(engine);
    const std::uint16_t bits =
        type == 'h' ? half_bits(x) : static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
    std::memcpy(&block[i], type == 's' ? static_cast<const void*>(&x) : &bits, size);
  }
  return block;
}

class Tuner {
 public:
  Tuner(double within, double budget_us, double heat_us) : within_(within), budget_us_(budget_us), heat_us_(heat_us) {
    std::string why;
    device_ = make_cuda_device(0, why);
    if (!device_) throw std::runtime_error(why);
    cublas_ = make_cublas(*device_, "", std::size_t{32} << 20, why);
    arena_ = static_cast<unsigned char*>(device_->allocate('d', kArenaBytes));
    workspace_ = device_->allocate('d', kWorkspaceBytes);
    if (arena_ == nullptr || workspace_ == nullptr) throw std::runtime_error("not enough device memory");
  }

  void run(const Case& one) {
    fill(one.type);
    const std::vector<OperandSet> sets = lay_out(one);
    if (sets.empty()) return;
    if (cublas_ && cublas_->prepare(one, sets[0]).empty()) {
      const auto multiply = [&](const OperandSet& operands) { cublas_->run(one, operands); };
      const double us = measure(measure(20, sets, multiply), sets, multiply);
      print(one, "cublas", 0, 1, us, 0);
    }
    const runtime::DeviceInfo& info = *runtime::device_info(0);
    const Problem example = problem(one, sets[0]);
    double best = 0;
    for (const plan::Plan& candidate : plan::candidates(example, plan::gather_facts(example), info)) {
      if (best == 0) best = candidate.estimated_us;
      if (candidate.estimated_us > within_ * best) break;
      time(one, sets, candidate);
      if (candidate.parts > 1) {
        plan::Plan unsplit = candidate;
        unsplit.parts = 1;
        time(one, sets, unsplit);
      }
    }
    std::fflush(stdout);
  }

 private:
  static Problem problem(const Case& one, const OperandSet& s) {
    const ColumnMajorCall call = column_major(one, s);
    Problem p;
    p.type = one.type == 's' ? DType::f32 : one.type == 'h' ? DType::f16 : DType::bf16;
    p.m = call.m;
    p.n = call.n;
    p.k = call.k;
    p.batch_count = one.batch;
    p.alpha.value = one.alpha;
    p.beta.value = one.beta;
    p.a = {call.a, call.transa == 'N' ? Op::none : Op::transpose, call.lda, call.stride_a};
    p.b = {call.b, call.transb == 'N' ? Op::none : Op::transpose, call.ldb, call.stride_b};
    p.c = {call.c, call.ldc, call.stride_c};
    return p;
  }

  void time(const Case& one, const std::vector<OperandSet>& sets, const plan::Plan& candidate) {
    const runtime::DeviceInfo& info = *runtime::device_info(0);
    const runtime::LaunchSettings settings = {device_->stream(), workspace_, kWorkspaceBytes};
    const double us = measure(candidate.estimated_us, sets, [&](const OperandSet& s) {
      const Status status = runtime::launch(candidate, problem(one, s), info, settings);
      if (!status.ok()) throw std::runtime_error(last_error());
    });
    print(one, name_of(candidate), candidate.parts == 1 ? 0 : candidate.whole_tiles, candidate.parts, us,
          candidate.estimated_us);
  }

  static void print(const Case& one, const char* kernel, std::int64_t whole, int parts, double us, double estimated) {
    fmt::print("{}\t{}\t{}\t{}\t{:.3f}\t{:.3f}\n", one.id(), kernel, whole, parts, us, estimated);
  }

  template <class Call>
  double measure(double expected_us, const std::vector<OperandSet>& sets, const Call& call) {
    const int calls = static_cast<int>(std::clamp(budget_us_ / expected_us, 2.0, 60.0));
    std::string why;
    const auto recorded = device_->record(
        [&] {
          for (int i = 0; i < calls; ++i) call(sets[(next_ + static_cast<std::size_t>(i)) % sets.size()]);
        },
        why);
    next_ += static_cast<std::size_t>(calls);
    if (!recorded) throw std::runtime_error(why);
    for (double spent = 0; spent < heat_us_;) spent += device_->time(*recorded);
    std::array<double, 4> times{};
    for (double& t : times) t = device_->time(*recorded) / calls;
    std::sort(times.begin() + 1, times.end());  // the first one warms up
    return times[2];
  }

  void fill(char type) {
    if (type == filled_) return;
    filled_ = type;
    const std::vector<unsigned char> block = random_block(type, std::size_t{64} << 20);
    for (std::size_t at = 0; at < kArenaBytes; at += block.size())
      device_->copy(arena_ + at, block.data(), block.size());
  }

  std::vector<OperandSet> lay_out(const Case& one) {
    const auto bytes = [&](std::int64_t span) {
      return (static_cast<std::size_t>((span + one.offset) * one.element_size()) + 1023) / 1024 * 1024;
    };
    const std::size_t a = bytes(one.a_span()), b = bytes(one.b_span()), c = bytes(one.c_span());
    const std::size_t all = a + b + c;
    const std::size_t count = std::clamp<std::size_t>((kRotatedBytes + all - 1) / all, 1, 256);
    std::vector<OperandSet> sets;
    unsigned char* at = arena_;
    for (std::size_t i = 0; i < count && at + all <= arena_ + kArenaBytes; ++i, at += all) {
      OperandSet s;
      const std::int64_t shift = one.offset * one.element_size();
      s.a = at + shift;
      s.b = at + a + shift;
      s.c = at + a + b + shift;
      sets.push_back(s);
    }
    return sets;
  }

  double within_, budget_us_, heat_us_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Candidate> cublas_;
  unsigned char* arena_ = nullptr;
  void* workspace_ = nullptr;
  char filled_ = 0;
  std::size_t next_ = 0;
};

int run(int argc, char** argv) {
  CLI::App app("Times the kernels that the planner chooses among");
  double within = 1.6, budget_us = 1500, heat_us = 10000;
  std::vector<std::string> arguments;
  ShapeDefaults defaults;
  std::string types, transposes;
  app.add_option("--within", within, "Leave out what is estimated to be slower than this many times the best");
  app.add_option("--budget-us", budget_us, "Time to spend on one replay");
  app.add_option("--heat-us", heat_us, "Time to run before measuring: clocks fall under load");
  app.add_option("--type", types, "Types of shapes that name none");
  app.add_option("--trans", transposes, "Flags of shapes that name none");
  app.add_option("shapes", arguments, "Shapes, built-in sets or files, as xgemm-bench takes them")->required();
  CLI11_PARSE(app, argc, argv);
  if (!types.empty()) defaults.types = parse_types(types);
  if (!transposes.empty()) defaults.trans = parse_transposes(transposes);
  defaults.location = "ddd";
  std::vector<Case> cases;
  for (const std::string& argument : arguments)
    for (const Case& one : parse_shape_argument(argument, defaults)) cases.push_back(one);
  Tuner tuner(within, budget_us, heat_us);
  for (const Case& one : without_duplicates(cases)) tuner.run(one);
  return 0;
}

}  // namespace
}  // namespace xgemm::perf

int main(int argc, char** argv) {
  try {
    return xgemm::perf::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "xgemm-tune: {}\n", error.what());
    return 1;
  }
}
