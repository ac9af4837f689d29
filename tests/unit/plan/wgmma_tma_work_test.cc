// How wgmma_tma shares its work out, and where the sums of split tiles lie: orders and layouts that two kernels must
// agree on, for every instance of the list. The expectations are written anew from the comments that promise them.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "kernels/common/schedule.h"
#include "kernels/common/schedule_pieces.h"
#include "kernels/common/split_sum_params.h"
#include "kernels/common/tile_schedule.h"
#include "kernels/dmma_tma/arguments.h"
#include "kernels/dmma_tma/instances.h"
#include "kernels/ffma_tma/arguments.h"
#include "kernels/ffma_tma/cost.h"
#include "kernels/ffma_tma/instances.h"
#include "kernels/ffma_tma/schedule.h"
#include "kernels/wgmma_tma/arguments.h"
#include "kernels/wgmma_tma/config.h"
#include "kernels/wgmma_tma/cost.h"
#include "kernels/wgmma_tma/instances.h"
#include "kernels/wgmma_tma/schedule.h"
#include "kernels/wgmma_tma/sum_layout.h"
#include "unit/core/args.h"

namespace xgemm::test {
namespace {

using kernels::GemmParams;
using kernels::Schedule;
using kernels::SplitSumLayout;
using kernels::SplitSumParams;
using kernels::TensorBox;
using kernels::WgmmaTmaConfig;

constexpr int kGroupThreads = 128;

struct Instance {
  const char* name;
  WgmmaTmaConfig config;
  kernels::ClusterShape cluster = {};

  int tile_rows() const { return config.transposed ? config.cta_n : config.cta_m; }
  int tile_columns() const { return config.transposed ? config.cta_m : config.cta_n; }
  int cluster_rows() const { return config.transposed ? cluster.n : cluster.m; }
  int cluster_columns() const { return config.transposed ? cluster.m : cluster.n; }

