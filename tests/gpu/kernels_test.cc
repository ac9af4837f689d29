// Every kernel instance of this build, called by name: flags × edges of its own tile × scalars × alignments × batches.
// What an instance cannot serve is the planner's word; that it serves something is this test's.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cctype>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "call.h"
#include "core/canonicalize.h"
#include "device/device_info.h"
#include "kernels/family.h"
#include "kernels/instances.h"
#include "kernels/wgmma_tma/instances.h"
#include "plan/planner.h"
#include "runtime/device_gemm.h"
#include "runtime/finish.h"
#include "runtime/launch.h"

namespace xgemm::gpu_test {
namespace {

class Kernels : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    XGEMM_SKIP_WITHOUT_DEVICE();
    device_ = device::device_info(device::current_device());
    ASSERT_NE(device_, nullptr);
    if (!kernel().config.runs_on(device_->compute_capability)) GTEST_SKIP() << kernel().name << " is not for this GPU";
  }

  const kernels::KernelInfo& kernel() const { return kernels::info(GetParam()); }

  // A family that computes fp32 products otherwise: only long sums, and no batches.
  bool emulates() const { return kernels::describe(kernel().family).fallback != nullptr; }
  bool is_tf32() const { return kernel().config.compute == Compute::tf32; }

  // visit(T{}), T being the types of the instance.
  template <class Visit>
  auto with_type(Visit&& visit) {
    const bool wide = kernel().config.type_c == DType::f32;
    switch (kernel().config.type) {
      case DType::f16:
        return wide ? visit(WideC<Half>{}) : visit(Half{});
      case DType::bf16:
        return wide ? visit(WideC<Bfloat16>{}) : visit(Bfloat16{});
      case DType::f64:
        return visit(double{});
      default:
        return is_tf32() ? visit(Tf32{}) : visit(float{});
    }
  }

  // False when the instance cannot serve the call.
  template <class T>
  bool launch(const Call<T>& call) {
    xgemm_args args = call.args();
    if (scalars_ != nullptr) args.alpha = scalars_, args.beta = static_cast<const char*>(scalars_) + sizeof(double);
    const Problem problem = canonicalize(args, scalars_ != nullptr, kernel().config.compute);
    plan::Plan chosen;
    const Status planned = plan::make_plan(problem, plan::gather_facts(problem), *device_, kernel().name, &chosen);
    if (planned.code == XGEMM_KERNEL_NOT_USABLE) return false;
    EXPECT_TRUE(planned.ok()) << last_error();
    EXPECT_EQ(chosen.kernel, kernel().id());
    if (copies_) chosen.packing = plan::packings_of(problem, plan::gather_facts(problem), *device_).front();
    for (int i = 0; i < shrinks_; ++i)
      if (const auto smaller = plan::in_smaller_blocks(chosen.packing, problem, 64, 64)) chosen.packing = *smaller;
    if (parts_ > 0) {
      const Problem block = chosen.packing.any() ? plan::packed_problem(chosen.packing, problem) : problem;
      chosen = plan::with_sharing(chosen, block, *device_, {whole_tiles_, parts_, cluster_});
    }
    shared_ += chosen.schedule.ctas_per_sm > 1;
    if (before_launch_) before_launch_();
    const Status launched = runtime::launch(chosen, problem, *device_, {cudaStreamPerThread, nullptr, 0});
    EXPECT_TRUE(launched.ok()) << last_error();
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
    return true;
  }

  // The clusters that the instance can form, one after the other.
  void next_cluster() {
    const auto shapes = kernels::describe(kernel().family).clusters(kernel());
    cluster_ = shapes[next_cluster_++ % shapes.size()];
    if (parts_ == 0 && shapes.size() > 1) parts_ = 1;
  }

  // Counts what was served.
  template <class T>
  testing::AssertionResult serve(CallSpec spec, int period = 1) {
    if (emulates()) spec.k = 512 + spec.k % 7000;
    Call<T> call(spec);
    if (!launch(call)) return testing::AssertionSuccess();
    ++served_;
    return call.check(period);
  }
  testing::AssertionResult serve(const CallSpec& spec, int period = 1) {
    return with_type([&](auto element) { return serve<decltype(element)>(spec, period); });
  }

