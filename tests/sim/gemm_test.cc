// Every kernel instance of the library against fp64, in the simulator: sizes around all tile edges, all flags it
// serves, odd leading dimensions and pointers, scalars, NaN and Inf, batches, loops over tiles; under two schedules
// each.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "families/family.h"
#include "gemm_cases.h"
#include "kernels.h"
#include "kernels/instances.h"

namespace xgemm::sim {
namespace {

// Tiles of tensor cores are large, and there are many of them of the same make: each instance runs a fifth of its
// cases, of all sorts, and its neighbours in the list run others. Under a sanitizer all of this is ten times slower.
bool tensor_cores(const SimKernel& kernel) {
  return kernel.config.warp_m > 0;
}
std::size_t step_of(const SimKernel& kernel) {
#if defined(__SANITIZE_ADDRESS__)
  return tensor_cores(kernel) ? 25 : 5;
#else
  return tensor_cores(kernel) ? 5 : 1;
#endif
}

class Gemm : public testing::TestWithParam<std::string> {
 protected:
  const SimKernel& kernel() { return *find_kernel(GetParam()); }
  std::size_t place() { return static_cast<std::size_t>(&kernel() - all_kernels().data()); }

  void run(const std::vector<GemmCase>& cases) {
    int failures = 0;
    const std::size_t step = step_of(kernel());
    for (std::size_t i = place() % step; i < cases.size(); i += step) {
      const GemmCase& c = cases[i];
      const std::string wrong = run_case(kernel(), c);
      EXPECT_EQ(wrong, "");
      if (!wrong.empty() && ++failures == 5) break;
    }
  }
};

TEST_P(Gemm, Edges) {
  run(edge_cases(kernel()));
}
TEST_P(Gemm, Scalars) {
  run(scalar_cases(kernel()));
}
TEST_P(Gemm, NanAndInf) {
  run(special_cases(kernel()));
}
TEST_P(Gemm, Batches) {
  run(batch_cases(kernel()));
}

TEST_P(Gemm, LoopsOverTilesAndBatchesThatTheGridDoesNotCover) {
  const auto flags = flags_of(kernel().config).front();
  GemmCase c{.transa = flags[0],
             .transb = flags[1],
             .m = 2 * kernel().config.cta_m + 1,
             .n = 2 * kernel().config.cta_n + 1,
             .k = kernel().config.cta_k + 1,
             .batch = 3,
             .alpha = 1,
             .beta = -0.7f};
  std::vector<Order> orders = {Order::forward, Order::reverse, Order::random};
  if (tensor_cores(kernel())) orders = {orders[place() % orders.size()]};
  for (const Order order : orders) {
    Options options;
    options.order = order;
    options.max_grid_x = 2;
    options.max_grid_z = 2;
    EXPECT_EQ(run_case(kernel(), c, options), "");
  }
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

std::vector<std::string> names(bool any_strides_only) {
  std::vector<std::string> result;
  for (const SimKernel& kernel : all_kernels())
    if (!any_strides_only || kernel.config.any_strides) result.push_back(kernel.name);
  return result;
}
constexpr auto kName = [](const auto& row) { return row.param; };
INSTANTIATE_TEST_SUITE_P(, Gemm, testing::ValuesIn(names(false)), kName);
INSTANTIATE_TEST_SUITE_P(, AnyStrides, testing::ValuesIn(names(true)), kName);

// The cases tell a wrong kernel from a right one: naive with one thing changed.
enum class Wrong { nothing, drops_last_k, reads_c, ignores_beta, swaps_scalars, writes_below_m };

template <Wrong kWrong>
struct WrongKernel {
  using Element = float;
  static constexpr int kThreads = 32;
  using SharedStorage = kernels::NoSharedStorage;
  static kernels::GridDim grid(const kernels::GemmParams& p) { return kernels::tile_grid<32, 1>(p); }
  static void run(const kernels::GemmParams& p, SharedStorage&) {
    auto epilogue = kernels::Epilogue<float>::make(p);
    const std::int64_t depth = epilogue.effective_k(p) - (kWrong == Wrong::drops_last_k ? 1 : 0);
    if (kWrong == Wrong::ignores_beta) epilogue.beta = 0.0f;
    if (kWrong == Wrong::swaps_scalars) std::swap(epilogue.alpha, epilogue.beta);
    kernels::for_each_tile<32, 1, 1>(p, [&](std::int64_t batch, std::int64_t tile_m, std::int64_t j) {
      constexpr auto kAny = kernels::Contiguous::none;
      const auto a = kernels::global_view<const float, kAny>(p.a, p.m, p.k, batch);
      const auto b = kernels::global_view<const float, kAny>(p.b, p.k, p.n, batch);
      const auto c = kernels::global_view<float, kAny>(p.c, p.m, p.n, batch);
      const std::int64_t i = tile_m * 32 + gpu::thread_index();
      if (i >= p.m + (kWrong == Wrong::writes_below_m ? 1 : 0)) return;
      float acc = 0.0f;
      for (std::int64_t k = 0; k < depth; ++k) acc = gpu::fma(a.get(i, k), b.get(k, j), acc);
      const bool reads = kWrong == Wrong::reads_c || epilogue.reads_c();
      c(i, j) = epilogue.combine(acc, reads ? c.get(i, j) : 0.0f);
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

// wgmma_tma is not: TMA and wgmma have no counterpart in the simulator.
TEST(Instances, AreAllInTheSimulator) {
  int simulated = 0;
  for (int i = 0; i < kernels::count(); ++i) {
    const kernels::KernelInfo& info = kernels::info(i);
    if (info.family == kernels::Family::wgmma_tma) continue;
    ++simulated;
    const SimKernel* kernel = find_kernel(info.name);
    ASSERT_NE(kernel, nullptr) << info.name << " has no row in tests/sim/families";
    EXPECT_EQ(kernel->config, info.config) << info.name;
    EXPECT_STREQ(kernel->family, kernels::name_of(info.family)) << info.name;
  }
  EXPECT_EQ(static_cast<int>(all_kernels().size()), simulated);
}

}  // namespace
}  // namespace xgemm::sim
