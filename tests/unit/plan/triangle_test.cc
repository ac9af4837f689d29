// Plans of triangles of C: their tiles are walked once each, and only those that have a part in them are paid for.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "kernels/common/tile_schedule.h"
#include "kernels/family.h"
#include "kernels/ffma_tma/schedule.h"
#include "plan/planner.h"
#include "support/matrix.h"
#include "unit/core/args.h"
#include "unit/plan/plans.h"

namespace xgemm::test {
namespace {

using kernels::Schedule;

// Every tile with an element of the triangle once, and of the others only some in the blocks on the diagonal and at the
// edge.
void expect_walked(const Schedule& s, Fill fill, std::int64_t n, std::int64_t batch, int tile_m, int tile_n) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, int> seen;
  const std::int64_t all = s.whole_tiles + s.split_tiles;
  ASSERT_EQ(all, s.tiles_m * s.tiles_n * batch);
  for (std::int64_t tile = 0; tile < all; ++tile) {
    const auto wide = s.position(tile);
    const auto narrow = s.as<unsigned>().position(static_cast<unsigned>(tile));
    ASSERT_EQ(wide.m, narrow.m);
    ASSERT_EQ(wide.n, narrow.n);
    ASSERT_EQ((++seen[{wide.m, wide.n, wide.batch}]), 1);
  }
  const std::int64_t tiles_m = (n + tile_m - 1) / tile_m, tiles_n = (n + tile_n - 1) / tile_n;
  std::int64_t touched = 0;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = 0; i < tiles_m; ++i)
      for (std::int64_t j = 0; j < tiles_n; ++j) {
        if (!touches(fill, i * tile_m, j * tile_n, tile_m, tile_n)) continue;
        ++touched;
        ASSERT_EQ((seen[{i, j, b}]), 1) << i << ' ' << j;
      }
  const std::int64_t side = std::lcm(tile_m, tile_n), blocks = (n + side - 1) / side;
  const std::int64_t in_a_block = (side / tile_m) * (side / tile_n);
  EXPECT_LE(all - touched, batch * 2 * blocks * (in_a_block - 1));
}

TEST(TrianglePlan, EveryTileOnce) {
  Random random(41);
  for (int round = 0; round < 1500 && !HasFailure(); ++round) {
    kernels::TileConfig c;
    c.cta_m = pick(random, {32, 64, 96, 128});
    c.cta_n = pick(random, {1, 8, 32, 64, 128});
    c.raster_group = pick(random, {1, 4, 8});
    const Fill fill = pick(random, {Fill::lower, Fill::upper});
    const std::int64_t n = random.integer(1, 900), batch = random.integer(1, 2);
    const int parts = static_cast<int>(random.integer(1, 3));
    const Schedule s = kernels::tile_schedule(c, n, n, batch, {random.integer(0, 20), parts}, 132, fill);
    expect_walked(s, fill, n, batch, c.cta_m, c.cta_n);

    kernels::FfmaTmaConfig f;
    f.cta_m = pick(random, {32, 64, 128, 256});
    f.cta_n = pick(random, {32, 64, 128});
    const Schedule t = kernels::ffma_tma_schedule(f, n, n, batch, {random.integer(0, 20), parts},
                                                  pick(random, {1, 7, 132}), 132, fill);
    expect_walked(t, fill, n, batch, f.cta_m, f.cta_n);
  }
}

Problem update(DType type, Fill fill, std::int64_t n, std::int64_t k) {
  Problem p;
  p.a.type = p.b.type = p.c.type = type;
  p.m = p.n = n, p.k = k;
  p.fill = fill;
  p.alpha.value = 1;
  const auto place = [](int number) { return reinterpret_cast<void*>(std::uintptr_t{1} << (40 + number)); };
  p.a = {type, place(0), Op::none, n, 0};
  p.b = {type, place(0), Op::transpose, n, 0};
  p.c = {type, place(1), n, 0};
  return p;
}

TEST(TrianglePlan, EveryGpuAndTypeHasOne) {
  for (const device::DeviceInfo& device : fake_devices())
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64})
      for (const Fill fill : {Fill::lower, Fill::upper})
        for (const std::int64_t n : {1, 7, 64, 1000, 8192}) {
          const Problem p = update(type, fill, n, 500);
          plan::Plan chosen;
          ASSERT_TRUE(plan::make_plan(p, plan::gather_facts(p), device, "", &chosen).ok()) << last_error();
          EXPECT_EQ(chosen.schedule.triangle.fill, fill);
          EXPECT_TRUE(kernels::describe(kernels::info(chosen.kernel).family).triangles);
        }
}

// The elements beyond the diagonal would be read, for a copy that no kernel looks at.
TEST(TrianglePlan, OldCIsReadWhereItLies) {
  for (const Fill fill : {Fill::full, Fill::lower, Fill::upper}) {
    Problem p = update(DType::f16, fill, 1000, 500);
    p.beta = {1, nullptr};
    p.c.ld += 1;
    const std::vector<plan::Packing> all = plan::packings_of(p, plan::gather_facts(p), h200());
    EXPECT_EQ(std::ranges::any_of(all, [](const plan::Packing& x) { return x.c.used; }), fill == Fill::full);
  }
}

// Little more than half of the time of all of C, where that is many tiles.
TEST(TrianglePlan, CostsWhatItsTilesDo) {
  for (const DType type : {DType::f32, DType::f64}) {
    const Problem triangle = update(type, Fill::lower, 8192, 8192), all = update(type, Fill::full, 8192, 8192);
    plan::Plan of_triangle, of_all;
    ASSERT_TRUE(plan::make_plan(triangle, plan::gather_facts(triangle), h200(), "", &of_triangle).ok());
    ASSERT_TRUE(plan::make_plan(all, plan::gather_facts(all), h200(), "", &of_all).ok());
    EXPECT_LT(of_triangle.estimated_us, 0.56 * of_all.estimated_us);
    EXPECT_GT(of_triangle.estimated_us, 0.45 * of_all.estimated_us);
  }
}

TEST(TrianglePlan, FamiliesWithoutThemSayWhy) {
  const Problem p = update(DType::f32, Fill::lower, 4, 100000);
  for (int i = 0; i < kernels::count(); ++i) {
    const kernels::KernelInfo& kernel = kernels::info(i);
    if (kernels::describe(kernel.family).triangles || kernel.config.types() != p.types()) continue;
    EXPECT_NE(plan::why_not(kernel, p, plan::gather_facts(p), h200()), "") << kernel.name;
  }
}

}  // namespace
}  // namespace xgemm::test