  template <class T>
  void waits_for_what_is_written_late();
  template <class T>
  void special_values();
  template <class T>
  void packs_in_blocks();
  template <class T>
  void agrees_with_itself();
  template <class T>
  void finishes_as_the_pass();

  const device::DeviceInfo* device_ = nullptr;
  int served_ = 0;
  // How the work is shared out, where it is not left to the planner: parts_ is not 0.
  std::int64_t whole_tiles_ = 0;
  int parts_ = 0;
  bool copies_ = false;  // whether operands reach the kernel as copies, whatever the planner thinks of it
  int shrinks_ = 0;      // how often blocks of a packed product are made smaller
  kernels::ClusterShape cluster_;
  std::size_t next_cluster_ = 0;
  int shared_ = 0;                 // launches whose CTAs share SMs
  const void* scalars_ = nullptr;  // alpha, and beta eight bytes behind it, in device memory
  std::function<void()> before_launch_;
};

// Pads that make the leading dimension a multiple of `vector` elements, `steps` vectors more than needed.
std::int64_t pad_to(std::int64_t rows, std::int64_t vector, std::int64_t steps) {
  return (rows + vector - 1) / vector * vector - rows + steps * vector;
}

CallSpec spec_of(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t vector,
                 std::int64_t steps) {
  CallSpec spec{.transa = transa, .transb = transb, .m = m, .n = n, .k = k};
  spec.pad_a = pad_to(transa == 'N' ? m : k, vector, steps);
  spec.pad_b = pad_to(transb == 'N' ? k : n, vector, steps);
  spec.pad_c = pad_to(m, vector, steps);
  // Of a single line, a leading dimension that is off the vectors tells nothing.
  spec.pad_a += (transa == 'N' ? k : m) == 1;
  spec.pad_b += (transb == 'N' ? n : k) == 1;
  spec.pad_c += n == 1;
  spec.shift_a = spec.shift_b = spec.shift_c = steps * vector;
  return spec;
}

constexpr char kFlags[] = {'N', 'T'};
constexpr std::array<float, 2> kScalars[] = {{1, 0}, {-0.5f, 2}, {0, 0}, {1, 1}, {0, 3}, {2, 0}};

TEST_P(Kernels, Edges) {
  const kernels::TileConfig& c = kernel().config;
  const auto edges = [](std::int64_t tile) {
    return std::vector<std::int64_t>{1, tile > 2 ? tile - 1 : 2, tile, tile + 1, 2 * tile + 3};
  };
  std::uint64_t seed = 1;
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (std::int64_t m : edges(c.cta_m))
        for (std::int64_t n : edges(c.cta_n))
          for (std::int64_t k : edges(c.cta_k)) {
            CallSpec spec = spec_of(transa, transb, m, n, k, c.vector, static_cast<std::int64_t>(seed % 2));
            const auto& scalars = kScalars[seed % std::size(kScalars)];
            spec.alpha = scalars[0];
            spec.beta = scalars[1];
            spec.seed = seed++;
            next_cluster();
            ASSERT_TRUE(serve(spec)) << kernel().name << ", clusters of " << cluster_.m << " x " << cluster_.n;
          }
  EXPECT_GE(served_, 125) << kernel().name << " served next to nothing";
}

// Among them columns that start on vectors, and end within one: TMA would write the rest of it.
TEST_P(Kernels, OddAlignments) {
  const kernels::TileConfig& c = kernel().config;
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (std::int64_t pad : {0, 1, 2, 3, 4, 8})
        for (std::int64_t shift : {0, 1, 2, 4, 8})
          for (const auto& scalars : kScalars) {
            CallSpec spec{.transa = transa,
                          .transb = transb,
                          .m = c.cta_m + (pad == 3 ? 5 : 8),
                          .n = c.cta_n + 8,
                          .k = c.cta_k + 8,
                          .alpha = scalars[0],
                          .beta = scalars[1],
                          .pad_a = pad,
                          .pad_b = pad,
                          .pad_c = pad,
                          .shift_a = shift,
                          .shift_b = shift,
                          .shift_c = shift};
            ASSERT_TRUE(serve(spec)) << kernel().name;
          }
  EXPECT_GT(served_, 0);
}

