// Every kernel instance of the library against fp64, in the simulator: sizes around all tile edges, all flags it
// serves, odd leading dimensions and pointers, scalars, NaN and Inf, batches, loops over tiles; under two schedules
// each. An instance runs a share of these cases, by what they take, and its neighbours in the list run others.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "families/family.h"
#include "gemm_cases.h"
#include "kernels.h"
#include "kernels/family.h"
#include "support/matrix.h"

namespace xgemm::sim {
namespace {

using test::Random;

// Tiles of tensor cores are large, and there are many of them of the same make: each instance runs a fifth of its
// cases, of all sorts, and its neighbours in the list run others.
bool tensor_cores(const SimKernel& kernel) {
  return kernel.config.warp_m > 0;
}
// So do a third where slices of K are so long that cases are.
std::size_t step_of(const SimKernel& kernel) {
  return tensor_cores(kernel) ? 5 : kernel.config.cta_k > 128 ? 3 : 1;
}

// Hundreds of instances. Each, as each of any kernel, runs as many cases as a budget of time allows, drawn anew for
// each, so that the list as a whole meets all sorts of them; theirs is smaller.
bool persistent(const SimKernel& kernel) {
  return kernel.config.copy == kernels::Copy::bulk;
}

// The clusters that an instance can form; of those that are not in this build, none.
std::vector<kernels::ClusterShape> clusters_of(const SimKernel& kernel) {
  for (int i = 0; i < kernels::count(); ++i)
    if (kernels::info(i).name == std::string_view(kernel.name)) {
      const auto shapes = kernels::describe(kernels::info(i).family).clusters(kernels::info(i));
      return {shapes.begin(), shapes.end()};
    }
  return {{1, 1}};
}

class Gemm : public testing::TestWithParam<std::string> {
 protected:
  const SimKernel& kernel() { return *find_kernel(GetParam()); }
  std::size_t place() { return static_cast<std::size_t>(&kernel() - all_kernels().data()); }

  static const kernels::KernelInfo& info_of(const SimKernel& kernel) {
    int i = 0;
    while (std::string(kernels::info(i).name) != kernel.name) ++i;
    return kernels::info(i);
  }

  // Of the shapes that an instance can form one after the other; its neighbours in the list begin with others. Products
  // that fill a cluster of large tiles take long: where they are to, not more than so many elements.
  kernels::ClusterShape cluster(std::size_t number, int elements = 1 << 30) {
    const bool many_threads = info_of(kernel()).threads >= 1024;  // which meet at barriers again and again
    std::vector<kernels::ClusterShape> shapes = clusters_of(kernel());
    std::erase_if(shapes, [&](const kernels::ClusterShape& shape) {
      return (many_threads && shape.size() > 2) ||
             (shape.size() > 1 && shape.size() * kernel().config.cta_m * kernel().config.cta_n > elements);
    });
    return shapes[(place() + number) % shapes.size()];
  }

  // Matrices that are found by pointers are not shared along a K that does not end with a slice (TensorBox::anywhere).
  bool may_share(const GemmCase& c) {
    return c.pointers == Pointers::none || !persistent(kernel()) || c.k % kernel().config.cta_k == 0;
  }

  // milliseconds: what these cases may take of an instance of a persistent kernel, of which there are hundreds. Others
  // have fewer, and those that take any flags and alignment stand for as many as there are ways to load.
  void run(std::vector<GemmCase> cases, double milliseconds) {
    run(std::move(cases), milliseconds, [&](const GemmCase& c) { return run_case(kernel(), c); });
  }
  template <class RunOne>
  void run(std::vector<GemmCase> cases, double milliseconds, const RunOne& run_one) {
    for (std::size_t i = 0; i < cases.size(); ++i)
      if (cases[i].parts == 1 && may_share(cases[i])) cases[i].cluster = cluster(i);
    const std::string_view family = kernel().family;
    if (family == "wgmma_words" || family == "ffma_tma") {  // persistent, for any alignment
      milliseconds *= 4;
    } else if (!persistent(kernel())) {
      milliseconds *= 8;
    }
    ASSERT_FALSE(cases.empty());
    std::vector<GemmCase> some;
    for (std::size_t i = place() % std::min(step(), cases.size()); i < cases.size(); i += step())
      some.push_back(cases[i]);
    int failures = 0;
    for (const GemmCase& c : share_of(std::move(some), kernel(), place(), milliseconds)) {
      const std::string wrong = run_one(c);
      EXPECT_EQ(wrong, "");
      if (!wrong.empty() && ++failures == 5) break;
    }
  }

