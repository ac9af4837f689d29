// Products as test cases for a kernel in the simulator: operands with odd strides between guards, an fp64 reference,
// and one function that runs a case and says what is wrong with it. Any kernel struct takes part:
//
//     const SimKernel kernel = make_sim_kernel<MyKernel<kConfig>>("mine", "mine", kConfig);
//     EXPECT_EQ(run_case(kernel, {.m = 33, .n = 17, .k = 5, .beta = -0.7f}), "");
//
// The instances of the library take part in gemm_test.cc without a line being added.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fill.h"
#include "kernels.h"
#include "sim/options.h"

namespace xgemm::sim {

enum class Fill {
  uniform,  // in [-1, 1)
  special,  // the same with NaN, Inf and huge values strewn in: what they reach must be what the reference reaches
};

// Whether the matrices of a batch are found by pointers, and where these lead: in another order than memory's.
enum class Pointers {
  none,
  to_vectors,
  to_some,  // matrices of A, of B and of C that start off vectors, each of another entry
  anywhere  // each starts at another element
};

struct GemmCase {
  char transa = 'N', transb = 'N';
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t batch = 1;
  double alpha = 1, beta = 0;  // rounded to the type of sums
  bool device_scalars = false;
  // Leading dimensions exceed the least value by this many vectors of the kernel, pointers start this many vectors
  // after an alignment of 128 bytes. With vectors of one element: any odd value.
  int ld_pad = 0;
  int shift = 0;
  // Elements between neighbours along the contiguous axis, for kernels that take any strides.
  int spread = 1;
  bool joint = false;                        // matrices of a batch follow one another without a gap
  xgemm::Fill triangle = xgemm::Fill::full;  // of C, which is square then
  std::int64_t whole_tiles = 0;
  int parts = 1;                       // of the tiles after those, along K: kernels that can split
  kernels::ClusterShape cluster = {};  // kernels that form them
  Pointers pointers = Pointers::none;
  Fill fill = Fill::uniform;
  std::uint64_t seed = 1;
};

std::string to_string(const GemmCase& c);

// "" or what was wrong: faults of the simulator, a wrong element, a guard that was written, different bits.
// Runs under forward order and under a random one seeded by the case, and demands the same bits from both.
std::string run_case(const SimKernel& kernel, const GemmCase& c);

// The same under one schedule; the counters go to *counters.
std::string run_case(const SimKernel& kernel, const GemmCase& c, const Options& options, Counters* counters = nullptr);

// The cases that a kernel has to pass.
struct Sizes {
  std::vector<std::int64_t> m, n, k;
};
Sizes edge_sizes(const kernels::TileConfig& config);
std::vector<std::string> flags_of(const kernels::TileConfig& config);  // "NN", …: the flag pairs it serves
std::vector<GemmCase> edge_cases(const SimKernel& kernel);             // sizes around all tile edges
std::vector<GemmCase> scalar_cases(const SimKernel& kernel);           // alpha, beta in {0, 1, -0.7}, host and device
std::vector<GemmCase> special_cases(const SimKernel& kernel);          // NaN, Inf
std::vector<GemmCase> batch_cases(const SimKernel& kernel);
std::vector<GemmCase> few_columns_cases(const SimKernel& kernel);
std::vector<GemmCase> triangle_cases(const SimKernel& kernel);
std::vector<GemmCase> pointer_cases(const SimKernel& kernel);

// So many columns, or fewer, of a kernel with a tile of hundreds of rows and a task for each column.
std::int64_t few(const SimKernel& kernel, std::int64_t columns);

// Some of the cases, of all sorts: about as many as take so long. Another place in the list of kernels gets others.
std::vector<GemmCase> share_of(std::vector<GemmCase> cases, const SimKernel& kernel, std::size_t place,
                               double milliseconds);

}  // namespace xgemm::sim