TEST_P(Kernels, SmallBatches) {
  if (emulates()) GTEST_SKIP() << kernel().name << " is for single products";
  const kernels::TileConfig& c = kernel().config;
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (int shared = 0; shared < 4; ++shared)
        for (float beta : {0.0f, 1.0f}) {
          CallSpec spec = spec_of(transa, transb, c.cta_m + 1, c.cta_n - 1, c.cta_k + 1, c.vector, 0);
          spec.beta = beta;
          spec.batch = 3;
          spec.gap = c.vector;
          spec.shares_a = (shared & 1) != 0;
          spec.shares_b = (shared & 2) != 0;
          next_cluster();
          ASSERT_TRUE(serve(spec)) << kernel().name;
        }
  EXPECT_GT(served_, 0);
}

// CTAs that share an SM, as they do where there are many tiles for each: here of a GPU that says to have one.
TEST_P(Kernels, SmallShareAnSm) {
  if (kernel().family != kernels::Family::wgmma_tma ||
      kernels::config_of<kernels::Family::wgmma_tma>(kernel()).most_ctas_per_sm() == 1)
    GTEST_SKIP() << kernel().name << " has an SM for itself";
  device::DeviceInfo small = *device_;
  small.sm_count = small.resident_clusters[0] = 1;
  device_ = &small;
  const kernels::TileConfig& c = kernel().config;
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (std::int64_t k : {c.cta_k - 3, c.cta_k + 1, 3 * c.cta_k, 6 * c.cta_k + 5})
        for (float beta : {0.0f, 1.0f}) {
          CallSpec spec = spec_of(transa, transb, c.cta_m + 1, c.cta_n - 1, k, c.vector, 0);
          spec.beta = beta;
          spec.batch = 9;
          ASSERT_TRUE(serve(spec)) << kernel().name;
        }
  EXPECT_GT(shared_, 0) << "none of these products had an SM shared";
}

// Triangles of C: around the tiles on the diagonal, split along K, in batches. What lies outside stays as it is.
TEST_P(Kernels, SmallTriangles) {
  if (!kernels::describe(kernel().family).triangles) GTEST_SKIP() << kernel().name << " computes all of C";
  const kernels::TileConfig& c = kernel().config;
  const std::int64_t side = std::max(c.cta_m, c.cta_n);
  std::uint64_t seed = 1;
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (Fill fill : {Fill::lower, Fill::upper})
        for (std::int64_t n : {std::int64_t{1}, side - 1, side + 1, 2 * side, 3 * side + 5, 4 * side - 2})
          for (int parts : {0, 3}) {
            CallSpec spec =
                spec_of(transa, transb, n, n, 4 * c.cta_k + 1, c.vector, static_cast<std::int64_t>(seed % 2));
            const auto& scalars = kScalars[seed % std::size(kScalars)];
            spec.alpha = scalars[0];
            spec.beta = scalars[1];
            spec.fill = fill;
            if (seed % 4 == 0) {
              spec.batch = 2;
              spec.gap = c.vector;
            }
            spec.seed = seed++;
            parts_ = parts;
            whole_tiles_ = static_cast<std::int64_t>(seed % 3);
            ASSERT_TRUE(serve(spec)) << kernel().name;
          }
  parts_ = 0;
  EXPECT_GT(served_, 0);
}

// Tiles that are split along K, alone and behind whole ones, into parts that K's slices divide among and that they do
// not.
TEST_P(Kernels, SmallSplits) {
  if (!kernels::describe(kernel().family).splits(kernel())) GTEST_SKIP() << kernel().name << " splits none";
  const kernels::TileConfig& c = kernel().config;
  std::uint64_t seed = 1;
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (int parts : {2, 3, 8, 40})
        for (std::int64_t whole_tiles : {0, 1, 2})
          for (std::int64_t k : {64, 601, 2600}) {
            next_cluster();
            CallSpec spec = spec_of(transa, transb, c.cta_m * cluster_.m + 5, c.cta_n * cluster_.n - 3, k, c.vector,
                                    static_cast<std::int64_t>(seed % 2));
            if (seed % 3 == 0) spec.batch = 2;  // else there are two tiles: a third whole one is none
            if (spec.batch == 1 && whole_tiles > 1) continue;
            const auto& scalars = kScalars[seed % std::size(kScalars)];
            spec.alpha = scalars[0];
            spec.beta = scalars[1];
            spec.seed = seed++;
            parts_ = parts;
            whole_tiles_ = whole_tiles;
            ASSERT_TRUE(serve(spec)) << kernel().name << ", " << whole_tiles << " whole tiles, " << parts << " parts";
          }
  EXPECT_GT(served_, 0);
}