  Schedule schedule(unsigned split_tiles) const {
    Schedule s;
    s.cluster = cluster;
    s.split_tiles = split_tiles;
    return s;
  }
};

// Each in clusters of one shape. And tiles that no instance has: consumers on both axes.
const std::vector<Instance>& instances() {
  static const std::vector<Instance> all = [] {
    std::vector<Instance> result = {
        {"2 x 2 consumers", {.cta_m = 256, .cta_n = 192, .groups_rows = 2, .groups_columns = 2}},
        {"transposed, 2 x 2 consumers, 2 x 4 CTAs",
         {.cta_m = 128, .cta_n = 128, .transposed = true, .groups_rows = 2, .groups_columns = 2},
         {2, 4}}};
    for (const kernels::KernelInfo& kernel : kernels::kInfos<kernels::Family::wgmma_tma>) {
      const WgmmaTmaConfig& c = kernels::config_of<kernels::Family::wgmma_tma>(kernel);
      const auto shapes = kernels::cluster_shapes(c);
      result.push_back({kernel.name, c, shapes[result.size() % shapes.size()]});  // neighbours have others
    }
    return result;
  }();
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

std::string describe(const Schedule& s) {
  return format(
      "%lld x %lld tiles from %lld on, raster group %u along %c, %lld whole, %lld split, %u parts, %lld units",
      static_cast<long long>(s.tiles_m), static_cast<long long>(s.tiles_n), static_cast<long long>(s.first_tile),
      s.raster_group, s.raster_n ? 'n' : 'm', static_cast<long long>(s.whole_tiles),
      static_cast<long long>(s.split_tiles), s.parts, static_cast<long long>(s.units));
}

// Every part of every tile is one unit; whole tiles come first, then all first parts, all second parts and so on.
template <class Index>
void expect_units_cover_the_work(const kernels::BasicSchedule<Index>& s) {
  const Index tiles = s.whole_tiles + s.split_tiles;
  std::vector<unsigned> next_part(static_cast<std::size_t>(tiles), 0);
  Index last_part = 0;
  for (Index unit = 0; unit < s.units; ++unit) {
    ASSERT_GE(s.tile_of(unit), s.first_tile);
    const Index tile = s.tile_of(unit) - s.first_tile;
    ASSERT_LT(tile, tiles);
    unsigned& next = next_part[static_cast<std::size_t>(tile)];
    ASSERT_EQ(s.is_partial(unit), unit >= s.whole_tiles);
    if (!s.is_partial(unit)) {
      ASSERT_EQ(tile, unit);
      ASSERT_EQ(next++, 0u);
      continue;
    }
    ASSERT_GE(tile, s.whole_tiles);
    ASSERT_EQ(s.partial_index(unit), s.part_of(unit) * s.split_tiles + (tile - s.whole_tiles));
    const Index part = s.part_of(unit);
    ASSERT_EQ(part, Index{next++}) << "each part once, in the order of K";
    ASSERT_GE(part, last_part);
    last_part = part;
  }
  for (Index tile = 0; tile < tiles; ++tile)
    ASSERT_EQ(next_part[static_cast<std::size_t>(tile)], tile < s.whole_tiles ? 1u : s.parts);
}

// The order as its comment tells it: groups of raster_group tiles along one axis, walked along the other; the batch
// entries one after the other.
template <class Index>
void expect_raster_order(const kernels::BasicSchedule<Index>& s, Index batch_count) {
  const Index majors = s.raster_n ? s.tiles_n : s.tiles_m;
  const Index minors = s.raster_n ? s.tiles_m : s.tiles_n;
  Index tile = 0;
  for (Index batch = 0; batch < batch_count; ++batch)
    for (Index group = 0; group < majors; group += s.raster_group)
      for (Index minor = 0; minor < minors; ++minor)
        for (Index major = group; major < std::min<Index>(group + s.raster_group, majors); ++major, ++tile) {
          const auto at = s.position(tile);
          ASSERT_EQ(at.batch, batch) << tile;
          ASSERT_EQ(at.m, s.raster_n ? minor : major) << tile;
          ASSERT_EQ(at.n, s.raster_n ? major : minor) << tile;
        }
}

void expect_sound(const Schedule& s, std::int64_t batch_count) {
  SCOPED_TRACE(describe(s));
  ASSERT_EQ(s.units, s.whole_tiles + s.split_tiles * s.parts);
  expect_units_cover_the_work(s);
  expect_raster_order(s, batch_count);
  const auto narrow = s.as<unsigned>();
  EXPECT_EQ(narrow.as<std::int64_t>(), s);
  expect_units_cover_the_work(narrow);
  expect_raster_order(narrow, static_cast<unsigned>(batch_count));
}

TEST(Schedule, EveryPartOfEveryTileIsVisitedOnce) {
  constexpr std::int64_t kExtents[] = {1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 33, 64};
  Random random(31);
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    Schedule s;
    s.tiles_m = pick(random, kExtents);
    s.tiles_n = pick(random, kExtents);
    const std::int64_t batch_count = random.integer(1, 3), all = s.tiles_m * s.tiles_n * batch_count;
    const bool along_n = random.integer(0, 1) != 0;
    s.set_raster(random.integer(1, along_n ? s.tiles_n : s.tiles_m), along_n);
    s.first_tile = random.integer(0, 2) == 0 ? random.integer(0, all - 1) : 0;
    const std::int64_t here = random.integer(1, all - s.first_tile);
    s.whole_tiles = random.integer(0, 3) == 0 ? here : random.integer(0, 3) == 0 ? 0 : random.integer(0, here);
    s.split_tiles = here - s.whole_tiles;
    s.parts = s.split_tiles == 0 ? 1 : static_cast<unsigned>(random.integer(2, 40));
    s.units = s.whole_tiles + s.split_tiles * s.parts;
    expect_sound(s, batch_count);
  }
}

TEST(Schedule, DivisorsDivide) {
  constexpr unsigned kMost = (1u << 31) - 1;
  Random random(33);
  for (int i = 0; i < 20000; ++i) {
    const auto divisor = static_cast<unsigned>(random.integer(1, kMost) >> random.integer(0, 30));
    const unsigned by = divisor == 0 ? 1 : i % 5 == 0 ? 1u << random.integer(0, 30) : divisor;
    const auto d = kernels::Divisor::of(by);
    const auto multiple = static_cast<unsigned>(random.integer(0, kMost / by)) * by;
    for (const unsigned number : {0u, 1u, by - 1, by, multiple, multiple == 0 ? 0u : multiple - 1, kMost,
                                  static_cast<unsigned>(random.integer(0, kMost))})
      ASSERT_EQ(d.divide(number), number / by) << number << " / " << by;
  }
}

// At the most tiles that the planner lets through the unsigned arithmetic still holds.
TEST(Schedule, PositionsHoldUpToTheMostTiles) {
  const std::int64_t extents[][3] = {{1, (1u << 31) - 1, 1}, {(1u << 31) - 1, 1, 1}, {46340, 46340, 1},
                                     {1, 1, (1u << 31) - 1}, {1u << 20, 2047, 1},    {3, 5, 143165576},
                                     {65536, 32767, 1}};
  Random random(32);
  for (const auto& [tiles_m, tiles_n, batch] : extents)
    for (const bool raster_n : {false, true}) {
      const std::int64_t majors = raster_n ? tiles_n : tiles_m;
      for (const std::int64_t group : {std::int64_t{1}, std::int64_t{2}, std::int64_t{13}, majors}) {
        Schedule wide;
        wide.tiles_m = tiles_m, wide.tiles_n = tiles_n;
        wide.whole_tiles = wide.units = tiles_m * tiles_n * batch;
        wide.set_raster(group, raster_n);
        SCOPED_TRACE(describe(wide));
        const auto s = wide.as<unsigned>();
        for (int i = 0; i < 200; ++i) {
          const auto tile = i == 0   ? 0
                            : i == 1 ? s.units - 1
                                     : static_cast<unsigned>(random.integer(0, wide.units - 1));
          const auto at = s.position(tile);
          ASSERT_TRUE(at.m < tiles_m && at.n < tiles_n && at.batch < batch) << tile;
          const auto same = wide.position(tile);
          ASSERT_TRUE(at.m == same.m && at.n == same.n && at.batch == same.batch) << tile;
          // The way back.
          const std::int64_t major = raster_n ? at.n : at.m, minor = raster_n ? at.m : at.n;
          const std::int64_t minors = raster_n ? tiles_m : tiles_n;
          const std::int64_t first = major / s.raster_group * s.raster_group;
          const std::int64_t height = std::min<std::int64_t>(s.raster_group, majors - first);
          const std::int64_t back = at.batch * majors * minors + first * minors + minor * height + (major - first);
          ASSERT_EQ(back, tile);
        }
      }
    }
}

// Kernels that count in 64 bits.
TEST(Schedule, PositionsBeyond32Bits) {
  Schedule s;
  s.tiles_m = (std::int64_t{1} << 33) + 5, s.tiles_n = 3;
  s.set_raster(8, false);
  const auto end = s.position(2 * s.tiles_m * s.tiles_n - 1);
  EXPECT_TRUE(end.m == s.tiles_m - 1 && end.n == s.tiles_n - 1 && end.batch == 1);
  const auto at = s.position(24 * (std::int64_t{1} << 29) + 9);  // 24 tiles a group
  EXPECT_TRUE(at.m == 8 * (std::int64_t{1} << 29) + 1 && at.n == 1 && at.batch == 0);
}

// Whatever memory there is: all tiles, in order, each in the same parts, whose sums are added in the same order.
TEST(Schedule, PiecesKeepTheOrderOfSums) {
  Random random(36);
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    const auto extent = [&] { return random.integer(1, 1000); };
    const std::int64_t m = extent(), n = extent(), batch = random.integer(1, 3);
    const kernels::TileConfig c{.cta_m = 32, .cta_n = 16};
    const std::int64_t tiles = kernels::tile_schedule(c, m, n, batch, {}, 132).units;
    const Schedule all = kernels::tile_schedule(
        c, m, n, batch, {random.integer(0, tiles), static_cast<int>(random.integer(1, 40))}, 132);
    const std::size_t least = kernels::least_workspace(all);
    EXPECT_EQ(least, all.split_tiles == 0 ? 0 : 32 * 16 * 4 * all.parts);
    const auto most = static_cast<std::int64_t>(all.workspace_bytes);
    const auto room = static_cast<std::size_t>(random.integer(static_cast<std::int64_t>(least), most + most / 4));
    SCOPED_TRACE(describe(all) + format(", %zu of %zu bytes", room, all.workspace_bytes));
    std::int64_t next = 0, whole = 0;
    int number = 0;
    kernels::SchedulePieces pieces(all, room);
    for (Schedule piece; pieces.next(&piece); ++number) {
      ASSERT_EQ(piece.first_tile, next);
      ASSERT_GT(piece.units, 0);
      next += piece.whole_tiles + piece.split_tiles;
      whole += piece.whole_tiles;
      ASSERT_LE(piece.workspace_bytes, room);
      ASSERT_EQ(piece.workspace_bytes, least * static_cast<std::size_t>(piece.split_tiles));
      EXPECT_EQ(piece.units, piece.whole_tiles + piece.split_tiles * piece.parts);
      EXPECT_TRUE(piece.clusters >= 1 && piece.clusters <= piece.units && piece.clusters <= all.clusters);
      Schedule same = piece;
      same.first_tile = all.first_tile, same.whole_tiles = all.whole_tiles, same.split_tiles = all.split_tiles;
      same.units = all.units, same.clusters = all.clusters, same.workspace_bytes = all.workspace_bytes;
      EXPECT_EQ(same, all) << "the rest is what it was";
    }
    EXPECT_EQ(next, tiles);
    EXPECT_EQ(whole, all.whole_tiles);
    if (room >= all.workspace_bytes) {
      EXPECT_EQ(number, 1);
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
  g.alpha = kernels::Factor::of(1.0f);
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

// The parts of an operand's tile that CTAs load cover it, each element once, in whole swizzle atoms of 8 lines.
void expect_shares(const kernels::OperandShare& share, bool along_k, int extent, int piece, int slice_k, int peers) {
  const int pieces = along_k ? extent : extent / piece, depth = along_k ? 1 : slice_k;  // in units of a step
  std::vector<int> loaded(static_cast<std::size_t>(pieces * depth), 0);
  EXPECT_EQ(share.lines % 8, 0);
  EXPECT_LE(share.lines, 256);
  for (int peer = 0; peer < peers; ++peer) {
    const int first = peer * share.step_mn, k = peer * share.step_k;
    if (k >= depth) continue;
    for (int i = first; i < std::min(pieces, first + (along_k ? share.lines : share.pieces)); ++i)
      for (int l = k; l < k + (along_k ? 1 : share.lines); ++l) ++loaded[static_cast<std::size_t>(i * depth + l)];
  }
  for (const int times : loaded) ASSERT_EQ(times, 1);
}

// The tiles cover C, the clusters are resident, and together they cover about a square of C.
// CTAs that share an SM have its memory, and slots for what they were given them for.
TEST(WgmmaTmaSchedule, CtasThatShareAnSmFitOnIt) {
  constexpr int kBytesOfSm = 228 * 1024, kReserved = 1024;
  int most = 1;
  for_each_instance([&](const Instance& instance) {
    const WgmmaTmaConfig& c = instance.config;
    const kernels::WgmmaTmaCtasPerSm ctas_per_sm(c);
    EXPECT_EQ(ctas_per_sm.of(132, 1, false, 132), 1) << "no more than it has tiles";
    EXPECT_EQ(ctas_per_sm.of(1e6, 100, false, 132), 1);
    for (const bool reads_c : {false, true})
      for (std::int64_t slices = 0; slices < 10; ++slices) {
        const int ctas = ctas_per_sm.of(1e6, slices, reads_c, 132);
        most = std::max(most, ctas);
        ASSERT_LE(ctas, c.most_ctas_per_sm());
        if (ctas == 1) continue;
        EXPECT_GT(c.slots(ctas), slices + (reads_c ? c.old_c_slots() : 0));
        const int bytes = c.shared_bytes() - (c.stages - c.slots(ctas)) * c.slot_bytes();
        EXPECT_LE(bytes, WgmmaTmaConfig::share_of_sm(ctas));
        EXPECT_LE(ctas * (WgmmaTmaConfig::share_of_sm(ctas) + kReserved), kBytesOfSm);
        EXPECT_GT((ctas + 1) * (WgmmaTmaConfig::share_of_sm(ctas) + kReserved), kBytesOfSm) << "no SM takes more";
      }
  });
  EXPECT_EQ(most, WgmmaTmaConfig::kMostCtasPerSm);
}

// Across a matrix of one line any stride will do for the caller: threads that copy nothing form addresses by it.
TEST(WgmmaTmaArguments, LoneLinesAreVectorsApart) {
  WgmmaTmaConfig c = {.cta_m = 64, .cta_n = 64, .groups_rows = 1, .b_contiguous = layout::Axis::col};
  c.copy = kernels::Copy::prefetch, c.vector = 4;
  const GemmParams g = gemm_params(100, 100, 1, 3);  // B lies along n as well, as NN has it with ldb = 1
  const auto p = kernels::wgmma_tma_arguments(kernels::wgmma_tma_boxes(c), g, Schedule{}, nullptr);
  EXPECT_EQ(p.y_lines.stride % c.vector, 0);
  EXPECT_EQ(p.x_lines.stride % c.vector, 0);
}

TEST(WgmmaTmaSchedule, CoversC) {
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
      const bool asks = random.integer(0, 1) != 0;
      const std::int64_t whole = asks ? random.integer(0, tiles - 1) : 0;
      const int asked = asks ? static_cast<int>(random.integer(2, 20)) : 1;
      const bool split = asks && instance.cluster.k == 1;  // where a cluster shares K, tiles are whole
      const int parts = split ? asked : 1;
      const int resident = static_cast<int>(random.integer(1, 264));

      const Schedule s =
          kernels::wgmma_tma_schedule(c, g.m, g.n, g.batch_count, {whole, asked, instance.cluster}, resident, 132);
      SCOPED_TRACE(describe(s));
      EXPECT_EQ(c.transposed ? s.tiles_n : s.tiles_m, rows);
      EXPECT_EQ(c.transposed ? s.tiles_m : s.tiles_n, columns);
      EXPECT_EQ(s.cluster, instance.cluster);
      EXPECT_EQ(s.first_tile, 0);
      EXPECT_EQ(s.whole_tiles, split ? whole : tiles);
      EXPECT_EQ(s.split_tiles, split ? tiles - whole : 0);
      EXPECT_EQ(s.parts, static_cast<unsigned>(parts));
      EXPECT_EQ(s.clusters, static_cast<unsigned>(std::min<std::int64_t>(s.units, resident)));
      EXPECT_EQ(s.workspace_bytes,
                static_cast<std::size_t>(split ? 4 * s.split_tiles * parts * c.cta_m * c.cta_n * instance.cluster.size()
                                               : 0));

      // Neighbours share what is not multicast, else the wider operand.
      const int multicast = s.cluster.n - s.cluster.m;  // of A more than of B, or less
      EXPECT_EQ(s.raster_n, multicast != 0 ? multicast < 0 : c.cta_m > c.cta_n);
      const double height = c.cta_m * s.cluster.m, width = c.cta_n * s.cluster.n;
      const double area = static_cast<double>(std::min<std::int64_t>(tiles, s.clusters));
      const double side = std::sqrt(s.raster_n ? area * height / width : area * width / height);
      const std::int64_t most = s.raster_n ? s.tiles_n : s.tiles_m;
      EXPECT_EQ(s.raster_group, std::clamp<std::int64_t>(std::lround(side), 1, most));
      expect_sound(s, g.batch_count);

      const auto p = kernels::wgmma_tma_arguments(kernels::wgmma_tma_boxes(c), g, s, nullptr);
      EXPECT_EQ(p.schedule, s.as<unsigned>());
      expect_tail(p.x, p.x_tail, c.transposed ? c.b_along_k() : c.a_along_k());
      expect_tail(p.y, p.y_tail, c.y_along_k());
      EXPECT_TRUE(1 << p.row_bits == instance.cluster_rows() && 1 << p.column_bits == instance.cluster_columns());
      EXPECT_EQ(p.sharers << p.split_bits, s.cluster.size());
      EXPECT_EQ(1 << p.split_bits, s.cluster.k);
      expect_shares(p.x_share, c.x_along_k(), c.tile_rows(), c.widest_piece(), c.cta_k(), instance.cluster_columns());
      expect_shares(p.y_share, c.y_along_k(), c.y_columns(), c.y_piece(), c.cta_k(), instance.cluster_rows());
    }
  });
}

TEST(FfmaTmaSchedule, CoversC) {
  constexpr std::int64_t kExtents[] = {1, 2, 31, 32, 33, 127, 128, 129, 1000, 3000};
  Random random(36);
  for (int round = 0; round < 20; ++round)
    for (const kernels::FfmaTmaConfig& c : kernels::kConfigs<kernels::Family::ffma_tma>) {
      const std::int64_t m = pick(random, kExtents), n = pick(random, kExtents), batch = random.integer(1, 3);
      const int ctas = static_cast<int>(random.integer(1, 132));
      const Schedule s = kernels::ffma_tma_schedule(c, m, n, batch, {}, ctas, 132);
      EXPECT_TRUE(s.tiles_m * c.cta_m >= m && (s.tiles_m - 1) * c.cta_m < m);
      EXPECT_TRUE(s.tiles_n * c.cta_n >= n && (s.tiles_n - 1) * c.cta_n < n);
      EXPECT_EQ(s.whole_tiles, s.tiles_m * s.tiles_n * batch);
      EXPECT_LE(s.clusters, static_cast<unsigned>(ctas));
      expect_sound(s, batch);
      const std::int64_t whole = random.integer(0, s.units - 1);
      const int parts = static_cast<int>(random.integer(2, 20));
      const Schedule split = kernels::ffma_tma_schedule(c, m, n, batch, {whole, parts}, ctas, 132);
      EXPECT_TRUE(split.whole_tiles == whole && split.split_tiles == s.units - whole);
      EXPECT_EQ(split.workspace_bytes, static_cast<std::size_t>(4 * split.split_tiles * parts * c.cta_m * c.cta_n));
      expect_sound(split, batch);
      // Each tile has a cluster where CTAs share its K, and nothing is left to a second stage.
      for (const kernels::ClusterShape& cluster : kernels::cluster_shapes(c)) {
        if (cluster.k == 1) continue;
        const Schedule shared = kernels::ffma_tma_schedule(c, m, n, batch, {whole, parts, cluster}, ctas, 132);
        EXPECT_TRUE(shared.cluster == cluster && shared.clusters == s.units && shared.units == s.units);
        EXPECT_TRUE(shared.split_tiles == 0 && shared.workspace_bytes == 0);
        expect_sound(shared, batch);
      }
      if (HasFailure()) return;
    }
}

// TMA brings what is aligned, and what lies along k is turned; others come by words, and what would be turned then,
// too.
TEST(FfmaTmaArguments, LoadsAreWhatTheOperandsAllow) {
  using kernels::PanelLoad;
  constexpr kernels::FfmaTmaConfig c = kernels::kConfigs<kernels::Family::ffma_tma>.front();
  const auto loads = [&](std::int64_t a_row, std::int64_t a_col, std::uintptr_t a, std::int64_t batch_stride) {
    kernels::GemmParams g{};
    g.a = {reinterpret_cast<const void*>(a), a_row, a_col, batch_stride};
    g.b = {reinterpret_cast<const void*>(std::uintptr_t{1 << 20}), 128, 1, batch_stride};
    g.c = {reinterpret_cast<void*>(std::uintptr_t{1 << 21}), 1, 100, batch_stride};
    g.m = g.n = g.k = 100, g.batch_count = 2, g.alpha = kernels::Factor::of(1.0f);
    return kernels::ffma_tma_arguments(c, g, kernels::ffma_tma_schedule(c, 100, 100, 2, {}, 4, 4), nullptr);
  };
  EXPECT_EQ(loads(1, 100, 1 << 16, 40000).a_load, PanelLoad::bulk);
  EXPECT_EQ(loads(1, 100, 1 << 16, 40000).b_load, PanelLoad::bulk);
  EXPECT_EQ(loads(1, 100, (1 << 16) + 4, 40000).a_load, PanelLoad::words_mn);
  EXPECT_EQ(loads(1, 101, 1 << 16, 40000).a_load, PanelLoad::words_mn);
  EXPECT_EQ(loads(1, 100, 1 << 16, 40001).b_load, PanelLoad::words_mn);
  const auto turned = loads(100, 1, 1 << 16, 40000);
  EXPECT_EQ(turned.a_load, PanelLoad::turned);
  EXPECT_EQ(turned.b_load, PanelLoad::bulk);
  EXPECT_EQ(turned.a_map, (kernels::TensorBox{turned.a.data, 100, 100, 2, 100, 40000, 32, 256, 128, 4}));
  EXPECT_EQ(turned.b_map, (kernels::TensorBox{turned.b.data, 100, 100, 2, 128, 40000, 32, 32, 128, 4}));
  EXPECT_EQ(loads(99, 1, 1 << 16, 40000).a_load, PanelLoad::words_k) << "lines overlap";
  EXPECT_EQ(loads(100, 1, (1 << 16) + 4, 40000).a_load, PanelLoad::words_k);
  EXPECT_EQ(loads(101, 1, 1 << 16, 40000).a_load, PanelLoad::words_k);
  EXPECT_EQ(loads(100, 2, 1 << 16, 40000).a_load, PanelLoad::words_k);
  EXPECT_EQ(loads(100, 1, 1 << 16, 40002).a_load, PanelLoad::words_k);
  EXPECT_EQ(loads(100, 1, 1 << 16, 40002).b_load, PanelLoad::words_mn);
  EXPECT_EQ(loads(1, 100, 1 << 16, 40000).a_load, PanelLoad::bulk);
  EXPECT_TRUE(loads(1, 100, 1 << 16, 40000).c_vectors);
  EXPECT_FALSE(loads(1, 100, 1 << 16, 40001).c_vectors);
}

// TMA brings aligned operands, in panels of 16 along m or n, in one box along k; others come by words.
TEST(DmmaTmaArguments, LoadsAreWhatTheOperandsAllow) {
  const kernels::TileConfig c = kernels::nn(kernels::kConfigs<kernels::Family::dmma_tma>.front());
  const auto arguments = [&](std::uintptr_t a, std::int64_t lda, std::int64_t batch_stride, double alpha) {
    kernels::GemmParams g{};
    g.a = {reinterpret_cast<const void*>(a), 1, lda, batch_stride};
    g.b = {reinterpret_cast<const void*>(std::uintptr_t{1 << 20}), 1, 128, 0};
    g.c = {reinterpret_cast<void*>(std::uintptr_t{1 << 21}), 1, 100, 40000};
    g.m = 100, g.n = 90, g.k = 110, g.batch_count = 2, g.alpha = kernels::Factor::of(alpha);
    return kernels::dmma_tma_arguments(c, g, kernels::tile_schedule(c, 100, 90, 2, {}, 132), nullptr);
  };
  const auto aligned = arguments(1 << 16, 100, 40000, 1);
  EXPECT_TRUE(aligned.a_bulk && aligned.b_bulk);
  EXPECT_EQ(aligned.a_map, (kernels::TensorBox{aligned.a.data, 100, 110, 2, 100, 40000, 16, c.cta_k, 128, 8}));
  EXPECT_EQ(aligned.b_map, (kernels::TensorBox{aligned.b.data, 110, 90, 1, 128, 0, 16, c.cta_n, 128, 8}));
  EXPECT_FALSE(arguments((1 << 16) + 8, 100, 40000, 1).a_bulk);
  EXPECT_FALSE(arguments(1 << 16, 101, 40000, 1).a_bulk);
  EXPECT_FALSE(arguments(1 << 16, 100, 40001, 1).a_bulk);
  EXPECT_TRUE(arguments(1 << 16, 101, 40000, 1).b_bulk);
  EXPECT_FALSE(arguments(1 << 16, 100, 40000, 0).b_bulk) << "nothing is read";
}

TEST(FfmaTmaCost, IsFiniteAndSplitsWithinTheWorkspace) {
  constexpr double kExtents[] = {1, 8, 127, 128, 1000, 4096, 16384};
  Random random(37);
  constexpr double kRounding = 1 + 1e-12;
  int splits = 0, clusters = 0;
  for (int round = 0; round < 300; ++round)
    for (const kernels::FfmaTmaConfig& c : kernels::kConfigs<kernels::Family::ffma_tma>) {
      kernels::FfmaTmaCostProblem p;
      p.m = pick(random, kExtents), p.n = pick(random, kExtents), p.k = pick(random, kExtents);
      constexpr kernels::PanelLoad kLoads[] = {kernels::PanelLoad::bulk, kernels::PanelLoad::turned,
                                               kernels::PanelLoad::words_k};
      p.load_a = pick(random, kLoads), p.load_b = pick(random, kLoads);
      const kernels::CostDevice device;
      const kernels::FfmaTmaCost cost(c, p, device);
      const double limit = 32 << 20, tiles = cost.tiles();
      const auto whole = cost.whole();
      ASSERT_TRUE(std::isfinite(whole.us) && whole.us > 0 && whole.split.parts == 1);
      if (const auto shared = cost.best_in_cluster(0)) {
        ++clusters;
        ASSERT_TRUE(std::isfinite(shared->us) && shared->us > 0);
        EXPECT_GE(shared->us * kRounding, cost.least_split_us());
        EXPECT_TRUE(shared->split.in_cluster);
        EXPECT_LE(shared->split.parts, c.most_along_k());
        EXPECT_LE(shared->units, c.ctas_per_sm) << "all clusters at the same time";
        EXPECT_EQ(cost.split_bytes(shared->split), 0);
      }
      if (const auto best = cost.best_split(limit)) {
        ++splits;
        ASSERT_TRUE(std::isfinite(best->us) && best->us > 0 && best->rounds >= 1);
        EXPECT_GE(best->us * kRounding, cost.least_split_us());
        EXPECT_GT(best->split.parts, 1);
        EXPECT_LE(cost.split_bytes(best->split), limit);
        EXPECT_LE(best->split.parts * c.cta_k(), p.k + c.cta_k()) << "each part has a slice of K";
        EXPECT_TRUE(best->split.whole_tiles >= 0 && best->split.whole_tiles < tiles);
        // None of the others with as many whole tiles, one by one, is faster.
        for (int units = 1; units <= 3 * c.ctas_per_sm; ++units) {
          const double fill = std::floor(units * device.sms / (tiles - best->split.whole_tiles));
          const kernels::FfmaTmaSplit split = {best->split.whole_tiles, static_cast<int>(std::min(fill, 1024.0))};
          if (split.parts >= 2 && 2 * split.parts * c.cta_k() <= p.k && cost.split_bytes(split) <= limit) {
            EXPECT_LE(best->us, cost(split).us) << split.parts;
          }
        }
      }
    }
  EXPECT_GT(splits, 100);
  EXPECT_GT(clusters, 100);
}

TEST(TileSchedule, CoversC) {
  constexpr std::int64_t kExtents[] = {1, 2, 31, 32, 33, 127, 128, 129, 1000, 3000};
  Random random(35);
  for (int i = 0; i < kernels::count() && !HasFailure(); ++i) {
    const kernels::KernelInfo& kernel = kernels::info(i);
    if (kernel.family == kernels::Family::wgmma_tma) continue;
    SCOPED_TRACE(kernel.name);
    const kernels::TileConfig& c = kernel.config;
    const std::int64_t m = pick(random, kExtents), n = pick(random, kExtents), batch = random.integer(1, 3);
    const Schedule s = kernels::tile_schedule(c, m, n, batch, {}, 132);
    EXPECT_TRUE(s.tiles_m * c.cta_m >= m && (s.tiles_m - 1) * c.cta_m < m);
    EXPECT_TRUE(s.tiles_n * c.cta_n >= n && (s.tiles_n - 1) * c.cta_n < n);
    EXPECT_EQ(s.whole_tiles, s.tiles_m * s.tiles_n * batch);
    EXPECT_EQ(s.clusters, s.units);
    expect_sound(s, batch);
    const std::int64_t whole = random.integer(0, s.units - 1);
    const int parts = static_cast<int>(random.integer(2, 20));
    const Schedule split = kernels::tile_schedule(c, m, n, batch, {whole, parts}, 132);
    EXPECT_TRUE(split.whole_tiles == whole && split.split_tiles == s.units - whole);
    EXPECT_EQ(split.workspace_bytes,
              static_cast<std::size_t>(size_of(sums_of(c.type)) * split.split_tiles * parts * c.cta_m * c.cta_n));
    expect_sound(split, batch);
  }
}

// With so many bytes each, an SM has room for an even share of the CTAs and for no more.
TEST(TileSchedule, SharedMemoryLeavesRoomForAnEvenShare) {
  constexpr int kMostBytes[] = {64 * 1024, 99 * 1024, 163 * 1024, 227 * 1024}, kReserved = 1024;
  Random random(36);
  for (int i = 0; i < 2000; ++i) {
    const int sms = static_cast<int>(random.integer(1, 200)), most = pick(random, kMostBytes);
    const std::int64_t ctas = random.integer(1, 20 * sms), share = (ctas + sms - 1) / sms;
    const std::int64_t bytes = kernels::bytes_of_even_share(ctas, sms, most);
    if (bytes == 0) {
      EXPECT_GT(share, 16) << ctas;
      continue;
    }
    EXPECT_LE(bytes, most);
    EXPECT_LE(share * (bytes + kReserved), most + kReserved) << ctas << " of " << sms << " SMs";
    EXPECT_GT((share + 1) * (bytes + kReserved), most + kReserved) << ctas << " of " << sms << " SMs";
  }
}

// ---- The sums of split tiles ----------------------------------------------------------------------------------------

// A vector is two columns in two rows, 8 apart. Together they are the tile, each element once.
TEST(SplitSumLayout, VectorsCoverTheTile) {
  for_each_instance([](const Instance& instance) {
    const int rows = instance.tile_rows() * instance.cluster_rows();
    const int columns = instance.tile_columns() * instance.cluster_columns();
    for (const unsigned tiles : {1u, 3u}) {
      const SplitSumLayout layout = kernels::split_sum_layout(instance.config, instance.schedule(tiles));
      EXPECT_EQ(layout.rows, rows);
      EXPECT_EQ(layout.columns, columns);
      EXPECT_EQ(layout.transposed, instance.config.transposed);
      ASSERT_EQ(layout.vectors() * 4, std::int64_t{tiles} * rows * columns);
      std::vector<char> seen(static_cast<std::size_t>(layout.vectors() * 4), 0);
      for (std::int64_t index = 0; index < layout.vectors(); ++index) {
        const SplitSumLayout::Position at = layout.position(index);
        ASSERT_EQ(at.tile, index / (layout.vectors() / tiles)) << "tile after tile";
        for (int e = 0; e < 4; ++e) {
          const int row = at.row + layout.row_of(e), column = at.column + layout.column_of(e);
          ASSERT_TRUE(row >= 0 && row < rows && column >= 0 && column < columns) << index;
          char& mark = seen[static_cast<std::size_t>((std::int64_t{at.tile} * rows + row) * columns + column)];
          ASSERT_EQ(mark, 0) << "element " << row << ", " << column << " again in vector " << index;
          mark = 1;
        }
      }
    }
  });
}

TEST(SplitSumLayout, ColumnsCoverTheTile) {
  const kernels::TileConfig c{.cta_m = 32, .cta_n = 8};
  const Schedule s = kernels::tile_schedule(c, 64, 8, 1, {0, 2}, 132);
  const SplitSumLayout layout = kernels::tile_sum_layout(c, s);
  ASSERT_EQ(layout.vectors() * 4, 2 * 32 * 8);
  for (std::int64_t index = 0; index < layout.vectors(); ++index) {
    const SplitSumLayout::Position at = layout.position(index);
    for (int e = 0; e < 4; ++e)
      EXPECT_EQ(at.tile * 256 + (at.column + layout.column_of(e)) * 32 + at.row + layout.row_of(e), 4 * index + e);
  }
}

// What wgmma_tma writes: CTA after CTA of a unit, consumer after consumer, in it the accumulators of all threads, four
// of each at a time. Which element of D an accumulator is follows from the fragment of wgmma (common/sm90/wgmma.cuh):
// warp w has the rows 16 w to 16 w + 15 of a slab of 64, lane l the rows l / 4 and l / 4 + 8 of these; registers
// 4 g + 0, 1 are columns 8 g + 2 (l % 4) + 0, 1 of the upper row, 4 g + 2, 3 of the lower.
TEST(SplitSumLayout, IsTheOrderOfTheAccumulators) {
  constexpr unsigned kTiles = 3, kParts = 2;
  for_each_instance([](const Instance& instance) {
    const WgmmaTmaConfig& c = instance.config;
    if (instance.cluster.k > 1) return;  // these share K within the cluster
    const SplitSumLayout layout = kernels::split_sum_layout(c, instance.schedule(kTiles));
    const int groups = c.ping_pong ? 1 : c.groups_rows * c.groups_columns;
    const int groups_columns = c.ping_pong ? 1 : c.groups_columns;
    const int group_rows = instance.tile_rows() / (groups / groups_columns);
    const int group_columns = instance.tile_columns() / groups_columns;
    const int registers = group_columns / 2;  // of a thread, per slab
    const int cluster = instance.cluster_rows() * instance.cluster_columns();
    kernels::BasicSchedule<unsigned> work{};
    work.tiles_n = 10;
    work.whole_tiles = 10 - kTiles, work.split_tiles = kTiles, work.parts = kParts;
    work.units = 10 - kTiles + kTiles * kParts;

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
                  ASSERT_EQ(at.row + layout.row_of(e), row) << "vector " << index << " element " << e;
                  ASSERT_EQ(at.column + layout.column_of(e), column) << "vector " << index << " element " << e;
                }
              }
    EXPECT_EQ(index, layout.vectors() * kParts) << "the workspace is what the parts fill";
    kernels::CostProblem problem{};
    problem.m = c.cta_m * instance.cluster.m, problem.n = c.cta_n * instance.cluster.n, problem.k = 4096;
    problem.batch_count = 10;
    EXPECT_EQ(16.0 * static_cast<double>(index),
              kernels::split_bytes(c, instance.cluster, problem, {10 - kTiles, kParts}));
  });
}