 private:
  std::size_t step() { return persistent(kernel()) ? 1 : step_of(kernel()); }
};

TEST_P(Gemm, Edges) {
  run(edge_cases(kernel()), 60);
}
TEST_P(Gemm, Scalars) {
  run(scalar_cases(kernel()), 40);
}
TEST_P(Gemm, NanAndInf) {
  run(special_cases(kernel()), 30);
}
TEST_P(Gemm, Batches) {
  run(batch_cases(kernel()), 30);
}

// Kernels of one instance for every alignment: every distance of the first line from a vector, and from line to line,
// of one matrix and of batches whose matrices lie alike.
TEST_P(Gemm, LinesThatStartAnywhere) {
  if (kernel().family != std::string_view("ffma_tma")) GTEST_SKIP() << "takes what its config says";
  const kernels::TileConfig& config = kernel().config;
  std::vector<GemmCase> cases;
  for (int pad = 0; pad < 4; ++pad)
    for (int shift = 0; shift < 4; ++shift)
      for (const std::string& flags : flags_of(config)) {
        GemmCase c = {.transa = flags[0], .transb = flags[1]};
        c.m = config.cta_m + 4 * shift + 3;
        c.n = config.cta_n - 4 * pad - 1;
        c.k = 2 * config.cta_k + 11;
        c.ld_pad = pad;
        c.shift = shift;
        c.batch = 1 + (pad + shift) % 2;
        c.beta = pad % 2 == 0 ? 0 : -0.7;
        c.seed = cases.size();
        cases.push_back(c);
      }
  run(cases, 60);
}

// Kernels for vectors find out themselves what lies on 16 bytes.
TEST_P(Gemm, FewColumnsOn16Bytes) {
  if (kernel().family != std::string_view("skinny") || kernel().config.vector > 1)
    GTEST_SKIP() << "takes what its config says";
  run(few_columns_cases(kernel()), 40);
}

TEST_P(Gemm, Triangles) {
  const kernels::KernelInfo& own = info_of(kernel());
  if (!kernels::describe(own.family).triangles) GTEST_SKIP() << "computes all of C";
  std::vector<GemmCase> cases = triangle_cases(kernel());
  if (!kernels::describe(own.family).splits(own))
    for (GemmCase& c : cases) c.parts = 1, c.whole_tiles = 0;
  run(cases, 60);
}

TEST_P(Gemm, LoopsOverTilesAndBatchesThatTheGridDoesNotCover) {
  const auto flags = flags_of(kernel().config).front();
  const bool many_threads = info_of(kernel()).threads >= 1024;
  GemmCase c{.transa = flags[0],
             .transb = flags[1],
             .m = 2 * kernel().config.cta_m + 1,
             .n = few(kernel(), (many_threads ? 1 : 2) * kernel().config.cta_n + 1),
             .k = kernel().config.cta_k + 1,
             .batch = many_threads ? 2 : 3,
             .alpha = 1,
             .beta = -0.7f,
             .cluster = cluster(0)};
  constexpr Order kOrders[] = {Order::forward, Order::reverse, Order::random};  // of neighbours in the list others
  Options options;
  options.order = kOrders[place() % std::size(kOrders)];
  options.max_grid_x = 2;
  EXPECT_EQ(run_case(kernel(), c, options), "");
}

// Matrices of a batch by pointers.
class ByPointers : public Gemm {};

TEST_P(ByPointers, LeadAnywhereOrToVectors) {
  const kernels::KernelInfo& own = info_of(kernel());
  std::vector<GemmCase> cases = pointer_cases(kernel());
  if (!kernels::describe(own.family).splits(own))
    for (GemmCase& c : cases) c.parts = 1;
  run(cases, 70);
}

// Of whose C a triangle is computed.
TEST_P(ByPointers, Triangles) {
  const kernels::KernelInfo& own = info_of(kernel());
  if (!kernels::describe(own.family).triangles) GTEST_SKIP() << "computes all of C";
  std::vector<GemmCase> cases = triangle_cases(kernel());
  constexpr Pointers kAll[] = {Pointers::to_some, Pointers::anywhere, Pointers::to_vectors};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    GemmCase& c = cases[i];
    c.batch = 3, c.pointers = kAll[i % std::size(kAll)], c.shift = 0;
    c.seed = 2 * i + 1;
    if (!kernels::describe(own.family).splits(own)) c.parts = 1, c.whole_tiles = 0;
  }
  run(cases, 60);
}

class AnyStrides : public Gemm {};

TEST_P(AnyStrides, NoAxisContiguous) {
  for (const std::string& flags : flags_of(kernel().config))
    for (const int spread : {2, 5}) {
      const GemmCase c{.transa = flags[0],
                       .transb = flags[1],
                       .m = 37,
                       .n = 19,
                       .k = 7,
                       .alpha = -0.7f,
                       .beta = 1,
                       .ld_pad = 1,
                       .shift = 1,
                       .spread = spread};
      EXPECT_EQ(run_case(kernel(), c), "");
    }
}

// Where tiles are split along K, a second kernel adds the sums of their parts.
class Split : public Gemm {};
constexpr int kMostOfACluster = 128 * 1024;  // elements of C

TEST_P(Split, AlongK) {
  const kernels::TileConfig& config = kernel().config;
  const auto flags = flags_of(config).front();
  std::vector<GemmCase> cases;
  for (const int slices : {2, 3, 4, 9, 20})
    for (const int parts : {2, 3, 4, 7, 9, 20})  // several threads share eight or more parts of an element
      for (const int whole : {0, 1}) {
        if (parts > slices) continue;
        const auto number = cases.size();
        // Of many parts it is their sums that are looked at. In clusters there is one that the simulator reports:
        // twenty parts of C in fp32 off 16 bytes with old C, where it sees no order between who brought that and TMA.
        const kernels::ClusterShape shape = parts > 7 ? kernels::ClusterShape{} : cluster(number, kMostOfACluster);
        cases.push_back({.transa = flags[0],
                         .transb = flags[1],
                         .m = config.cta_m * shape.m + static_cast<int>(number % 9),
                         .n = config.cta_n * shape.n + 1,
                         .k = slices * config.cta_k - 1,
                         .batch = number % 5 == 0 ? 2 : 1,
                         .alpha = -0.7f,
                         .beta = number % 3 == 0 ? 1.0f : 0.0f,
                         .device_scalars = number % 7 == 0,
                         .ld_pad = 1,
                         .whole_tiles = whole,
                         .parts = parts,
                         .cluster = shape,
                         .seed = number + 1});
      }
  run(cases, 30);
}

// With less memory for the sums of parts than all of them need, a product is computed in several launches: with the
// same bits.
class Pieces : public Split {};

TEST_P(Pieces, GiveTheSameBits) {
  const kernels::TileConfig& config = kernel().config;
  const kernels::ClusterShape shape = cluster(0, kMostOfACluster);
  const auto flags = flags_of(config).front();
  const int bytes = size_of(config.type), bytes_c = size_of(config.type_c);
  const std::int64_t m = config.cta_m * shape.m + 16, n = config.cta_n * shape.n + 16;
  const std::int64_t k = std::max(4 * config.cta_k, 32) + 16;
  Random random(7);
  // Ones and a bit in every type, as raw words.
  const auto filled = [&](std::int64_t elements, int size) {
    std::vector<gpu::Vector<float, 4>> words(static_cast<std::size_t>(elements * size / 16 + 1));
    for (auto& word : words)
      for (float& x : word.data) {
        const auto bits =
            static_cast<std::uint32_t>(0x38003c00 + (random.integer(0, 0x3ff) << 16) + random.integer(0, 0x3ff));
        std::memcpy(&x, &bits, sizeof x);
      }
    return words;
  };
  const auto a = filled(m * k, bytes), b = filled(k * n, bytes), c = filled(m * n, bytes_c);
  kernels::GemmParams p{};
  p.a.data = a.data(), p.b.data = b.data();
  p.a.row_stride = flags[0] == 'N' ? 1 : k, p.a.col_stride = flags[0] == 'N' ? m : 1;
  p.b.row_stride = flags[1] == 'N' ? 1 : n, p.b.col_stride = flags[1] == 'N' ? k : 1;
  p.m = m, p.n = n, p.k = k, p.batch_count = 1;
  const DType sums = sums_of(config.type);
  const auto factor = [sums](double x) {
    return sums == DType::f64 ? kernels::Factor::of(x) : kernels::Factor::of(static_cast<float>(x));
  };
  p.alpha = factor(0.7), p.beta = factor(-0.3);
  Options options;
  options.whole_tiles = 1;
  options.parts = 3;
  options.cluster = shape;
  const auto result_in = [&](std::size_t room) {
    auto out = c;
    p.c = {out.data(), 1, m, 0};
    options.workspace_bytes = room;
    const Result result = kernel().run(p, options);
    EXPECT_TRUE(result.ok()) << result.summary();
    return out;
  };
  const auto same = [&](const auto& x, const auto& y) { return std::memcmp(x.data(), y.data(), x.size() * 16) == 0; };
  const auto at_once = result_in(0);
  EXPECT_FALSE(same(at_once, c));
  const auto tile = static_cast<std::size_t>(size_of(sums) * 3 * config.cta_m * shape.m * config.cta_n * shape.n);
  EXPECT_TRUE(same(at_once, result_in(tile)));
  EXPECT_TRUE(same(at_once, result_in(2 * tile + tile / 2)));
}

std::vector<std::string> names_of_splittable() {
  std::vector<std::string> result;
  for (int i = 0; i < kernels::count(); ++i) {
    const kernels::KernelInfo& info = kernels::info(i);
    if (kernels::describe(info.family).splits(info) && find_kernel(info.name) != nullptr) result.push_back(info.name);
  }
  return result;
}
// The instances of a persistent kernel are many and alike.
std::vector<std::string> some_of_splittable() {
  std::vector<std::string> result;
  int persistent_before = 0;
  for (const std::string& name : names_of_splittable())
    if (!persistent(*find_kernel(name)) || persistent_before++ % 16 == 0) result.push_back(name);
  return result;
}
INSTANTIATE_TEST_SUITE_P(, Pieces, testing::ValuesIn(some_of_splittable()), [](const auto& row) { return row.param; });
INSTANTIATE_TEST_SUITE_P(, Split, testing::ValuesIn(names_of_splittable()), [](const auto& row) { return row.param; });

std::vector<std::string> names(bool any_strides_only) {
  std::vector<std::string> result;
  for (const SimKernel& kernel : all_kernels())
    if (!any_strides_only || kernel.config.any_strides) result.push_back(kernel.name);
  return result;
}
std::vector<std::string> names_following() {
  std::vector<std::string> result;
  for (int i = 0; i < kernels::count(); ++i) {
    const kernels::KernelInfo& info = kernels::info(i);
    if (kernels::describe(info.family).follows(info) && find_kernel(info.name) != nullptr) result.push_back(info.name);
  }
  return result;
}
constexpr auto kName = [](const auto& row) { return row.param; };
INSTANTIATE_TEST_SUITE_P(, Gemm, testing::ValuesIn(names(false)), kName);
INSTANTIATE_TEST_SUITE_P(, ByPointers, testing::ValuesIn(names_following()), kName);
INSTANTIATE_TEST_SUITE_P(, AnyStrides, testing::ValuesIn(names(true)), kName);

// The cases tell a wrong kernel from a right one: naive with one thing changed.
enum class Wrong { nothing, drops_last_k, reads_c, ignores_beta, swaps_scalars, writes_below_m };

template <Wrong kWrong>
struct WrongKernel {
  using Element = float;
  using ElementC = float;
  static constexpr int kThreads = 32;
  using SharedStorage = kernels::NoSharedStorage;
  static constexpr kernels::TileConfig kInstance{.cta_m = 32, .cta_n = 1, .cta_k = 4, .any_strides = true};
  static void run(const kernels::TileParams& p, SharedStorage&) {
    auto epilogue = kernels::LinearCombination::make(p);
    if (kWrong == Wrong::ignores_beta) epilogue.beta = 0.0f;
    if (kWrong == Wrong::swaps_scalars) std::swap(epilogue.alpha, epilogue.beta);
    kernels::for_each_unit<32, 1, 4>(p, epilogue.has_product, [&](const kernels::Unit& unit) {
      constexpr auto kAny = kernels::Contiguous::none;
      const auto a = kernels::global_view<const float, kAny>(p.a, p.m, p.k, unit.batch);
      const auto b = kernels::global_view<const float, kAny>(p.b, p.k, p.n, unit.batch);
      const auto c = kernels::global_view<float, kAny>(p.c, p.m, p.n, unit.batch);
      const std::int64_t i = unit.row + gpu::thread_index(), j = unit.col;
      const std::int64_t depth = unit.depth - (kWrong == Wrong::drops_last_k ? 1 : 0);
      if (i >= p.m + (kWrong == Wrong::writes_below_m ? 1 : 0)) return;
      float acc = 0.0f;
      for (std::int64_t k = 0; k < depth; ++k) acc = gpu::fma(a.get(i, k), b.get(k, j), acc);
      const bool reads = kWrong == Wrong::reads_c || epilogue.reads_c();
      c(i, j) = reads ? epilogue.template apply<true>(acc, c.get(i, j), i, j, p)
                      : epilogue.template apply<false>(acc, 0.0f, i, j, p);
    });
  }
};

template <Wrong kWrong>
bool passes() {
  const kernels::TileConfig config{.cta_m = 32, .cta_n = 1, .cta_k = 4, .any_strides = true};
  const SimKernel kernel = make_sim_kernel<WrongKernel<kWrong>>("wrong", "naive", config);
  for (const auto& cases : {edge_cases(kernel), scalar_cases(kernel), special_cases(kernel), batch_cases(kernel)})
    for (const GemmCase& c : cases)
      if (!run_case(kernel, c).empty()) return false;
  return true;
}

TEST(Cases, TellAWrongKernelFromARightOne) {
  EXPECT_TRUE(passes<Wrong::nothing>());
  EXPECT_FALSE(passes<Wrong::drops_last_k>());
  EXPECT_FALSE(passes<Wrong::reads_c>());
  EXPECT_FALSE(passes<Wrong::ignores_beta>());
  EXPECT_FALSE(passes<Wrong::swaps_scalars>());
  EXPECT_FALSE(passes<Wrong::writes_below_m>());
}

TEST(Instances, AreAllInTheSimulator) {
  for (int i = 0; i < kernels::count(); ++i) {
    const kernels::KernelInfo& info = kernels::info(i);
    const SimKernel* kernel = find_kernel(info.name);
    ASSERT_NE(kernel, nullptr) << info.name << " has no row in tests/sim/families";
    EXPECT_EQ(kernel->config, info.config) << info.name;
    EXPECT_STREQ(kernel->family, kernels::name_of(info.family)) << info.name;
  }
  // A library for other architectures lacks some.
  EXPECT_GE(static_cast<int>(all_kernels().size()), kernels::count());
}

}  // namespace
}  // namespace xgemm::sim