// Operands that reach the kernel as copies, of ever smaller blocks of C.
template <class T>
void Kernels::packs_in_blocks() {
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (const int parts : {1, 3})
        for (const bool shares : {false, true}) {
          CallSpec spec{.transa = transa, .transb = transb, .m = 333, .n = 290, .k = 515, .alpha = -0.5f, .beta = 2};
          spec.pad_a = 1, spec.pad_b = 3, spec.pad_c = 1, spec.shift_b = 1, spec.shift_c = 3;
          spec.batch = 3, spec.gap = 1, spec.shares_a = shares;
          // Those that take op(A) along m get no copies that lie so: it is aligned.
          if (is_tf32() && kernel().config.a_contiguous == kernels::Axis::row) spec.pad_a = 3, spec.gap = 4;
          if (parts > 1 && !kernels::describe(kernel().family).splits(kernel())) continue;
          parts_ = parts;
          shrinks_ = 0;
          Call<T> whole(spec);
          if (!launch(whole)) continue;
          ++served_;
          ASSERT_TRUE(whole.check()) << kernel().name;
          for (shrinks_ = 1; shrinks_ <= 6; ++shrinks_) {
            Call<T> blocks(spec);
            ASSERT_TRUE(launch(blocks));
            ASSERT_TRUE(same_bits(whole.c, blocks.c)) << kernel().name << ", " << shrinks_;
            ASSERT_TRUE(blocks.check()) << kernel().name << ", " << shrinks_;
          }
        }
  EXPECT_GT(served_, 0);
}

TEST_P(Kernels, SmallPackedBlocks) {
  const kernels::TileConfig& config = kernel().config;
  const bool takes_copies = kernels::describe(kernel().family).takes_copies(kernel());
  copies_ = config.type == DType::f32 && config.any_strides && takes_copies;
  const bool wants_vectors = size_of(config.type) == 2 && config.vector > 1 && takes_copies;
  if (!copies_ && !is_tf32() && !wants_vectors) GTEST_SKIP() << "not for copies";
  if (config.vector_c > 1) GTEST_SKIP() << "not for a C of these lines";
  with_type([&](auto element) { packs_in_blocks<decltype(element)>(); });
}

// What fills the edges of a tile must not meet a NaN or an infinity of the matrix.
template <class T>
void Kernels::special_values() {
  const kernels::TileConfig& c = kernel().config;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::int64_t m = c.cta_m + 5, n = c.cta_n + 5, k = 2 * c.cta_k + (emulates() ? 515 : 3);
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (float special : {kInfinity, kNan})
        for (auto [i, l] : {std::array<std::int64_t, 2>{m - 1, k - 1}, {0, 0}, {c.cta_m - 1, k - 1}, {m - 1, 0}})
          for (bool in_a : {true, false}) {
            Call<T> call(spec_of(transa, transb, m, n, k, c.vector, 0));
            auto& operand = in_a ? call.a : call.b;
            next_cluster();
            const bool plain = (in_a ? transa : transb) == 'N';
            const std::int64_t row = in_a ? i : l, col = in_a ? l : i % n;
            Contents contents = operand.contents();
            contents.special_i = plain ? row : col;
            contents.special_j = plain ? col : row;
            contents.special = special;
            operand.refill(contents);
            if (!launch(call)) continue;
            ++served_;
            ASSERT_TRUE(call.check()) << kernel().name;
          }
  EXPECT_GT(served_, 0);
}

TEST_P(Kernels, SmallSpecialValues) {
  with_type([&](auto element) { special_values<decltype(element)>(); });
}