TEST(SplitSum, AddsUpProductsOfAnyDepth) {
  for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 31, std::int64_t{1} << 32}) {
    kernels::GemmParams g{};
    g.k = k;
    EXPECT_EQ(kernels::split_sum_params(g, {}, nullptr, {}).k > 0, k > 0) << k;
  }
}

TEST(SplitSum, LanesShareThePartsOut) {
  Random random(34);
  for_each_instance([&](const Instance& instance) {
    for (int i = 0; i < 40 && !testing::Test::HasFailure(); ++i) {
      const auto tiles = static_cast<unsigned>(random.integer(1, i % 2 != 0 ? 4 : 600));
      SplitSumParams p{};
      p.layout = kernels::split_sum_layout(instance.config, instance.schedule(tiles));
      p.schedule.parts = static_cast<unsigned>(random.integer(2, i % 3 != 0 ? 40 : 1024));
      p.schedule.sum_lanes = kernels::sum_lanes(p.layout.vectors(), p.schedule.parts, 132);
      SCOPED_TRACE(format("%u tiles, %d parts, %d lanes", tiles, p.parts(), p.lanes()));
      EXPECT_TRUE(p.lanes() >= 1 && p.lanes() <= 32 && (p.lanes() & (p.lanes() - 1)) == 0);
      const std::int64_t vectors = SplitSumParams::kThreads / p.lanes();  // of a CTA
      EXPECT_GE(p.ctas() * vectors, p.layout.vectors());
      EXPECT_LT((p.ctas() - 1) * vectors, p.layout.vectors()) << "no CTA without work";
      int next = 0;
      for (int lane = 0; lane < p.lanes(); ++lane) {
        const int begin = p.parts() * lane / p.lanes(), end = p.parts() * (lane + 1) / p.lanes();
        EXPECT_EQ(begin, next);
        EXPECT_GT(end, begin) << "lane " << lane << " has nothing to add";
        next = end;
      }
      EXPECT_EQ(next, p.parts());
    }
  });
}

}  // namespace
}  // namespace xgemm::test
