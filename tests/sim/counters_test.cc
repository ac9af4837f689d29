// Counters: the cost model on requests whose cost is known, and what the library's kernels are claimed to do to memory.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gemm_cases.h"
#include "kernels.h"
#include "kernels/common/kernel.cuh"
#include "kernels/mma_lines/instances.h"
#include "kernels/skinny/instances.h"
#include "sim/launch.h"

namespace xgemm::sim {
namespace {

std::array<LaneAccess, 32> lanes(const std::function<std::uint64_t(std::uint64_t)>& address) {
  std::array<LaneAccess, 32> result;
  for (std::uint64_t lane = 0; lane < 32; ++lane) result[lane] = {true, address(lane)};
  return result;
}

void expect_cost(const Cost& cost, std::int64_t units, std::int64_t ideal) {
  EXPECT_EQ(cost.units, units);
  EXPECT_EQ(cost.ideal, ideal);
}

TEST(SharedCost, OneWordPerLane) {
  expect_cost(shared_cost(lanes([](auto i) { return 4 * i; }), 4), 1, 1);         // neighbours
  expect_cost(shared_cost(lanes([](auto i) { return 4 * (31 - i); }), 4), 1, 1);  // in any order
  expect_cost(shared_cost(lanes([](auto) { return 64; }), 4), 1, 1);              // all the same: a broadcast
  expect_cost(shared_cost(lanes([](auto i) { return 8 * i; }), 4), 2, 1);         // every other bank
  expect_cost(shared_cost(lanes([](auto i) { return 128 * i; }), 4), 32, 1);      // all in one bank
  expect_cost(shared_cost(lanes([](auto i) { return 132 * i; }), 4), 1, 1);       // the same with a padded row
  expect_cost(shared_cost(lanes([](auto i) { return i < 16 ? 4 * i : 128 + 4 * i; }), 4), 1, 1);
}

TEST(SharedCost, HalvesOfAWordAreOneWord) {
  expect_cost(shared_cost(lanes([](auto i) { return 2 * i; }), 2), 1, 1);
  expect_cost(shared_cost(lanes([](auto i) { return 128 * (i / 2) + 2 * (i % 2); }), 2), 16, 1);
}

TEST(SharedCost, WideAccessesGoInParts) {
  expect_cost(shared_cost(lanes([](auto i) { return 8 * i; }), 8), 2, 2);
  expect_cost(shared_cost(lanes([](auto i) { return 16 * i; }), 16), 4, 4);
  expect_cost(shared_cost(lanes([](auto i) { return 32 * i; }), 16), 8, 4);
  expect_cost(shared_cost(lanes([](auto i) { return 64 * i; }), 16), 16, 4);  // rows of 32 halves without padding
  expect_cost(shared_cost(lanes([](auto i) { return 80 * i; }), 16), 4, 4);   // padded by 8 halves
}

TEST(SharedCost, InactiveLanesCostNothing) {
  auto half = lanes([](auto i) { return 16 * i; });
  for (std::size_t i = 8; i < 32; ++i) half[i].active = false;
  expect_cost(shared_cost(half, 16), 1, 1);
}

TEST(GlobalCost, Sectors) {
  expect_cost(global_cost(lanes([](auto i) { return 1024 + 4 * i; }), 4), 4, 4);
  expect_cost(global_cost(lanes([](auto i) { return 1028 + 4 * i; }), 4), 5, 4);  // misses a sector boundary
  expect_cost(global_cost(lanes([](auto i) { return 1024 + 8 * i; }), 4), 8, 4);  // every other element
  expect_cost(global_cost(lanes([](auto i) { return 4096 * i; }), 4), 32, 4);     // a row of a column-major matrix
  expect_cost(global_cost(lanes([](auto i) { return 1024 + 16 * i; }), 16), 16, 16);
  expect_cost(global_cost(lanes([](auto) { return 1024; }), 4), 1, 1);
  expect_cost(global_cost(lanes([](auto i) { return 1024 + 2 * i; }), 2), 2, 2);
}

// A request is put together from lanes that ran at different times, some of which skipped it.
TEST(Counting, MatchesLanesOfAWarp) {
  alignas(128) static std::array<float, 1024> x{};
  for (const Order order : {Order::forward, Order::random}) {
    GlobalMemory memory;
    memory.add({"x", x.data(), 4, 1024, 1, 1, 1, 1024, 0, Access::read});
    Options options;
    options.order = order;
    options.preempt_every = 2;
    options.count = true;
    LaunchShape shape;
    shape.threads = 64;
    const Result result = launch_body(shape, memory, options, [&](unsigned char*) {
      const kernels::MatrixView<const float, gpu::Space::global, int, int, kernels::Int<1>, int> v(x.data(), 70, 1, {},
                                                                                                   1);
      for (int round = 0; round < 3; ++round) (void)v.load_or_zero<1>(gpu::thread_index() + 20 * round, 0);
    });
    ASSERT_TRUE(result.ok()) << result.summary();
    // Threads 0 to 63 at offsets 0, 20 and 40 of 70 elements: warp 0 reads 32, 32, 30 elements, warp 1 32, 18, 0.
    const LineCounters total = result.counters.total(Traffic::global_load);
    EXPECT_EQ(total.requests, 5);
    EXPECT_EQ(total.ideal, 4 + 4 + 4 + 4 + 3);
    EXPECT_EQ(total.units, 4 + 5 + 4 + 4 + 3);  // 20 elements are two sectors and a half
  }
}

// ---- Claims about kernels ----

class Kernel : public testing::TestWithParam<std::string> {
 protected:
  const SimKernel& kernel() { return *find_kernel(GetParam()); }