// Fifty runs of one call, each bit of them the same.
template <class T>
void Kernels::agrees_with_itself() {
  const kernels::TileConfig& c = kernel().config;
  for (char transa : kFlags)
    for (char transb : kFlags) {
      CallSpec spec = spec_of(transa, transb, 2 * c.cta_m + 8, 3 * c.cta_n + 8, 2048, c.vector, 0);
      spec.alpha = 1.1f;
      spec.beta = 0.3f;
      Call<T> first(spec), again(spec);
      if (!launch(first)) continue;
      ++served_;
      for (int run = 1; run < 50; ++run) {
        again.c.refill();
        ASSERT_TRUE(launch(again));
        ASSERT_TRUE(same_bits(first.c, again.c)) << kernel().name << " " << spec << ", run " << run;
      }
    }
  EXPECT_GT(served_, 0);
}

// The kernel before lets this one start early, and then writes operands and scalars: whatever is read too early is NaN.
template <class T>
void Kernels::waits_for_what_is_written_late() {
  using Scalar = typename Call<T>::Scalar;
  const kernels::TileConfig& c = kernel().config;
  void* scalars = nullptr;
  XGEMM_CHECK_CUDA(cudaMalloc(&scalars, 4 * sizeof(double)));
  void* const late_scalars = static_cast<char*>(scalars) + 2 * sizeof(double);
  for (int flags = 0; flags < 4; ++flags) {
    const char transa = kFlags[flags / 2], transb = kFlags[flags % 2];
    CallSpec spec = spec_of(transa, transb, c.cta_m + 5, c.cta_n + 3, 2 * c.cta_k + 1, c.vector, 1);
    spec.alpha = -0.5, spec.beta = 2;
    if (emulates()) spec.k = 600;
    Call<T> call(spec), late(spec);
    const Scalar alpha = -0.5, beta = 2;
    XGEMM_CHECK_CUDA(cudaMemcpy(scalars, &alpha, sizeof alpha, cudaMemcpyDefault));
    XGEMM_CHECK_CUDA(cudaMemcpy(static_cast<char*>(scalars) + sizeof(double), &beta, sizeof beta, cudaMemcpyDefault));
    scalars_ = late_scalars;
    if (!launch(call)) continue;  // and is loaded
    ++served_;
    before_launch_ = [&] {
      const std::array<LateCopy, 4> copies = {{{call.a.storage(), late.a.storage(), call.a.bytes()},
                                               {call.b.storage(), late.b.storage(), call.b.bytes()},
                                               {call.c.storage(), late.c.storage(), call.c.bytes()},
                                               {late_scalars, scalars, 2 * sizeof(double)}}};
      for (const LateCopy& copy : copies)
        XGEMM_CHECK_CUDA(cudaMemsetAsync(copy.to, 0xff, copy.bytes, cudaStreamPerThread));
      XGEMM_CHECK_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
      write_late(copies, cudaStreamPerThread);
    };
    EXPECT_TRUE(launch(call));
    before_launch_ = {};
    EXPECT_TRUE(call.check()) << kernel().name << " " << transa << transb;
  }
  scalars_ = nullptr;
  XGEMM_CHECK_CUDA(cudaFree(scalars));
}

TEST_P(Kernels, SmallWaitForWhatIsWrittenLate) {
  with_type([&](auto element) { waits_for_what_is_written_late<decltype(element)>(); });
  EXPECT_GT(served_, 0) << kernel().name;
}

TEST_P(Kernels, FiftyRunsAgreeBitByBit) {
  with_type([&](auto element) { agrees_with_itself<decltype(element)>(); });
}

