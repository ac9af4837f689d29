// How wgmma_tma shares its work out, and where the sums of split tiles lie: orders and layouts that two kernels must
// agree on, for every instance of the list. The expectations are written anew from the comments that promise them.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "kernels/instances.h"
#include "kernels/wgmma_tma/arguments.h"
#include "kernels/wgmma_tma/config.h"
#include "kernels/wgmma_tma/cost.h"
#include "kernels/wgmma_tma/split_sum_params.h"
#include "unit/core/args.h"

namespace xgemm::test {
namespace {

using kernels::GemmParams;
using kernels::SplitK;
using kernels::SplitSumLayout;
using kernels::SplitSumParams;
using kernels::TensorBox;
using kernels::WgmmaTmaArguments;
using kernels::WgmmaTmaConfig;
using kernels::WgmmaTmaLaunch;
using kernels::WgmmaTmaWork;

constexpr int kGroupThreads = 128;

// ---- The instances, with what their launchers instantiate -----------------------------------------------------------

struct Instance {
  const char* name;
  WgmmaTmaConfig config;
  SplitSumLayout (*layout)(unsigned split_tiles);
  WgmmaTmaArguments (*arguments)(const GemmParams&, int resident_clusters, const SplitK&, const WgmmaTmaLaunch&);

  int tile_rows() const { return config.transposed ? config.cta_n : config.cta_m; }
  int tile_columns() const { return config.transposed ? config.cta_m : config.cta_n; }
  int cluster_rows() const { return config.transposed ? config.cluster_n : config.cluster_m; }
  int cluster_columns() const { return config.transposed ? config.cluster_m : config.cluster_n; }
};

template <WgmmaTmaConfig kConfig>
Instance instance(const char* name) {
  return {name, kConfig, kernels::split_sum_layout<kConfig>, kernels::wgmma_tma_arguments<kConfig>};
}

// And shapes that no row has: consumers on both axes.
const std::vector<Instance>& instances() {
  static const std::vector<Instance> all = {
#define XGEMM_WGMMA_TMA(name, ...) instance<(__VA_ARGS__)>(#name),
#include "kernels/instances.def"
      instance<WgmmaTmaConfig{.cta_m = 256, .cta_n = 192, .groups_rows = 2, .groups_columns = 2}>("2 x 2 consumers"),
      instance<WgmmaTmaConfig{.cta_m = 128,
                              .cta_n = 128,
                              .transposed = true,
                              .groups_rows = 2,
                              .groups_columns = 2,
                              .cluster_m = 2,
                              .cluster_n = 4}>("transposed, 2 x 2 consumers, 2 x 4 CTAs"),
  };
  return all;
}

template <class F>
void for_each_instance(F&& f) {
  for (const Instance& i : instances()) {
    SCOPED_TRACE(i.name);
    f(i);
    if (testing::Test::HasFailure()) return;
  }
}

// ---- Units --------------------------------------------------------------------------------------------------------

std::string describe(const WgmmaTmaWork& w) {
  return format("%u x %u tiles, %u in all, raster group %u along %s, %u whole, %u parts, %u units", w.tiles_rows,
                w.tiles_columns, w.tiles, w.raster_group, w.raster_columns ? "columns" : "rows", w.whole_tiles, w.parts,
                w.units);
}

// Every part of every tile is one unit; whole tiles come first, then all first parts, all second parts and so on.
void expect_units_cover_the_work(const WgmmaTmaWork& w) {
  std::vector<unsigned> next_part(w.tiles, 0);
  unsigned last_part = 0;
  for (unsigned unit = 0; unit < w.units; ++unit) {
    const unsigned tile = w.tile_of(unit);
    ASSERT_LT(tile, w.tiles);
    if (unit < w.whole_tiles) {
      ASSERT_EQ(tile, unit);
      ASSERT_EQ(next_part[tile]++, 0u);
      continue;
    }
    ASSERT_GE(tile, w.whole_tiles);
    const unsigned part = w.part_of(unit);
    ASSERT_EQ(part, next_part[tile]++) << "each part once, in the order of K";
    ASSERT_GE(part, last_part);
    last_part = part;
  }
  for (unsigned tile = 0; tile < w.tiles; ++tile) ASSERT_EQ(next_part[tile], tile < w.whole_tiles ? 1u : w.parts);
}

// The order as its comment tells it: groups of raster_group tiles along one axis, walked along the other.
void expect_raster_order(const WgmmaTmaWork& w) {
  const unsigned majors = w.raster_columns ? w.tiles_columns : w.tiles_rows;
  const unsigned minors = w.raster_columns ? w.tiles_rows : w.tiles_columns;
  unsigned tile = 0;
  for (unsigned batch = 0; tile < w.tiles; ++batch)
    for (unsigned group = 0; group < majors; group += w.raster_group)
      for (unsigned minor = 0; minor < minors; ++minor)
        for (unsigned major = group; major < std::min(group + w.raster_group, majors); ++major, ++tile) {
          const WgmmaTmaWork::Position at = w.position(tile);
          ASSERT_EQ(at.batch, static_cast<int>(batch)) << tile;
          ASSERT_EQ(at.row, static_cast<int>(w.raster_columns ? minor : major)) << tile;
          ASSERT_EQ(at.column, static_cast<int>(w.raster_columns ? major : minor)) << tile;
        }
  ASSERT_EQ(tile, w.tiles);
}

// The same without any knowledge of the order.
void expect_positions_are_a_bijection(const WgmmaTmaWork& w) {
  std::vector<char> seen(w.tiles, 0);
  const unsigned batches = w.tiles / (w.tiles_rows * w.tiles_columns);
  for (unsigned tile = 0; tile < w.tiles; ++tile) {
    const WgmmaTmaWork::Position at = w.position(tile);
    ASSERT_TRUE(at.row >= 0 && at.row < static_cast<int>(w.tiles_rows)) << tile;
    ASSERT_TRUE(at.column >= 0 && at.column < static_cast<int>(w.tiles_columns)) << tile;
    ASSERT_TRUE(at.batch >= 0 && at.batch < static_cast<int>(batches)) << tile;
    char& mark =
        seen[(static_cast<unsigned>(at.batch) * w.tiles_rows + static_cast<unsigned>(at.row)) * w.tiles_columns +
             static_cast<unsigned>(at.column)];
    ASSERT_EQ(mark, 0) << "tile " << tile << " again at " << at.row << ", " << at.column << ", " << at.batch;
    mark = 1;
  }
}

void expect_sound(const WgmmaTmaWork& w) {
  SCOPED_TRACE(describe(w));
  expect_units_cover_the_work(w);
  expect_positions_are_a_bijection(w);
  expect_raster_order(w);
}

TEST(WgmmaTmaWork, EveryPartOfEveryTileIsVisitedOnce) {
  constexpr unsigned kExtents[] = {1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 33, 64};
  Random random(31);
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    WgmmaTmaWork w{};
    w.tiles_rows = pick(random, kExtents);
    w.tiles_columns = pick(random, kExtents);
    w.tiles = w.tiles_rows * w.tiles_columns * static_cast<unsigned>(random.integer(1, 3));
    w.raster_columns = random.integer(0, 1) != 0;
    w.raster_group = static_cast<unsigned>(random.integer(1, w.raster_columns ? w.tiles_columns : w.tiles_rows));
    w.parts = random.integer(0, 3) == 0 ? 1 : static_cast<unsigned>(random.integer(2, 40));
    w.whole_tiles = w.parts == 1 || random.integer(0, 9) == 0 ? w.tiles
                    : random.integer(0, 3) == 0               ? 0
                                                              : static_cast<unsigned>(random.integer(0, w.tiles - 1));
    w.units = w.whole_tiles + (w.tiles - w.whole_tiles) * w.parts;
    expect_sound(w);
  }
}

// At the most tiles that the planner lets through the unsigned arithmetic still holds.
TEST(WgmmaTmaWork, PositionsHoldUpToTheMostTiles) {
  const unsigned extents[][3] = {{1, (1u << 31) - 1, 1}, {(1u << 31) - 1, 1, 1}, {46340, 46340, 1},
                                 {1, 1, (1u << 31) - 1}, {1u << 20, 2047, 1},    {3, 5, 143165576},
                                 {65536, 32767, 1}};
  Random random(32);
  for (const auto& [rows, columns, batch] : extents)
    for (const bool raster_columns : {false, true}) {
      const unsigned majors = raster_columns ? columns : rows;
      for (const unsigned group : {1u, 2u, 13u, majors}) {
        WgmmaTmaWork w{rows, columns, rows * columns * batch, std::min(group, majors), raster_columns, 0, 1, 0};
        w.whole_tiles = w.units = w.tiles;
        SCOPED_TRACE(describe(w));
        for (int i = 0; i < 200; ++i) {
          const auto tile = i == 0   ? 0
                            : i == 1 ? w.tiles - 1
                                     : static_cast<unsigned>(random.integer(0, std::int64_t{w.tiles} - 1));
          const WgmmaTmaWork::Position at = w.position(tile);
          ASSERT_TRUE(at.row >= 0 && static_cast<unsigned>(at.row) < rows) << tile;
          ASSERT_TRUE(at.column >= 0 && static_cast<unsigned>(at.column) < columns) << tile;
          // The way back.
          const auto major = static_cast<std::int64_t>(raster_columns ? at.column : at.row);
          const auto minor = static_cast<std::int64_t>(raster_columns ? at.row : at.column);
          const std::int64_t minors = raster_columns ? rows : columns;
          const std::int64_t first = major / w.raster_group * w.raster_group;
          const std::int64_t height = std::min<std::int64_t>(w.raster_group, majors - first);
          const std::int64_t back =
              std::int64_t{at.batch} * majors * minors + first * minors + minor * height + (major - first);
          ASSERT_EQ(back, tile);
        }
      }
    }
}

// ---- Arguments ----------------------------------------------------------------------------------------------------

GemmParams gemm_params(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
  GemmParams g{};
  g.a = {nowhere(0x1000), 1, m, m * k};
  g.b = {nowhere(0x2000), 1, k, k * n};
  g.c = {nowhere(0x3000), 1, m, m * n};
  g.m = m, g.n = n, g.k = k, g.batch_count = batch;
  g.alpha = 1.0f;
  return g;
}

// The boxes of a K-major operand end with its last row.
void expect_tail(const TensorBox& box, const TensorBox& tail, bool along_k) {
  TensorBox expected = box;
  if (along_k) {
    EXPECT_LE(box.box_y, box.extent_y);
    if (box.extent_y % box.box_y != 0) expected.box_y = static_cast<int>(box.extent_y % box.box_y);
  }
  EXPECT_TRUE(tail == expected);
}

TEST(WgmmaTmaWork, ArgumentsCoverC) {
  constexpr std::int64_t kExtents[] = {1, 8, 63, 64, 65, 128, 200, 256, 257, 777, 1024, 3000};
  Random random(33);
  for_each_instance([&](const Instance& instance) {
    const WgmmaTmaConfig& c = instance.config;
    for (int i = 0; i < 12 && !testing::Test::HasFailure(); ++i) {
      const GemmParams g = gemm_params(pick(random, kExtents), pick(random, kExtents), 64 * random.integer(1, 100),
                                       random.integer(1, 3));
      const auto ceil_div = [](std::int64_t a, int b) { return (a + b - 1) / b; };
      const std::int64_t rows = ceil_div(c.transposed ? g.n : g.m, instance.tile_rows() * instance.cluster_rows());
      const std::int64_t columns =
          ceil_div(c.transposed ? g.m : g.n, instance.tile_columns() * instance.cluster_columns());
      const std::int64_t tiles = rows * columns * g.batch_count;
      SplitK split;
      if (random.integer(0, 1) != 0)
        split = {random.integer(0, tiles - 1), static_cast<int>(random.integer(2, 20)), nullptr};
      WgmmaTmaLaunch options;
      if (random.integer(0, 1) != 0) options.raster_group = static_cast<int>(random.integer(-40, 40));
      if (random.integer(0, 2) == 0) options.max_ctas = static_cast<int>(random.integer(1, 200));
      const int resident = static_cast<int>(random.integer(1, 264));

      const WgmmaTmaArguments arguments = instance.arguments(g, resident, split, options);
      const WgmmaTmaWork& w = arguments.params.work;
      SCOPED_TRACE(describe(w));
      EXPECT_EQ(w.tiles_rows, rows);
      EXPECT_EQ(w.tiles_columns, columns);
      EXPECT_EQ(w.tiles, tiles);
      expect_tail(arguments.params.x, arguments.params.x_tail, c.transposed ? c.b_along_k() : c.a_along_k());
      expect_tail(arguments.params.y, arguments.params.y_tail, c.y_along_k());
      EXPECT_EQ(w.parts, static_cast<unsigned>(split.parts));
      EXPECT_EQ(w.whole_tiles, split.parts == 1 ? tiles : split.whole_tiles);
      EXPECT_EQ(w.units, w.whole_tiles + (tiles - w.whole_tiles) * split.parts);
      EXPECT_TRUE(w.raster_group >= 1 && w.raster_group <= (w.raster_columns ? columns : rows));
      EXPECT_TRUE(arguments.clusters >= 1 && arguments.clusters <= w.units);
      EXPECT_LE(arguments.clusters, static_cast<unsigned>(resident));
      if (options.max_ctas >= c.cluster_size()) {
        EXPECT_LE(arguments.clusters * static_cast<unsigned>(c.cluster_size()),
                  static_cast<unsigned>(options.max_ctas));
      }
      if (options.raster_group != 0) {
        EXPECT_EQ(w.raster_columns, options.raster_group < 0);
      } else if (w.raster_group > 1) {
        // Neighbours share what is not multicast, else the wider operand.
        const int multicast = instance.cluster_columns() - instance.cluster_rows();  // of X more than of Y, or less
        const bool share_x = multicast != 0 ? multicast < 0 : instance.tile_rows() > instance.tile_columns();
        const WgmmaTmaWork::Position first = w.position(0), second = w.position(1);
        EXPECT_TRUE(share_x ? first.row == second.row && first.column != second.column
                            : first.row != second.row && first.column == second.column);
      }
      expect_sound(w);
    }
  });
}

// ---- The sums of split tiles ----------------------------------------------------------------------------------------

// A vector is two columns in two rows, 8 apart. Together they are the tile, each element once.
TEST(SplitSumLayout, VectorsCoverTheTile) {
  for_each_instance([](const Instance& instance) {
    const int rows = instance.tile_rows() * instance.cluster_rows();
    const int columns = instance.tile_columns() * instance.cluster_columns();
    for (const unsigned tiles : {1u, 3u}) {
      const SplitSumLayout layout = instance.layout(tiles);
      EXPECT_EQ(layout.cluster_rows, rows);
      EXPECT_EQ(layout.cluster_columns, columns);
      EXPECT_EQ(layout.transposed, instance.config.transposed);
      ASSERT_EQ(layout.vectors() * 4, std::int64_t{tiles} * rows * columns);
      std::vector<char> seen(static_cast<std::size_t>(layout.vectors() * 4), 0);
      for (std::int64_t index = 0; index < layout.vectors(); ++index) {
        const SplitSumLayout::Position at = layout.position(index);
        ASSERT_EQ(at.tile, index / (layout.vectors() / tiles)) << "tile after tile";
        for (int e = 0; e < 4; ++e) {
          const int row = at.row + e / 2 * 8, column = at.column + e % 2;
          ASSERT_TRUE(row >= 0 && row < rows && column >= 0 && column < columns) << index;
          char& mark = seen[static_cast<std::size_t>((std::int64_t{at.tile} * rows + row) * columns + column)];
          ASSERT_EQ(mark, 0) << "element " << row << ", " << column << " again in vector " << index;
          mark = 1;
        }
      }
    }
  });
}

// What wgmma_tma writes: CTA after CTA of a unit, consumer after consumer, in it the accumulators of all threads, four
// of each at a time. Which element of D an accumulator is follows from the fragment of wgmma (common/sm90/wgmma.cuh):
// warp w has the rows 16 w to 16 w + 15 of a slab of 64, lane l the rows l / 4 and l / 4 + 8 of these; registers
// 4 g + 0, 1 are columns 8 g + 2 (l % 4) + 0, 1 of the upper row, 4 g + 2, 3 of the lower.
TEST(SplitSumLayout, IsTheOrderOfTheAccumulators) {
  constexpr unsigned kTiles = 3, kParts = 2;
  for_each_instance([](const Instance& instance) {
    const WgmmaTmaConfig& c = instance.config;
    if (c.cluster_k > 1) return;  // these share K within the cluster
    const SplitSumLayout layout = instance.layout(kTiles);
    const int groups = c.ping_pong ? 1 : c.groups_rows * c.groups_columns;
    const int groups_columns = c.ping_pong ? 1 : c.groups_columns;
    const int group_rows = instance.tile_rows() / (groups / groups_columns);
    const int group_columns = instance.tile_columns() / groups_columns;
    const int registers = group_columns / 2;  // of a thread, per slab
    const int cluster = instance.cluster_rows() * instance.cluster_columns();
    ASSERT_EQ(cluster, c.cluster_size());
    WgmmaTmaWork work{1, 10, 10, 1, false, 10 - kTiles, kParts, 10 - kTiles + kTiles * kParts};

    std::int64_t index = 0;  // of the vector in the workspace
    for (unsigned unit = work.whole_tiles; unit < work.units; ++unit)
      for (int rank = 0; rank < cluster; ++rank)
        for (int group = 0; group < groups; ++group)
          for (int slab = 0; slab < group_rows / 64; ++slab)
            for (int v = 0; v < registers / 4; ++v)
              for (int thread = 0; thread < kGroupThreads; ++thread, ++index) {
                // split_sum reads vector i of part j at j * vectors() + i.
                ASSERT_EQ(index / layout.vectors(), work.part_of(unit));
                const SplitSumLayout::Position at = layout.position(index % layout.vectors());
                ASSERT_EQ(work.whole_tiles + static_cast<unsigned>(at.tile), work.tile_of(unit));
                const int cta_row = rank % instance.cluster_rows() * instance.tile_rows();
                const int cta_column = rank / instance.cluster_rows() * instance.tile_columns();
                const int warp = thread / 32, lane = thread % 32;
                for (int e = 0; e < 4; ++e) {
                  const int d = 4 * v + e;
                  const int row = cta_row + group / groups_columns * group_rows + slab * 64 + 16 * warp + lane / 4 +
                                  (d % 4 >= 2 ? 8 : 0);
                  const int column =
                      cta_column + group % groups_columns * group_columns + 8 * (d / 4) + 2 * (lane % 4) + d % 2;
                  ASSERT_EQ(at.row + e / 2 * 8, row) << "vector " << index << " element " << e;
                  ASSERT_EQ(at.column + e % 2, column) << "vector " << index << " element " << e;
                }
              }
    EXPECT_EQ(index, layout.vectors() * kParts) << "the workspace is what the parts fill";
    kernels::WgmmaTmaProblem problem{};
    problem.m = c.cta_m * c.cluster_m, problem.n = c.cta_n * c.cluster_n, problem.k = 4096, problem.batch_count = 10;
    EXPECT_EQ(16.0 * static_cast<double>(index), kernels::split_bytes(c, problem, {10 - kTiles, kParts}));
  });
}

TEST(SplitSum, LanesShareThePartsOut) {
  Random random(34);
  for_each_instance([&](const Instance& instance) {
    for (int i = 0; i < 40 && !testing::Test::HasFailure(); ++i) {
      const auto tiles = static_cast<unsigned>(random.integer(1, i % 2 != 0 ? 4 : 600));
      kernels::WgmmaTmaScalars scalars{};
      scalars.work = {1, tiles, tiles, 1, false, 0, static_cast<unsigned>(random.integer(2, i % 3 != 0 ? 40 : 1024)),
                      0};
      scalars.work.units = tiles * scalars.work.parts;
      const SplitSumParams p = kernels::split_sum_params(scalars, instance.layout(tiles));
      SCOPED_TRACE(format("%u tiles, %d parts, %d lanes", tiles, p.parts(), p.lanes));
      EXPECT_TRUE(p.lanes >= 1 && p.lanes <= 32 && (p.lanes & (p.lanes - 1)) == 0);
      const std::int64_t vectors = SplitSumParams::kThreads / p.lanes;  // of a CTA
      EXPECT_GE(p.ctas() * vectors, p.layout.vectors());
      EXPECT_LT((p.ctas() - 1) * vectors, p.layout.vectors()) << "no CTA without work";
      int next = 0;
      for (int lane = 0; lane < p.lanes; ++lane) {
        const int begin = p.parts() * lane / p.lanes, end = p.parts() * (lane + 1) / p.lanes;
        EXPECT_EQ(begin, next);
        EXPECT_GT(end, begin) << "lane " << lane << " has nothing to add";
        next = end;
      }
      EXPECT_EQ(next, p.parts());
      EXPECT_EQ(p.work.units, scalars.work.units) << "the rest is what it was";
    }
  });
}

}  // namespace
}  // namespace xgemm::test
