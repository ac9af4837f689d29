// Every kernel instance of the library against fp64, in the simulator: sizes around all tile edges, all flags it
// serves, odd leading dimensions and pointers, scalars, NaN and Inf, batches, loops over tiles; under two schedules
// each.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "gemm_cases.h"
#include "kernels.h"
#include "kernels/instances.h"

namespace xgemm::sim {
namespace {

class Gemm : public testing::TestWithParam<std::string> {
 protected:
  const SimKernel& kernel() { return *find_kernel(GetParam()); }

  void run(const std::vector<GemmCase>& cases) {
    int failures = 0;
    for (const GemmCase& c : cases) {
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
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
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