// An epilogue that the instance computes has the bits that the pass gives it, where sums are exact: of whole tiles, of
// parts of them, and in all clusters.
template <class T>
void Kernels::finishes_as_the_pass() {
  using Output = typename Types<T>::Output;
  const kernels::FamilyInfo& family = kernels::describe(kernel().family);
  const auto flag = [](kernels::Axis contiguous) { return contiguous == kernels::Axis::row ? 'N' : 'T'; };
  const kernels::TileConfig& c = kernel().config;
  const std::int64_t m = 2 * c.cta_m + 8, n = 3 * c.cta_n + 3;
  CallSpec spec = spec_of(flag(c.a_contiguous), flag(c.b_contiguous), m, n, 700, c.vector, 0);
  spec.alpha = -0.7;  // products of sums are rounded
  spec.batch = 2;
  Call<T> in_the_kernel(spec), by_the_pass(spec);
  for (Call<T>* call : {&in_the_kernel, &by_the_pass}) {
    call->a.refill({.seed = 1, .integers = true});
    call->b.refill({.seed = 2, .integers = true});
  }
  const Layout vector{m + n, 1, m + n};
  const Operand<Output> bias(vector, {.seed = 3});
  const Operand<float> scales(vector, {.seed = 4});
  int finished = 0;
  for (const Activation activation :
       {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
    for (const Along along : {Along::none, Along::rows, Along::columns})
      for (const int scaled : {0, 1, 2, 3})
        for (const int way : {0, 1, 2}) {  // the planner's, parts, a cluster
          const auto with_epilogue = [&](const Call<T>& call) {
            Problem p = canonicalize(call.args(), false, Compute::strict);
            p.epilogue.activation = activation;
            p.epilogue.bias_along = along;
            if (along != Along::none) p.epilogue.bias = bias.data();
            if (scaled & 1) p.epilogue.row_scales = scales.data();
            if (scaled & 2) p.epilogue.column_scales = scales.data();
            return p;
          };
          const Problem problem = with_epilogue(in_the_kernel);
          if (!problem.epilogue.any() || !family.finishes(kernel(), problem)) continue;
          ++finished;
          plan::Plan chosen;
          const Status planned =
              plan::make_plan(problem, plan::gather_facts(problem), *device_, kernel().name, &chosen);
          ASSERT_TRUE(planned.ok()) << last_error();
          ASSERT_TRUE(chosen.kernel == kernel().id() && !chosen.needs_pass);
          next_cluster();
          const kernels::Sharing sharing = {0, way == 1 ? 2 : 1, way == 2 ? cluster_ : kernels::ClusterShape{}};
          chosen = plan::with_sharing(chosen, problem, *device_, sharing);
          const runtime::LaunchSettings settings = {cudaStreamPerThread, nullptr, 0};
          in_the_kernel.c.refill(), by_the_pass.c.refill();
          ASSERT_TRUE(runtime::launch(chosen, problem, *device_, settings).ok()) << last_error();
          ASSERT_TRUE(runtime::finished_gemm(with_epilogue(by_the_pass), *device_, settings).ok()) << last_error();
          XGEMM_CHECK_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
          ASSERT_TRUE(same_bits(in_the_kernel.c, by_the_pass.c))
              << kernel().name << " " << to_string(problem) << " way " << way << " cluster " << to_string(cluster_);
        }
  if (finished == 0) GTEST_SKIP() << kernel().name << " finishes none";
}

TEST_P(Kernels, SmallFinishedAsByThePass) {
  with_type([&](auto element) {
    using T = decltype(element);
    if constexpr (sizeof(typename Types<T>::Input) == sizeof(typename Types<T>::Output) && sizeof(T) < 8)
      finishes_as_the_pass<T>();
    else
      GTEST_SKIP() << "fp64 and C in fp32 are not compared";
  });
}

TEST_P(Kernels, Larger) {
  const kernels::TileConfig& c = kernel().config;
  for (char transa : kFlags)
    for (char transb : kFlags) {
      ASSERT_TRUE(serve(spec_of(transa, transb, 1024, 1024, 1024, c.vector, 0), 61)) << kernel().name;
      CallSpec odd = spec_of(transa, transb, 1001, 777, 2003, c.vector, 1);
      odd.alpha = 1.5f;
      odd.beta = -1;
      ASSERT_TRUE(serve(odd, 61)) << kernel().name;
      ASSERT_TRUE(serve(spec_of(transa, transb, 40, 24, 30000, c.vector, 0))) << kernel().name;
    }
  EXPECT_GT(served_, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::Range(0, kernels::count()),
                         [](const testing::TestParamInfo<int>& test) {
                           return std::string(kernels::info(test.param).name);
                         });

}  // namespace
}  // namespace xgemm::gpu_test