  // Two CTA tiles each way, several slices of K, operands aligned but for the shift.
  Counters count(int shift = 0, float beta = 0) {
    const auto flags = flags_of(kernel().config).front();
    const GemmCase c{.transa = flags[0],
                     .transb = flags[1],
                     .m = 2 * kernel().config.cta_m,
                     .n = 2 * kernel().config.cta_n,
                     .k = 64,
                     .beta = beta,
                     .shift = shift};
    return count(c);
  }
  Counters count(const GemmCase& c) {
    Options options;
    options.count = true;
    Counters counters;
    EXPECT_EQ(run_case(kernel(), c, options, &counters), "");
    return counters;
  }
};

// Of operands that start anywhere, chunks of 16 bytes are put together from aligned pieces.
bool shifts(const SimKernel& kernel) {
  return std::string_view(kernel.family) == "mma_swizzled" && kernel.config.copy == kernels::Copy::prefetch;
}

TEST_P(Kernel, MovesFullSectors) {
  const Counters counters = count();
  const kernels::TileConfig& config = kernel().config;
  if (config.single_a || config.single_b) {
    // What is four elements wide has half a sector in a line, of the narrow operand and of C; the streamed one is much
    // more than here, where it is as short.
    EXPECT_LE(counters.total(Traffic::global_load).ratio(), 1.25);
    EXPECT_LE(counters.total(Traffic::global_store).ratio(), 4.0);
    return;
  }
  if (shifts(kernel())) {
    // 8 bytes of each 16 in a line, three times over: the first time brings the sectors.
    EXPECT_LE(counters.total(Traffic::global_load).ratio(), 2.15);
    EXPECT_EQ(counters.total(Traffic::global_store).ratio(), 1.0);
    return;
  }
  EXPECT_EQ(counters.total(Traffic::global_load).ratio(), 1.0);
  // A thread of a thread tile owns four neighbouring rows; one vector writes them, or as many narrower stores as it
  // takes, each of which passes over the sectors of them all.
  const int stores = config.thread_m > 1 ? std::max(1, 4 / config.vector) : 1;
  const int half_sectors = config.cta_m == 4 ? 2 : 1;  // a column of such a C has half a one
  EXPECT_EQ(counters.total(Traffic::global_store).ratio(), stores * half_sectors);
}

// Lanes read neighbouring banks or share a word, the padding of a transposed tile spreads its columns over all banks,
// and permuted lines of 16-bit elements have no conflict in either direction.
class WithoutConflicts : public Kernel {};
TEST_P(WithoutConflicts, InSharedMemory) {
  const Counters aligned = count();
  if (shifts(kernel())) {
    // Ends of lines, and sums that leave by elements for columns that start anywhere: of fp32, two lanes to a bank.
    for (const Counters& counters : {aligned, count(1, 0.5f)}) {
      const bool wide = kernel().config.type_c == DType::f32;
      EXPECT_LE(counters.total(Traffic::shared_load).ratio(), wide ? 1.25 : 1.05);
      EXPECT_LE(counters.total(Traffic::shared_store).ratio(), wide ? 1.5 : 1.0);
    }
    return;
  }
  EXPECT_EQ(aligned.total(Traffic::shared_load).excess(), 0);
  EXPECT_EQ(aligned.total(Traffic::shared_store).excess(), 0);
#if !defined(__SANITIZE_ADDRESS__)  // slow enough without
  // Pointers to odd elements change nothing, but for 16-bit lines along M or N: their first elements are stored for
  // themselves, into the same banks.
  const kernels::TileConfig& config = kernel().config;
  const bool old_c_through_shared_memory = config.copy == kernels::Copy::bulk;
  const Counters odd = count(1, old_c_through_shared_memory ? 0.5f : 0.0f);
  const bool all_along_k = config.a_contiguous == kernels::Axis::col && config.b_contiguous == kernels::Axis::row;
  // A C of columns that start anywhere leaves wgmma_words by words of the buffer, four lanes to a bank.
  EXPECT_LE(odd.total(Traffic::shared_load).ratio(), std::string_view(kernel().family) == "wgmma_words" ? 2.1 : 1.0);
  EXPECT_LE(odd.total(Traffic::shared_store).ratio(),
            config.warp_m > 0 && config.vector == 1 && !all_along_k ? (config.cta_k > 32 ? 1.65 : 1.5) : 1.0);
#endif
}

// Kernels that take any flags and bring both operands into one layout: no conflict whatever the way there.
class AnyFlags : public Kernel {};
TEST_P(AnyFlags, NeitherConflictsNorStridedSectors) {
  for (const std::string& flags : flags_of(kernel().config))
    for (const int odd : {0, 1}) {
      const GemmCase c{.transa = flags[0],
                       .transb = flags[1],
                       .m = 2 * kernel().config.cta_m,
                       .n = kernel().config.cta_n,
                       .k = 2 * kernel().config.cta_k,
                       .ld_pad = odd,
                       .shift = odd};
      const Counters counters = count(c);
      EXPECT_EQ(counters.total(Traffic::shared_load).excess(), 0) << flags << odd;
      EXPECT_EQ(counters.total(Traffic::shared_store).excess(), 0) << flags << odd;
      if (odd == 0 && kernel().config.vector_c == 1) {
        EXPECT_EQ(counters.total(Traffic::global_store).ratio(), 1.0) << flags;
      }
    }
}

// A warp that computes from registers alone brings its operands in vectors of half a sector or more, along whichever
// axis they lie, each of them once for lanes that share it.
class RegistersAlone : public Kernel {};
TEST_P(RegistersAlone, BringsVectorsAlongEitherAxis) {
  for (const char* flags : {"NN", "NT", "TN", "TT"}) {
    const kernels::TileConfig& config = kernel().config;
    const GemmCase c{
        .transa = flags[0], .transb = flags[1], .m = 2 * config.cta_m, .n = 2 * config.cta_n, .k = 2 * config.cta_k};
    const Counters counters = count(c);
    EXPECT_EQ(counters.total(Traffic::shared_load).requests, 0);
    EXPECT_EQ(counters.total(Traffic::shared_store).requests, 0);
    const int vector_bytes = std::min(16, config.cta_m / 8 * size_of(config.type));
    EXPECT_LE(counters.total(Traffic::global_load).ratio(), 32 / vector_bytes) << flags;
    EXPECT_LE(counters.total(Traffic::global_store).ratio(), 32 / vector_bytes) << flags;
  }
}

// Threads of many products bring pairs where these are aligned, along either axis, and elements where not.
class TinyBatches : public Kernel {};
TEST_P(TinyBatches, BringPairsAlongEitherAxis) {
  constexpr std::int64_t kProducts = 64, kLoadsOfPairs = 4;  // for 4 k of two lines
  for (const char* flags : {"NN", "NT", "TN", "TT"})
    for (const int odd : {0, 1}) {
      const Counters counters = count({.transa = flags[0],
                                       .transb = flags[1],
                                       .m = 4,
                                       .n = 4,
                                       .k = 4,
                                       .batch = kProducts,
                                       .ld_pad = odd,
                                       .shift = odd});
      const std::int64_t warps = kProducts * 4 / 32;
      EXPECT_EQ(counters.total(Traffic::shared_load).requests, 0);
      EXPECT_EQ(counters.total(Traffic::global_load).requests, warps * 2 * kLoadsOfPairs * (odd == 0 ? 1 : 2)) << flags;
      EXPECT_EQ(counters.total(Traffic::global_store).requests, warps * 4) << flags;
    }
}

// C leaves in whole sectors where columns start on them: in runs of 32 rows, or by vectors of ffma_async. Runs take 128
// bytes of fp32, and part of one more sector where columns start anywhere.
class ShortK : public Kernel {};
TEST_P(ShortK, StoreRunsOfRows) {
  const kernels::TileConfig& config = kernel().config;
  const int width = std::string_view(kernel().family) == "ffma_async" ? 4 : 1;
  for (const int odd : {0, 1})
    for (const double beta : {0.0, 1.0}) {
      const LineCounters stores =
          count(
              {.m = 2 * config.cta_m, .n = config.cta_n, .k = config.cta_k, .beta = beta, .ld_pad = odd, .shift = odd})
              .total(Traffic::global_store);
      EXPECT_EQ(stores.requests, 2 * config.cta_m * config.cta_n / 32 / (odd == 0 ? width : 1)) << odd;
      EXPECT_LE(stores.ratio(), odd == 0 ? 1.0 : 1.25) << odd;
    }
}

// A warp that stages its slices brings them in whole sectors, whichever axis they lie along (of 64 bytes that start
// amid a sector, three for two), and reads them without conflicts; elements that lie along k are turned on the way and
// meet in a bank by twos, doubles by fours.
class Staged : public Kernel {};
TEST_P(Staged, BringsSectorsAlongEitherAxis) {
  for (const char* flags : {"NN", "NT", "TN", "TT"})
    for (const int odd : {0, 1}) {
      const kernels::TileConfig& config = kernel().config;
      const GemmCase c{.transa = flags[0],
                       .transb = flags[1],
                       .m = 2 * config.cta_m,
                       .n = 2 * config.cta_n,
                       .k = 2 * config.cta_k,
                       .ld_pad = odd,
                       .shift = odd};
      const Counters counters = count(c);
      EXPECT_LE(counters.total(Traffic::global_load).ratio(), odd == 0 ? 1.0 : 1.5) << flags;
      EXPECT_EQ(counters.total(Traffic::shared_load).excess(), 0) << flags;
      EXPECT_LE(counters.total(Traffic::shared_store).ratio(), size_of(config.type) / 2) << flags;
    }
}

// Products with a vector bring whole sectors of the matrix, along k or along its rows; elements of the vector, which
// the L1 holds, come alone. Sums of neighbouring rows meet in shared memory once a tile, and may lie in every other
// bank.
class Vectors : public Kernel {};
TEST_P(Vectors, BringWholeSectorsOfTheMatrix) {
  const kernels::TileConfig& config = kernel().config;
  using Kind = kernels::VectorShape::Kind;
  const Kind kind = kernels::VectorShape::of(config).kind;
  const bool across_k = kind == Kind::shared_rows || kind == Kind::wide_rows;
  const GemmCase c{.transa = across_k ? 'N' : 'T', .m = 2 * config.cta_m, .n = 1, .k = 4 * config.cta_k};
  const Counters counters = count(c);
  EXPECT_LE(counters.total(Traffic::global_load).ratio(), 1.25);
  EXPECT_EQ(counters.total(Traffic::shared_load).excess(), 0);
  EXPECT_LE(counters.total(Traffic::shared_store).ratio(), 2);
}

// Rows along k that start anywhere come in as many vectors as rows that start at one, and y in twice as many.
TEST_P(Vectors, BringRowsOff16BytesInVectors) {
  const kernels::TileConfig& config = kernel().config;
  using Kind = kernels::VectorShape::Kind;
  if (kernels::VectorShape::of(config).kind != Kind::row_of_warp) GTEST_SKIP() << "brings them element by element";
  const auto requests = [&](int odd) {
    GemmCase c{.transa = 'T', .m = 2 * config.cta_m, .n = 1, .k = 16 * config.cta_k, .ld_pad = odd};
    const Counters counters = count(c);
    return counters.total(Traffic::global_load).requests;
  };
  EXPECT_LE(static_cast<double>(requests(1)), 1.7 * static_cast<double>(requests(0)));
}

// So do hundreds of rows side by side, but at the ends of the matrix, where two tiles bring elements beside them. A
// vector has half a sector, and lines of them may end in the middle of one.
TEST_P(Vectors, BringWideRowsOff16BytesInVectors) {
  const kernels::TileConfig& config = kernel().config;
  using Kind = kernels::VectorShape::Kind;
  if (kernels::VectorShape::of(config).kind != Kind::wide_rows) GTEST_SKIP() << "is for others";
  constexpr int kTiles = 8;
  const auto loads = [&](int odd) {
    const GemmCase c{.m = kTiles * config.cta_m, .n = 1, .k = 2 * config.cta_k, .ld_pad = odd};
    return count(c).total(Traffic::global_load);
  };
  const auto even = loads(0), odd = loads(1);
  EXPECT_LE(static_cast<double>(odd.requests), (1 + 2.2 / kTiles) * static_cast<double>(even.requests));
  EXPECT_LE(odd.ratio(), 1.3);
}

// Lines that lie one behind another come as whole sectors, and a C without gaps leaves so (of CTAs), wherever they
// start: two tiles share one at most. The short operand comes element by element, once for all tiles. Of lines of 64
// elements, which would all share banks, none does.
class Lines : public Kernel {};
TEST_P(Lines, MoveAsTheyLie) {
  const kernels::TileConfig& config = kernel().config;
  const kernels::MmaLinesShape shape = kernels::MmaLinesShape::of(config);
  constexpr std::int64_t kTiles = 8;
  for (const std::int64_t k : {64, 84}) {
    GemmCase c{.transa = 'T', .transb = 'N', .k = k};
    const std::int64_t lines = kTiles * shape.lines, columns = shape.width - 4;
    c.m = shape.streams_b ? columns : lines, c.n = shape.streams_b ? lines : columns;
    const Counters counters = count(c);
    const auto sectors_of_vectors = [&](Traffic traffic) {
      std::int64_t sectors = 0;
      for (const LineCounters& line : counters.lines)
        if (line.traffic == traffic && line.bytes == 16) sectors += line.units;
      return sectors;
    };
    EXPECT_NEAR(sectors_of_vectors(Traffic::global_load), lines * k / 16, 2 * kTiles) << k;
    if (shape.streams_b && !shape.of_warps) {
      EXPECT_NEAR(sectors_of_vectors(Traffic::global_store), lines * columns / 16, 2 * kTiles) << k;
    }
    if (k == 64) {
      EXPECT_EQ(counters.total(Traffic::shared_load).excess(), 0);
    }
  }
}

// What padding does and what it costs (WMMA, tiles of 128 x 256 x 32, 16-bit elements). Without it the eight lines of a
// matrix lie 64 bytes (lines along K) or a multiple of 128 bytes (along M or N) apart and share banks by fours or by
// eights. Eight elements more, and they have a bank group each; but lines along K now end amid a row of banks, and the
// four lanes that copy a line meet those that copy the next.
class Padding : public Kernel {};
TEST_P(Padding, TradesConflictsOfLoadsForConflictsOfStores) {
  const Counters counters = count();
  const auto ways = [&](Traffic traffic) {  // by line of the source: the operands', then the results'
    std::vector<double> ratios;
    for (const LineCounters& line : counters.lines)
      if (line.traffic == traffic) ratios.push_back(line.ratio());
    return ratios;
  };
  const kernels::TileConfig& config = kernel().config;
  const bool a_along_k = config.a_contiguous == kernels::Axis::col,
             b_along_k = config.b_contiguous == kernels::Axis::row;
  using Ways = std::vector<double>;
  if (config.pad == 0) {
    EXPECT_EQ(ways(Traffic::shared_load), (Ways{a_along_k ? 4.0 : 8.0, b_along_k ? 4.0 : 8.0, 1}));
    EXPECT_EQ(ways(Traffic::shared_store), (Ways{1, 1, 1}));
  } else {
    ASSERT_EQ(config.pad, 8);
    EXPECT_EQ(ways(Traffic::shared_load), (Ways{1, 1, 1}));
    EXPECT_EQ(ways(Traffic::shared_store), (Ways{a_along_k ? 2.0 : 1.0, b_along_k ? 2.0 : 1.0, 1}));
  }
  for (const LineCounters& line : counters.lines) {
    if (!is_shared(line.traffic)) continue;
    std::printf("%s, line %u: a %s takes %g wavefronts, %g without conflicts\n", kernel().name, line.line,
                to_string(line.traffic), static_cast<double>(line.units) / static_cast<double>(line.requests),
                static_cast<double>(line.ideal) / static_cast<double>(line.requests));
  }
}

std::vector<std::string> names(bool (*takes_part)(const SimKernel&)) {
  std::vector<std::string> names;
  for (const SimKernel& kernel : all_kernels())
    if (takes_part(kernel)) names.push_back(kernel.name);
  return names;
}
bool is_for_vectors(const SimKernel& kernel) {
  return std::string_view(kernel.family) == "skinny" && kernel.config.cta_m == kernel.config.cta_n;
}
bool is_tiled(const SimKernel& kernel) {
  return !kernel.config.any_strides && !is_for_vectors(kernel);
}
bool is_for_short_k(const SimKernel& kernel) {
  return std::string_view(kernel.family) == "row_lanes" || std::string_view(kernel.family) == "ffma_async";
}
bool is_for_lines(const SimKernel& kernel) {
  return std::string_view(kernel.family) == "mma_lines";
}
bool takes_any_flags(const SimKernel& kernel) {
  return kernel.config.any_strides && (kernel.config.copy == kernels::Copy::bulk || is_for_short_k(kernel));
}
bool is_padded(const SimKernel& kernel) {
  return std::string(kernel.family) == "wmma_padded";
}
constexpr auto kName = [](const auto& row) { return row.param; };
INSTANTIATE_TEST_SUITE_P(, Kernel, testing::ValuesIn(names(is_tiled)), kName);
INSTANTIATE_TEST_SUITE_P(, WithoutConflicts,
                         testing::ValuesIn(names([](const SimKernel& k) { return is_tiled(k) && !is_padded(k); })),
                         kName);
INSTANTIATE_TEST_SUITE_P(, RegistersAlone, testing::ValuesIn(names([](const SimKernel& k) {
                           return std::string_view(k.family) == "warp_tiled" && k.config.copy == kernels::Copy::direct;
                         })),
                         kName);
INSTANTIATE_TEST_SUITE_P(, TinyBatches, testing::ValuesIn(names([](const SimKernel& k) {
                           return std::string_view(k.family) == "tiny_batched";
                         })),
                         kName);
INSTANTIATE_TEST_SUITE_P(, Staged, testing::ValuesIn(names([](const SimKernel& k) {
                           return std::string_view(k.family) == "warp_tiled" && k.config.copy == kernels::Copy::async;
                         })),
                         kName);
INSTANTIATE_TEST_SUITE_P(, ShortK, testing::ValuesIn(names(is_for_short_k)), kName);
INSTANTIATE_TEST_SUITE_P(, Vectors, testing::ValuesIn(names(is_for_vectors)), kName);
INSTANTIATE_TEST_SUITE_P(, Lines, testing::ValuesIn(names(is_for_lines)), kName);
INSTANTIATE_TEST_SUITE_P(, AnyFlags, testing::ValuesIn(names(takes_any_flags)), kName);
INSTANTIATE_TEST_SUITE_P(, Padding, testing::ValuesIn(names(is_padded)), kName);

// What the rest of the ladder is for: a transposed A costs naive a sector for each lane.
TEST(Naive, ReadsATransposedOperandInVain) {
  const SimKernel* naive = find_kernel("naive_f32");
  ASSERT_NE(naive, nullptr);
  Options options;
  options.count = true;
  const auto loads = [&](char transa) {
    Counters counters;
    EXPECT_EQ(run_case(*naive, {.transa = transa, .m = 32, .n = 8, .k = 64}, options, &counters), "");
    return counters.total(Traffic::global_load);
  };
  // Per warp and step of k: one request for 32 elements of A, one for a single element of B, all lanes the same.
  EXPECT_EQ(loads('N').requests, 8 * 64 * 2);
  EXPECT_EQ(loads('N').units, 8 * 64 * (4 + 1));
  EXPECT_EQ(loads('T').units, 8 * 64 * (32 + 1));
}

}  // namespace
}  // namespace xgemm::sim
