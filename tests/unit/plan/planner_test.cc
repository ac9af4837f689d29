// A walk over thousands of problems on made-up GPUs: every plan is legal, by rules that are written here anew from what
// a kernel does with its operands; the choice is the best by the planner's own estimates, finite, pure, and `naive`
// only where it should be.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <tuple>

#include "kernels/family.h"
#include "kernels/mma_swizzled/instances.h"
#include "kernels/wgmma_tma/instances.h"
#include "unit/plan/devices.h"
#include "unit/plan/plans.h"
#include "unit/plan/problems.h"

namespace xgemm::test {
namespace {

using device::DeviceInfo;
using kernels::Axis;
using kernels::Family;
using kernels::KernelInfo;
using kernels::TileConfig;
using plan::Plan;

// ---- Legality, from the addresses ---------------------------------------------------------------------------------

// An operand as kernels index it, op() applied: element (i, j) of entry b is at base + i*row + j*col + b*batch bytes.
struct Strides {
  std::uint64_t base;
  std::int64_t rows, cols, row, col, batch_count;
  std::uint64_t batch;
};

template <class Matrix>
Strides strides_of(const Matrix& x, bool transposed, std::int64_t rows, std::int64_t cols, const Problem& p) {
  const std::int64_t size = size_of(x.type);
  return {reinterpret_cast<std::uintptr_t>(x.data),
          rows,
          cols,
          (transposed ? x.ld : 1) * size,
          (transposed ? 1 : x.ld) * size,
          p.batch_count,
          static_cast<std::uint64_t>(x.batch_stride) * static_cast<std::uint64_t>(size)};
}

struct Operands {
  Strides a, b, c;
};

Operands operands_of(const Problem& p) {
  return {strides_of(p.a, p.a.op == Op::transpose, p.m, p.k, p), strides_of(p.b, p.b.op == Op::transpose, p.k, p.n, p),
          strides_of(p.c, false, p.m, p.n, p)};
}

// Along `axis` a kernel steps from one vector to the next by whole vectors, across it and from entry to entry by
// strides. Every vector that has an element inside must begin at a multiple of its size: asynchronous copies fetch
// partial vectors with the full width and a byte count, so that the edge is no excuse. What matters of the addresses is
// linear, so that the first and second line and entry stand for all.
bool loads_are_legal(const Strides& x, Axis axis, int vector, int size) {
  const std::int64_t extent = axis == Axis::row ? x.rows : x.cols, lines = axis == Axis::row ? x.cols : x.rows;
  const std::int64_t step = axis == Axis::row ? x.row : x.col, line_step = axis == Axis::row ? x.col : x.row;
  if (extent > 1 && step != size) return false;  // the axis is not contiguous
  for (std::int64_t line = 0; line < std::min<std::int64_t>(lines, 2); ++line)
    for (std::int64_t entry = 0; entry < std::min<std::int64_t>(x.batch_count, 2); ++entry) {
      const std::uint64_t address = x.base + static_cast<std::uint64_t>(line) * static_cast<std::uint64_t>(line_step) +
                                    static_cast<std::uint64_t>(entry) * x.batch;
      if (address % static_cast<std::uint64_t>(vector * size) != 0) return false;
    }
  return true;
}

// The copy engine has 32-bit coordinates with a sign, and strides of 40 bits; the kernel counts tiles in
// 32 bits. 4096 elements are left for what tiles and slices exceed the matrix by.
bool tma_reaches(const Strides& x, Axis axis) {
  const std::int64_t lines = axis == Axis::row ? x.cols : x.rows;
  const std::int64_t line_step = axis == Axis::row ? x.col : x.row;
  constexpr std::int64_t kLimit = std::int64_t{1} << 40;
  return (lines <= 1 || line_step < kLimit) && (x.batch_count <= 1 || x.batch < static_cast<std::uint64_t>(kLimit));
}

bool tma_serves(const KernelInfo& kernel, const Problem& p, const Operands& x) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 4096;
  const kernels::WgmmaTmaConfig& c = kernels::config_of<Family::wgmma_tma>(kernel);
  if (std::max({p.m, p.n, p.k, p.batch_count}) > kMost) return false;
  const auto tiles = [](std::int64_t extent, std::int64_t size) { return __int128{(extent + size - 1) / size}; };
  if (tiles(p.m, c.cta_m) * tiles(p.n, c.cta_n) * p.batch_count >= __int128{1} << 31) return false;
  return (size_of(c.type_c) != 2 || tma_reaches(x.c, Axis::row)) &&
         (!p.reads_inputs() || (tma_reaches(x.a, c.a_contiguous) && tma_reaches(x.b, c.b_contiguous)));
}

// Which CTAs may have.
int tasks_of_tile(const KernelInfo& kernel, const Problem& p) {
  return is_for_vectors(kernel) ? kernels::VectorShape::of(kernel.config).tasks_of_tile(std::min(p.m, p.n)) : 1;
}

// ffma_tma, dmma_tma and wgmma_words load what the copy engine cannot reach by other ways.
bool any_load_serves(const KernelInfo& kernel, const Problem& p, const Operands& x) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 4096;
  const auto tiles = [](std::int64_t extent, std::int64_t size) { return __int128{(extent + size - 1) / size}; };
  const bool tma_stores = kernel.family == Family::wgmma_words && size_of(kernel.config.type_c) == 2;
  if (tma_stores && !tma_reaches(x.c, Axis::row)) return false;
  return std::max({p.m, p.n, p.k}) <= kMost &&
         tiles(p.m, kernel.config.cta_m) * tiles(p.n, kernel.config.cta_n) * p.batch_count * tasks_of_tile(kernel, p) <
             __int128{1} << 31;
}

// fp16x3 is for sums of some length, and for batches whose operands take no more than those of
// the largest product.
bool fp16x3_serves(const Problem& p, const DeviceInfo& device) {
  const auto elements = [&](std::int64_t lines, const InputMatrix& x) {
    return double(lines) * double(p.k) * (x.batch_stride == 0 ? 1 : double(p.batch_count));
  };
  const bool shared = p.a.batch_stride == 0 && p.b.batch_stride == 0;
  const bool few = p.batch_count == 1 ||
                   (shared ? p.batch_count <= 1024 : elements(p.m, p.a) + elements(p.n, p.b) <= 2.0 * 8192 * 8192);
  return few && p.reads_inputs() && p.k >= 512 && std::max({p.m, p.n, p.k}) <= 8192 && device.has_memory_pools;
}

// row_lanes and ffma_async are for a C of some size, and a k; where TMA stores C for ffma_tma, for a smaller one.
bool short_k_serves(const Problem& p, const DeviceInfo& device, const Operands& x) {
  const __int128 elements = __int128{p.m} * p.n * p.batch_count;
  if (device.compute_capability == 90 && !p.reads_c() && p.k > 8 && p.m % 4 == 0 &&
      loads_are_legal(x.c, Axis::row, 4, 4) && elements > __int128{1} << 25)
    return false;
  return elements <= __int128{1} << 30 && p.k <= (std::int64_t{1} << 31) - 4096;
}

__int128 tiles_of(const TileConfig& c, const Problem& p) {
  return __int128{(p.m + c.cta_m - 1) / c.cta_m} * ((p.n + c.cta_n - 1) / c.cta_n) * p.batch_count;
}

bool tiles_fit(const TileConfig& c, const Problem& p) {
  return tiles_of(c, p) <= __int128{1} << 30;
}

bool counts_in_32_bits(const TileConfig& c, const Problem& p) {
  return tiles_of(c, p) < __int128{1} << 31 && p.k < (std::int64_t{1} << 31) - c.cta_k;
}

// Tiles of doubles, and rings of skinny, are for GPUs with much shared memory.
bool fits(const KernelInfo& kernel, const DeviceInfo& device) {
  const TileConfig& c = kernel.config;
  if (has_ring(kernel)) return kernels::SkinnyShape::ring_bytes(c) <= device.max_shared_bytes_per_block;
  return kernel.family != Family::mma_swizzled || c.type != DType::f64 ||
         8 * c.stages * (c.cta_m * c.cta_k + c.cta_k * c.cta_n) <= device.max_shared_bytes_per_block;
}

// x: the operands, of which p may be a block. old_c: what is read in place of C; C itself where there is no copy.
bool is_legal(const KernelInfo& kernel, const Problem& p, const DeviceInfo& device, const Operands& x,
              const Strides* old_c = nullptr) {
  const TileConfig& c = kernel.config;
  const int size = size_of(c.type);
  if (c.compute != Compute::strict && c.compute != p.compute) return false;
  if (c.types() != p.types() || device.compute_capability < c.min_compute_capability) return false;
  const bool for_sm75 = kernel.family == Family::double_buffered && c.type == DType::f16;
  if ((for_sm75 && device.compute_capability != 75) || !fits(kernel, device)) return false;
  const bool any_load =
      kernel.family == Family::ffma_tma || kernel.family == Family::dmma_tma || kernel.family == Family::wgmma_words;
  const bool for_sm90 = any_load || kernel.family == Family::wgmma_tma || kernel.family == Family::fp16x3 ||
                        kernel.family == Family::mma_lines;
  if (for_sm90 && device.compute_capability != 90) return false;
  if (kernel.family == Family::wgmma_tma && !tma_serves(kernel, p, x)) return false;
  if ((any_load || is_for_vectors(kernel) || has_ring(kernel)) && !any_load_serves(kernel, p, x)) return false;
  if (kernel.family == Family::fp16x3 && !fp16x3_serves(p, device)) return false;
  const bool short_k = kernel.family == Family::row_lanes || kernel.family == Family::ffma_async;
  if (short_k && !short_k_serves(p, device, x)) return false;
  if (kernel.family == Family::mma_lines && !tiles_fit(c, p)) return false;
  if (kernel.family == Family::tiny_batched && !counts_in_32_bits(c, p)) return false;
  if (!loads_are_legal(x.c, Axis::row, c.vector_c, size_of(c.type_c))) return false;
  if (p.reads_c() && !loads_are_legal(old_c ? *old_c : x.c, Axis::row, c.vector_old_c, size_of(c.type_c))) return false;
  if (!p.reads_inputs() || c.any_strides) return true;
  return loads_are_legal(x.a, c.a_contiguous, c.vector_a(), size) &&
         loads_are_legal(x.b, c.b_contiguous, c.vector_b(), size);
}

bool is_legal(const KernelInfo& kernel, const Problem& p, const DeviceInfo& device) {
  return is_legal(kernel, p, device, operands_of(p));
}

// The same of each block of the batch, with copies in place of operands.
bool is_legal_packed(const KernelInfo& kernel, const Problem& p, const plan::Packing& packing,
                     const DeviceInfo& device) {
  const Problem block = plan::packed_problem(packing, p);
  Problem of_all_entries = block;
  of_all_entries.batch_count = p.batch_count;
  const Operands x = operands_of(of_all_entries);
  Strides old_c = x.c;
  if (packing.c.used) {
    old_c.base = packing.c.offset;
    old_c.col = packing.c.ld * size_of(p.c.type);
    old_c.batch = static_cast<std::uint64_t>(packing.c.batch_stride * size_of(p.c.type));
  }
  return is_legal(kernel, block, device, x, &old_c);
}

// With its operands as they lie, or as copies.
bool may_serve(const KernelInfo& kernel, const Problem& p, const DeviceInfo& device) {
  if (is_legal(kernel, p, device)) return true;
  const kernels::FamilyInfo& family = kernels::describe(kernel.family);
  if (family.fallback != nullptr || !family.takes_copies(kernel)) return false;
  const std::vector<plan::Packing> packings = plan::packings_of(p, plan::gather_facts(p), device);
  return std::any_of(packings.begin(), packings.end(),
                     [&](const plan::Packing& packing) { return is_legal_packed(kernel, p, packing, device); });
}

// Whether an instance is not weighed, as one of the family that it yields to can serve.
bool yields(const KernelInfo& kernel, const Problem& p, const DeviceInfo& device) {
  for (int i = 0; i < kernels::count(); ++i)
    if (kernels::info(i).family == kernels::describe(kernel.family).yields_to && is_legal(kernels::info(i), p, device))
      return true;
  return false;
}

// ---- The walk -----------------------------------------------------------------------------------------------------

std::string describe(const Problem& p, const DeviceInfo& device) {
  return to_string(p) + format(" a=%p b=%p c=%p on ", p.a.data, p.b.data, p.c.data) + device::to_string(device);
}

Plan plan_for(const Problem& p, const DeviceInfo& device, std::string_view force = "") {
  Plan chosen;
  const Status status = plan::make_plan(p, plan::gather_facts(p), device, force, &chosen);
  EXPECT_TRUE(status.ok()) << last_error();
  return chosen;
}

template <class F>
void walk(std::uint64_t seed, int count, F&& f) {
  Random random(seed);
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    const Problem p = random_problem(random);
    const DeviceInfo& device = fake_devices()[static_cast<std::size_t>(
        random.integer(0, static_cast<std::int64_t>(fake_devices().size()) - 1))];
    SCOPED_TRACE("problem " + std::to_string(i) + ": " + describe(p, device));
    f(p, device);
  }
}

TEST(Planner, EveryPlanIsLegal) {
  walk(11, 20000, [](const Problem& p, const DeviceInfo& device) {
    const Plan chosen = plan_for(p, device);
    const KernelInfo& kernel = kernels::info(chosen.kernel);
    EXPECT_TRUE(chosen.packing.any() ? is_legal_packed(kernel, p, chosen.packing, device) : is_legal(kernel, p, device))
        << to_string(chosen);
    EXPECT_FALSE(chosen.forced);
  });
}

TEST(Planner, AnOlderBuildHasNoCodeForNewerInstructions) {
  Random random(31);
  for (int i = 0; i < 2000; ++i) {
    const Problem p = random_problem(random);
    for (const DeviceInfo& device : fake_devices_of_older_builds()) {
      const Plan chosen = plan_for(p, device);
      EXPECT_LE(kernels::info(chosen.kernel).config.min_compute_capability, device.code_architecture)
          << describe(p, device) << ": " << to_string(chosen);
    }
  }
}

// Both ways: nothing illegal is offered, and nothing legal is refused. Where no full vector is inside an operand, a
// kernel that does not copy asynchronously would do with less alignment than is asked for here; so would the planner.
TEST(Planner, LegalityIsExact) {
  walk(12, 4000, [](const Problem& p, const DeviceInfo& device) {
    const plan::ProblemFacts facts = plan::gather_facts(p);
    for (int i = 0; i < kernels::count(); ++i) {
      const KernelInfo& kernel = kernels::info(i);
      const std::string reason = plan::why_not(kernel, p, facts, device);
      EXPECT_EQ(reason.empty(), may_serve(kernel, p, device)) << kernel.name << ": " << reason;
    }
  });
}

TEST(Planner, TheEstimatesAreFiniteAndTheChoiceIsTheLeast) {
  walk(13, 600, [](const Problem& p, const DeviceInfo& device) {
    const Plan chosen = plan_for(p, device);
    EXPECT_TRUE(std::isfinite(chosen.estimated_us) && chosen.estimated_us > 0) << to_string(chosen);
    EXPECT_TRUE(chosen.tile_efficiency > 0 && chosen.tile_efficiency <= 1) << to_string(chosen);
    EXPECT_TRUE(chosen.schedule.tiles_m > 0 && chosen.schedule.tiles_n > 0 && chosen.schedule.clusters > 0 &&
                chosen.waves > 0)
        << to_string(chosen);
    for (int i = 0; i < kernels::count(); ++i) {
      const KernelInfo& kernel = kernels::info(i);
      if (!may_serve(kernel, p, device)) continue;
      const Plan other = plan_for(p, device, kernel.name);
      EXPECT_EQ(other.kernel, kernel.id());
      if (yields(kernel, p, device)) continue;
      EXPECT_LE(chosen.estimated_us, other.estimated_us) << to_string(other);
      EXPECT_TRUE(chosen.estimated_us < other.estimated_us || chosen.kernel <= other.kernel ||
                  (other.packing.any() && !chosen.packing.any()))
          << "of equals the simpler one";
    }
  });
}

TEST(Planner, CountsItsTiles) {
  walk(14, 3000, [](const Problem& p, const DeviceInfo& device) {
    const Plan chosen = plan_for(p, device);
    const KernelInfo& kernel = kernels::info(chosen.kernel);
    const kernels::Schedule& s = chosen.schedule;
    const std::int64_t tile_m = kernel.config.cta_m * s.cluster.m;
    const std::int64_t tile_n = kernel.config.cta_n * s.cluster.n;
    const Problem block = chosen.packing.any() ? plan::packed_problem(chosen.packing, p) : p;
    EXPECT_TRUE(static_cast<__int128>(s.tiles_m) * tile_m >= block.m &&
                static_cast<__int128>(s.tiles_m - 1) * tile_m < block.m);
    EXPECT_TRUE(static_cast<__int128>(s.tiles_n) * tile_n >= block.n &&
                static_cast<__int128>(s.tiles_n - 1) * tile_n < block.n);
    const __int128 tiles = static_cast<__int128>(s.tiles_m) * s.tiles_n * block.batch_count;
    EXPECT_TRUE(tiles >= (__int128{1} << 63) || s.whole_tiles + s.split_tiles == tiles);
    EXPECT_TRUE(s.clusters >= 1 && s.clusters <= static_cast<__int128>(s.units) * tasks_of_tile(kernel, block));
    EXPECT_TRUE(s.raster_group >= 1 && s.raster_group <= (s.raster_n ? s.tiles_n : s.tiles_m));
    // Kernels that count in 32 bits multiply where others divide.
    if (tiles >= __int128{1} << 31) return;
    const auto narrow = s.as<unsigned>();
    const auto all = static_cast<std::int64_t>(tiles);
    for (const std::int64_t tile : {std::int64_t{0}, all / 3, all / 2, all - 1}) {
      const auto at = narrow.position(static_cast<unsigned>(tile));
      const auto same = s.position(tile);
      EXPECT_TRUE(at.m == same.m && at.n == same.n && at.batch == same.batch) << tile;
    }
  });
}

// Of matrices that are found by pointers: an instance that looks where they start, also of copies.
TEST(Planner, FollowsPointers) {
  if (!kernels::is_kernel_or_family("wgmma_tma")) GTEST_SKIP() << "this build is not for sm_90";
  Random random(19);
  int checked = 0, packed = 0;
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    Problem p = random_problem(random);
    if (p.does_nothing()) continue;
    p.batch_kind = BatchKind::pointers;
    p.batch_count = random.integer(1, 2000);
    p.a.batch_stride = p.b.batch_stride = p.c.batch_stride = 0;
    // What kernels count in 64 bits is copied.
    if (double(p.m) * double(p.n) * double(p.batch_count) > 0x1p31 || std::max({p.m, p.n, p.k}) > 1 << 30) continue;
    SCOPED_TRACE(describe(p, h200()));
    const Plan chosen = plan_for(p, h200());
    ++checked;
    EXPECT_TRUE(kernels::describe(chosen.kernel.family).follows(kernels::info(chosen.kernel)));
    EXPECT_FALSE(chosen.has_fallback);
    packed += chosen.packing.any();
    Problem on_vectors = chosen.packing.any() ? plan::packed_problem(chosen.packing, p) : p;
    on_vectors.a.data = on_vectors.b.data = reinterpret_cast<const void*>(std::uintptr_t{1} << 30);
    on_vectors.c.data = reinterpret_cast<void*>(std::uintptr_t{1} << 30);
    EXPECT_TRUE(is_legal(kernels::info(chosen.kernel), on_vectors, h200())) << to_string(chosen);
    Problem moved = p;
    moved.a.data = static_cast<const char*>(p.a.data) + 8;
    moved.c.data = static_cast<char*>(p.c.data) + 24;
    EXPECT_EQ(to_string(plan_for(moved, h200())), to_string(chosen)) << "where the arrays lie says nothing";
  }
  EXPECT_TRUE(checked > 350 && packed > 20) << checked << ", " << packed;
}

// A class of lines that start anywhere has every eighth one, and the copy engine takes them up to 2^40 bytes apart.
TEST(Planner, ClassesOfLinesFitTheCopyEngine) {
  int instances = 0;
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    if (std::string_view(kernel.name).find("_lines_a_nn") == std::string_view::npos) continue;
    ++instances;
    for (const auto& [ld, lines, fits] : {std::tuple{(std::int64_t{1} << 36) - 1, 64, true},
                                          {(std::int64_t{1} << 36) + 1, 64, false},
                                          {(std::int64_t{1} << 36) + 1, 8, true}}) {
      Problem p = make_problem(kernel.config.type, 'N', 'N', 4096, 64, lines);
      p.a.ld = ld;
      const layout::ProblemFacts facts = layout::gather_facts(p);
      const kernels::Request request(p, facts, h200());
      EXPECT_EQ(kernels::describe(kernel.family).serves(kernel, request), fits) << kernel.name << ", " << ld;
    }
  }
  EXPECT_TRUE(instances > 0 || !kernels::is_kernel_or_family("wgmma_words"));
}

// The same question has the same answer, whatever was asked in between, and the operands' addresses count by their
// alignment alone.
TEST(Planner, IsPure) {
  Random random(15);
  std::vector<std::pair<Problem, std::string>> first;
  const DeviceInfo& device = fake_devices()[6];
  for (int i = 0; i < 500; ++i) {
    const Problem p = random_problem(random);
    first.emplace_back(p, to_string(plan_for(p, device)));
  }
  for (auto at = first.rbegin(); at != first.rend(); ++at) {
    EXPECT_EQ(to_string(plan_for(at->first, device)), at->second);
    Problem moved = at->first;
    const auto shift = [](const void* x) { return static_cast<const char*>(x) + (1 << 20); };
    moved.a.data = shift(moved.a.data);
    moved.b.data = shift(moved.b.data);
    moved.c.data = const_cast<char*>(shift(moved.c.data));
    EXPECT_EQ(to_string(plan_for(moved, device)), at->second);
  }
}

// Where naive should be. It computes one element of C per thread from global memory: any other kernel reuses what it
// loads. So it may be chosen only
//   1. where no other instance is legal (odd alignment under instances with vectors alone, a type that has no other);
//   2. where tiles cannot pay: of what any legal tile multiplies half is padding, or there are too few tiles to
//      occupy every SM, or too little to sum.
// Everywhere else - a legal tile more than half full, a CTA for each SM, two slices of K - choosing it is a defect of
// the rows or of the model. Case 2 leaves the planner free: there the rows decide, either way.
std::optional<std::string> better_than_naive(const Problem& p, const DeviceInfo& device) {
  // Of what is so little that launching takes most of the time, no kernel is much faster.
  if (double(p.m) * double(p.n) * double(p.k) * double(p.batch_count) < 0x1p20) return {};
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    const TileConfig& c = kernel.config;
    if (kernel.family == Family::naive || !is_legal(kernel, p, device) || !p.reads_inputs()) continue;
    const double tiles = std::ceil(double(p.m) / c.cta_m) * std::ceil(double(p.n) / c.cta_n);
    const double slices = std::ceil(double(p.k) / c.cta_k);
    const double useful = double(p.m) * double(p.n) * double(p.k) / (tiles * slices * c.cta_m * c.cta_n * c.cta_k);
    // smem_tiled reuses little, and is at most about twice as fast: a few CTAs more than run at a time cost all of
    // that.
    const int ctas_per_sm = kernel.family == Family::smem_tiled ? 8 : 1;
    if (useful > 0.5 && tiles * double(p.batch_count) >= ctas_per_sm * device.sm_count && slices >= 2)
      return kernel.name;
  }
  return {};
}

bool another_is_legal(const Problem& p, const DeviceInfo& device) {
  for (int i = 0; i < kernels::count(); ++i)
    if (kernels::info(i).family != Family::naive && is_legal(kernels::info(i), p, device)) return true;
  return false;
}

void expect_naive_where_it_should_be(const Problem& p, const DeviceInfo& device) {
  const Plan chosen = plan_for(p, device);
  if (kernels::info(chosen.kernel).family == Family::naive) {
    const std::optional<std::string> better = better_than_naive(p, device);
    EXPECT_FALSE(better) << *better << " is legal and fills the GPU";
  } else {
    EXPECT_TRUE(another_is_legal(p, device));
  }
}

TEST(Planner, NaiveOnlyWhereItShouldBe) {
  walk(16, 10000, expect_naive_where_it_should_be);
}

// The shapes that people have: squares, projections of a transformer at prefill and decode, odd sizes, thin ones.
TEST(Planner, NaiveOnlyWhereItShouldBeForCommonShapes) {
  const std::int64_t shapes[][3] = {{512, 512, 512},    {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096},
                                    {8192, 8192, 8192}, {1000, 1000, 1000}, {4097, 4095, 4099}, {4096, 512, 4096},
                                    {14336, 512, 4096}, {4096, 512, 14336}, {6144, 1, 4096},    {4096, 16, 4096},
                                    {128256, 1, 4096},  {1, 4096, 4096},    {31, 31, 100000},   {100000, 17, 33},
                                    {64, 64, 64},       {16, 16, 16}};
  for (const auto& [m, n, k] : shapes)
    for (const char transa : {'N', 'T'})
      for (const char transb : {'N', 'T'})
        for (const DType type : {DType::f32, DType::f16, DType::bf16})
          for (const DeviceInfo& device : fake_devices())
            for (const std::int64_t odd : {0, 1}) {
              const Problem p = make_problem(type, transa, transb, m, n, k, {odd, odd, odd, odd, odd, odd});
              SCOPED_TRACE(describe(p, device));
              expect_naive_where_it_should_be(p, device);
              if (HasFailure()) return;
            }
}

// ---- Extremes -----------------------------------------------------------------------------------------------------

TEST(Planner, HugeExtentsDoNotOverflow) {
  const std::int64_t huge[] = {
      1, 33, std::int64_t{1} << 31, std::int64_t{1} << 40, (std::int64_t{1} << 40) + 1, (std::int64_t{1} << 60) - 1};
  int seen = 0;
  for (const DType type : {DType::f32, DType::f16, DType::bf16})
    for (const std::int64_t m : huge)
      for (const std::int64_t n : huge)
        for (const std::int64_t k : huge)
          for (const std::int64_t batch : {std::int64_t{1}, std::int64_t{1} << 20}) {
            Problem p = make_problem(type, 'N', 'T', m, n, k, {}, batch);
            p.a.ld = p.a_rows(), p.b.ld = p.b_rows(), p.c.ld = m;
            // Products in 128 bits: strides that do not fit 64 are not made.
            const __int128 reach = static_cast<__int128>(m) * n;
            if (batch > 1) {
              if (reach > (std::int64_t{1} << 40) || static_cast<__int128>(m) * k > (std::int64_t{1} << 40) ||
                  static_cast<__int128>(n) * k > (std::int64_t{1} << 40))
                continue;
              p.a.batch_stride = m * k, p.b.batch_stride = n * k, p.c.batch_stride = m * n;
            }
            if (!passes_checks(p)) continue;
            ++seen;
            for (const DeviceInfo& device : fake_devices()) {
              SCOPED_TRACE(describe(p, device));
              const Plan chosen = plan_for(p, device);
              EXPECT_TRUE(std::isfinite(chosen.estimated_us) && chosen.estimated_us > 0);
              EXPECT_TRUE(chosen.schedule.clusters > 0 && chosen.waves > 0 && chosen.schedule.tiles_m > 0 &&
                          chosen.schedule.tiles_n > 0 && chosen.schedule.units > 0);
              EXPECT_FALSE(plan::explain_candidates(p, plan::gather_facts(p), device).empty());
            }
          }
  EXPECT_GT(seen, 60);
}

// Elements of 16 bits have tensor cores from sm_80 on, however they are aligned: nothing else is chosen where there is
// work for all SMs.
TEST(Planner, SixteenBitsGoToTheTensorCores) {
  for (const DType type : {DType::f16, DType::bf16})
    for (const DeviceInfo& device : fake_devices()) {
      if (device.compute_capability < 80) continue;
      for (const char transa : {'N', 'T'})
        for (const char transb : {'N', 'T'})
          for (const std::int64_t odd : {0, 1})
            for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1024, 1024, 1024},
                                          {4096, 4096, 4096},
                                          {8192, 512, 4096},
                                          {4097, 4095, 999}}) {
              const Plan chosen =
                  plan_for(make_problem(type, transa, transb, m, n, k, {odd, odd, odd, odd, odd, odd}), device);
              const Family family = kernels::info(chosen.kernel).family;
              EXPECT_TRUE(family == Family::wmma_padded || family == Family::mma_swizzled ||
                          family == Family::wgmma_tma || family == Family::wgmma_words)
                  << to_string(chosen) << " on " << device.name;
            }
    }
}

// Squares and projections whose operands TMA can take, in fp16 on an H100 or H200: tensor cores, and large tiles where
// there is work for all SMs.
TEST(Planner, HalvesGoToTheTensorCores) {
  if (!kernels::is_kernel_or_family("wgmma_tma")) GTEST_SKIP() << "this build is not for sm_90";
  const DeviceInfo& h200 = fake_devices()[6];
  for (const char transa : {'N', 'T'})
    for (const char transb : {'N', 'T'})
      for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{128, 128, 128},
                                    {1024, 1024, 1024},
                                    {4096, 4096, 4096},
                                    {8192, 8192, 8192},
                                    {4096, 16, 4096},
                                    {14336, 512, 4096}}) {
        const Plan chosen = plan_for(make_problem(DType::f16, transa, transb, m, n, k), h200);
        const KernelInfo& kernel = kernels::info(chosen.kernel);
        EXPECT_EQ(kernel.family, Family::wgmma_tma) << to_string(chosen);
        if (m * n >= 4096 * 4096) {
          EXPECT_GE(kernel.config.cta_m * kernel.config.cta_n, 128 * 128) << to_string(chosen);
        }
      }
}

// Doubles: on sm_90 large products are for dmma_tma, whatever their flags and alignment. Small ones, and those with
// short K, whose time is the storing of C, are for kernels that share an SM.
TEST(Planner, LargeProductsOfDoublesAreNotKeptWaitingByBarriers) {
  if (!kernels::is_kernel_or_family("dmma_tma")) GTEST_SKIP() << "this build is not for sm_90";
  const auto family = [](const Problem& p) { return kernels::info(plan_for(p, fake_devices()[6]).kernel).family; };
  for (const char transa : {'N', 'T'})
    for (const char transb : {'N', 'T'})
      for (const Alignment& at : {Alignment{}, Alignment{.lda = 1}, Alignment{.b = 1, .ldc = 1}}) {
        for (const std::int64_t n : {768, 1023, 1024, 1536, 2048, 3072, 4096, 8192})
          EXPECT_EQ(family(make_problem(DType::f64, transa, transb, n, n, n, at)), Family::dmma_tma) << n;
        const Family small = family(make_problem(DType::f64, transa, transb, 64, 64, 64, at));
        EXPECT_TRUE(small == Family::mma_swizzled || small == Family::skinny) << name_of(small);
      }
  EXPECT_EQ(family(make_problem(DType::f64, 'N', 'N', 8192, 8192, 64)), Family::mma_swizzled);
}

// What families.def says of code that is not assembled for sm_90: of what such a GPU's memory holds, no plan has the
// driver compile a kernel.
TEST(Planner, PlansForSm90AreAssembled) {
  if (!kernels::is_kernel_or_family("wgmma_tma")) GTEST_SKIP() << "this build is not for sm_90";
  enum Architectures { all, from_sm80, to_sm80, sm90a };
  constexpr Architectures kArchitectures[] = {
#define XGEMM_FAMILY(name, parts, architectures, ...) architectures,
#include "kernels/families.def"
  };
  Random random(27);
  for (int i = 0; i < 6000; ++i) {
    Problem p = random_problem(random);
    if (i % 2 == 0) p.batch_count = 1;
    const double batch = double(p.batch_count);
    const double elements = batch * (double(p.m) * double(p.k) + double(p.k) * double(p.n) + double(p.m) * double(p.n));
    if (elements > 0x1p36) continue;
    for (const DeviceInfo& device : fake_devices()) {
      if (device.compute_capability != 90 || device.sm_count < 8) continue;  // the least part of a GPU
      const KernelInfo& kernel = kernels::info(plan_for(p, device).kernel);
      const bool is_assembled =
          kernel.family == Family::mma_swizzled
              ? !kernels::is_for_sm80<Family::mma_swizzled>(kernels::config_of<Family::mma_swizzled>(kernel))
              : kArchitectures[static_cast<int>(kernel.family)] != to_sm80;
      ASSERT_TRUE(is_assembled) << describe(p, device) << ": " << kernel.name;
    }
  }
}

// From sm_80 on, 16-bit types have tensor cores for operands that start anywhere: those of wgmma_tma, for copies of
// what TMA cannot take, or, for less work than a copy takes, and with an operand as it lies and the other as TMA takes
// it, of wgmma_words, else those of mma_swizzled. Before, there is double_buffered.
TEST(Planner, SixteenBitsGoToTheTensorCoresWhereverTheyStart) {
  const bool tma = kernels::is_kernel_or_family("wgmma_tma");
  for (const DeviceInfo& device : fake_devices())
    for (const DType type : {DType::f16, DType::bf16})
      for (const char transa : {'N', 'T'})
        for (const char transb : {'N', 'T'})
          for (const std::int64_t size : {std::int64_t{511}, std::int64_t{2047}, std::int64_t{4096}})
            for (const Alignment& at : {Alignment{}, Alignment{.lda = 1}, Alignment{.ldb = 4}, Alignment{.a = 1},
                                        Alignment{.ldc = 1}, Alignment{.c = 2, .lda = 2, .ldb = 6}}) {
              const Problem p = make_problem(type, transa, transb, size, size, size, at);
              const Plan chosen = plan_for(p, device);
              SCOPED_TRACE(describe(p, device) + ": " + to_string(chosen));
              const KernelInfo& kernel = kernels::info(chosen.kernel);
              if (device.compute_capability < 80) {
                EXPECT_EQ(kernel.family, type == DType::f16 ? Family::double_buffered : Family::smem_tiled);
              } else {
                const bool has_tma = tma && device.compute_capability == 90;
                const bool unaligned = (at.a | at.b | at.lda | at.ldb) % 8 != 0;
                EXPECT_TRUE(kernel.family == (has_tma ? Family::wgmma_tma : Family::mma_swizzled) ||
                            (has_tma && unaligned && kernel.family == Family::wgmma_words &&
                             (size < 1000 || kernel.config.copy == kernels::Copy::bulk)));
              }
              // A C that TMA cannot store needs no copy.
              if (kernel.family == Family::wgmma_tma) {
                EXPECT_EQ(chosen.packing.a.used, at.a + at.lda % 8 != 0);
                EXPECT_EQ(chosen.packing.b.used, at.b + at.ldb % 8 != 0);
                EXPECT_EQ(chosen.packing.c.used, false);
              }
              if (HasFailure()) return;
            }
}

// Small 16-bit operands that are not aligned are read as they lie, by one kernel: a copy of them takes longer. Larger
// ones are copied.
TEST(Planner, SmallUnalignedOperandsAreNotCopied) {
  if (!kernels::is_kernel_or_family("wgmma_words")) GTEST_SKIP() << "this build is not for sm_90";
  for (const DType type : {DType::f16, DType::bf16})
    for (const DType type_c : {type, DType::f32})
      for (const char transa : {'N', 'T'})
        for (const char transb : {'N', 'T'})
          for (const std::int64_t size : {95, 127, 191, 255, 383, 1023, 2047}) {
            const Problem p =
                make_problem(ProductTypes{type, type, type_c}, transa, transb, size, size, size, {.lda = 1, .ldb = 1});
            const Plan chosen = plan_for(p, fake_devices()[6]);
            SCOPED_TRACE(describe(p, fake_devices()[6]) + ": " + to_string(chosen));
            const bool small = size < 1000, tiny = size < 100;
            const Family family = kernels::info(chosen.kernel).family;
            EXPECT_TRUE(family == (small ? Family::wgmma_words : Family::wgmma_tma) ||
                        (tiny && (family == Family::mma_swizzled || family == Family::skinny)));
            EXPECT_EQ(chosen.packing.any(), !small);
          }
}

// Batches whose lines start on 8 bytes are copied to the tiles as they lie; others are not.
TEST(Planner, LinesOnEightBytesAreCopiedToTheTiles) {
  if (!kernels::is_kernel_or_family("wgmma_words")) GTEST_SKIP() << "this build is not for sm_90";
  for (const DType type : {DType::f16, DType::bf16})
    for (const char transa : {'N', 'T'})
      for (const char transb : {'N', 'T'})
        for (const std::int64_t gap : {0, 1, 2, 4}) {
          Problem p = make_problem(ProductTypes{type, type, type}, transa, transb, 100, 100, 500);
          p.a.ld += gap, p.b.ld += gap;
          p.batch_count = 500;
          p.a.batch_stride = p.b.batch_stride = 104 * 504;
          p.c.batch_stride = p.c.ld * 100;
          const Plan chosen = plan_for(p, fake_devices()[6]);
          const KernelInfo& kernel = kernels::info(chosen.kernel);
          const bool on_eight = p.a.ld % 4 == 0 && p.b.ld % 4 == 0, on_sixteen = p.a.ld % 8 == 0 && p.b.ld % 8 == 0;
          EXPECT_EQ(kernel.family == Family::wgmma_words && kernel.config.vector == 4, on_eight && !on_sixteen)
              << to_string(chosen) << " " << to_string(p);
        }
}

// Twice the extents are eight times the work. Measured problems correct the estimates near them, each by a noise of its
// own, where the work hardly matters.
TEST(Planner, MoreWorkIsNotEstimatedFaster) {
  for (const DeviceInfo& device : fake_devices())
    for (int i = 0; i < kernels::count(); ++i) {
      const KernelInfo& kernel = kernels::info(i);
      if (!kernel.config.runs_on(device.compute_capability) || !fits(kernel, device)) continue;
      double last = 0;
      // All of them with lines of 128 bytes.
      const bool emulates = kernels::describe(kernel.family).fallback != nullptr;
      for (std::int64_t size = emulates ? 512 : 64; size <= (emulates ? 8192 : 16384); size *= 2) {
        const char transa = kernel.config.a_contiguous == Axis::row ? 'N' : 'T';
        const char transb = kernel.config.b_contiguous == Axis::row ? 'N' : 'T';
        Problem p = make_problem(kernel.config.types(), transa, transb, size, size, size);
        p.compute = kernel.config.compute;
        const double now = plan_for(p, device, kernel.name).estimated_us;
        EXPECT_GE(now, 0.7 * last) << kernel.name << " at " << size << " on " << device.name;
        last = now;
      }
    }
}

// Doubles come at the rate of the memory, or a little above it (some are in the L2), also where K is split; and many
// small tiles take longer than few large ones where K is short.
TEST(Planner, DoublesAreNotEstimatedFasterThanTheirBytes) {
  struct Shape {
    std::int64_t m, n, k, batch;
  };
  const DeviceInfo hopper = fake_devices()[6];
  for (const Shape& s : {Shape{4096, 1, 4096, 1},
                         {4096, 2, 4096, 1},
                         {1, 4096, 4096, 1},
                         {256, 256, 32768, 1},
                         {512, 512, 64, 64},
                         {8192, 8192, 16, 1},
                         {33, 31, 29, 4096},
                         {1, 128, 2048, 256}})
    for (const char transa : {'N', 'T'})
      for (const char transb : {'N', 'T'}) {
        const Problem p = make_problem(DType::f64, transa, transb, s.m, s.n, s.k, {}, s.batch);
        const Plan chosen = plan_for(p, hopper);
        const double elements = double(s.batch) * (double(s.m) * s.k + double(s.k) * s.n + double(s.m) * s.n);
        EXPECT_GE(chosen.estimated_us, 8 * elements * 1e-6 / (1.1 * hopper.rates.memory_tbs)) << to_string(chosen);
        if (s.batch == 64) {
          EXPECT_GE(kernels::info(chosen.kernel).config.cta_m, 128) << to_string(chosen);
        }
      }
}

// What computes where operands are not safe to emulate adds up as a strict call does: the same tiles, in the same
// parts. Calls that copy a block of their operands at a time share the work of a block out, which fallbacks do not
// know.
TEST(Planner, FallbacksSumAsStrictCallsDo) {
  int split = 0;
  for (const DeviceInfo& device : fake_devices())
    for (const char transa : {'N', 'T'})
      for (const char transb : {'N', 'T'})
        for (const std::int64_t size : {512, 768, 1024, 1500, 4096})
          for (const std::int64_t k : {1024, 8192}) {
            Problem p = make_problem(DType::f32, transa, transb, size, size, k);
            const Plan strict = plan_for(p, device);
            p.compute = Compute::fp32_emulated;
            const Plan emulated = plan_for(p, device);
            if (!emulated.has_fallback || strict.kernel.family != emulated.fallback.family) continue;
            if (strict.packing.any() && plan::blocks_of(strict.packing, p) > 1) continue;
            SCOPED_TRACE(describe(p, device) + ": " + to_string(strict));
            const Plan fallback = plan::fallback_of(emulated, p, device);
            EXPECT_EQ(fallback.kernel, strict.kernel);
            EXPECT_EQ(fallback.schedule, strict.schedule);
            split += fallback.schedule.parts > 1 ? 1 : 0;
          }
  EXPECT_GT(split, 0);
}

// Tensor cores take TF32 where the call allows it and there is much to multiply, however operands lie. On other GPUs,
// and for little, such calls have the plans of strict ones.
TEST(Planner, Tf32IsForLargeProductsOnHopper) {
  for (const DeviceInfo& device : fake_devices())
    for (const char transa : {'N', 'T'})
      for (const char transb : {'N', 'T'})
        for (const std::int64_t odd : {0, 1})
          for (const std::int64_t size : {16, 1024, 2048, 8192}) {
            Problem p = make_problem(DType::f32, transa, transb, size, size, size, {.a = odd, .ldb = odd, .ldc = odd});
            const Plan strict = plan_for(p, device);
            EXPECT_EQ(kernels::info(strict.kernel).config.compute, Compute::strict);
            p.compute = Compute::tf32;
            const Plan loose = plan_for(p, device);
            SCOPED_TRACE(describe(p, device) + ": " + to_string(loose));
            if (kernels::info(loose.kernel).config.compute == Compute::tf32) {
              EXPECT_EQ(device.compute_capability, 90);
              EXPECT_LT(loose.estimated_us, strict.estimated_us);
              // Copied is what the instance cannot take as it lies.
              const kernels::TileConfig& c = kernels::info(loose.kernel).config;
              EXPECT_EQ(loose.packing.a.used, c.a_contiguous != (transa == 'N' ? Axis::row : Axis::col) || odd != 0);
              EXPECT_EQ(loose.packing.b.used, c.b_contiguous != (transb == 'N' ? Axis::row : Axis::col) || odd != 0);
            } else {
              EXPECT_TRUE(device.compute_capability != 90 || size == 16 || !device.has_memory_pools);
              EXPECT_TRUE(loose.kernel == strict.kernel || loose.packing.any());
            }
          }
}

// ---- Facts --------------------------------------------------------------------------------------------------------

TEST(PlannerFacts, OperandsAreSeenWithTheirFlagsApplied) {
  const Problem p = make_problem(DType::f16, 'T', 'N', 5, 7, 9);
  const plan::ProblemFacts f = plan::gather_facts(p);
  EXPECT_EQ(f.a.rows, 5);
  EXPECT_EQ(f.a.cols, 9);
  EXPECT_EQ(f.a.row_stride, p.a.ld);
  EXPECT_EQ(f.a.col_stride, 1);
  EXPECT_EQ(f.a_facts.contiguous, Axis::col);
  EXPECT_EQ(f.b.rows, 9);
  EXPECT_EQ(f.b.cols, 7);
  EXPECT_EQ(f.b.row_stride, 1);
  EXPECT_EQ(f.b.col_stride, p.b.ld);
  EXPECT_EQ(f.c.rows, 5);
  EXPECT_EQ(f.c.cols, 7);
  EXPECT_EQ(f.a.element_bytes, 2);
}

TEST(PlannerFacts, DivisibilityIsOfPointerLeadingDimensionAndBatchStrideTogether) {
  const auto a_divisibility = [](const Alignment& at, std::int64_t batch = 1) {
    return plan::gather_facts(make_problem(DType::f32, 'N', 'N', 64, 64, 64, at, batch)).a_facts.divisibility;
  };
  EXPECT_EQ(a_divisibility({}), 128);
  EXPECT_EQ(a_divisibility({.a = 1}), 4);
  EXPECT_EQ(a_divisibility({.a = 4}), 16);
  EXPECT_EQ(a_divisibility({.lda = 2}), 8);
  EXPECT_EQ(a_divisibility({.a = 4, .lda = 2}), 8);
  EXPECT_EQ(a_divisibility({.stride = 1}, 2), 4);
  EXPECT_EQ(a_divisibility({.stride = 1}, 1), 128) << "one product takes no step along the batch";
}

// Degenerate operands, each the least aligned that it can be without forbidding a kernel that is legal.
TEST(PlannerFacts, DegenerateOperands) {
  // m = 1: op(A) is a row, its elements lda apart; C is a row too.
  Problem p = make_problem(DType::f32, 'N', 'N', 1, 64, 64, {.lda = 3});
  plan::ProblemFacts f = plan::gather_facts(p);
  EXPECT_EQ(f.a_facts.contiguity[0], 1);
  EXPECT_EQ(f.a_facts.contiguity[1], 1);
  EXPECT_EQ(f.a_facts.divisibility, 4);
  // The same with lda = 1: the row is contiguous after all.
  p.a.ld = 1;
  f = plan::gather_facts(p);
  EXPECT_EQ(f.a_facts.contiguous, Axis::col);
  EXPECT_EQ(f.a_facts.contiguity[1], 64);
  // k = 1: op(A) is one column: its leading dimension is never stepped by.
  p = make_problem(DType::f32, 'N', 'N', 64, 64, 1, {.lda = 1});
  f = plan::gather_facts(p);
  EXPECT_EQ(f.a_facts.contiguous, Axis::row);
  EXPECT_EQ(f.a_facts.divisibility, 128);
  EXPECT_EQ(f.a_facts.contiguity[0], 64);
  // n = 1: so is C.
  p = make_problem(DType::f32, 'N', 'N', 64, 1, 64, {.ldc = 1});
  EXPECT_EQ(plan::gather_facts(p).c_facts.divisibility, 128);
  // All of them 1.
  p = make_problem(DType::f16, 'T', 'T', 1, 1, 1, {1, 1, 1, 1, 1, 1});
  f = plan::gather_facts(p);
  EXPECT_EQ(f.a_facts.divisibility, 2);
  EXPECT_EQ(f.c_facts.extent[0], 1);
}

// A column that an instance walks as if it were a row of a transposed matrix: legal one element at a time only, since
// the lines, one element each, lie an element apart. The operand's own facts speak of its other axis.
TEST(PlannerFacts, VectorsAcrossTheContiguousAxisAreNotLegal) {
  for (int i = 0; i < kernels::count(); ++i) {
    const KernelInfo& kernel = kernels::info(i);
    const TileConfig& c = kernel.config;
    if (c.vector_a() == 1) continue;
    const char across_a = c.a_contiguous == Axis::row ? 'T' : 'N', along_b = c.b_contiguous == Axis::row ? 'N' : 'T';
    // op(A) has one element along the axis that the instance walks, and many next to each other along the other.
    Problem p = c.a_contiguous == Axis::row ? make_problem(c.type, across_a, along_b, 1, 256, 256)
                                            : make_problem(c.type, across_a, along_b, 256, 256, 1);
    const plan::ProblemFacts f = plan::gather_facts(p);
    EXPECT_EQ(f.a_facts.divisibility, 128);
    EXPECT_NE(kernels::describe(kernel.family).why_not(kernel, {p, f, fake_devices()[6]}), "") << kernel.name;
  }
}

// Products a few columns or rows wide in fp32: the large operand is streamed, whichever way it lies, by tiles that are
// hardly wider.
TEST(Planner, StreamsTheLargeOperandOfNarrowProducts) {
  for (const DeviceInfo& device : fake_devices()) {
    if (device.sm_count < 80) continue;
    for (const char transa : {'N', 'T'})
      for (const char transb : {'N', 'T'})
        for (const std::int64_t narrow : {1, 2, 5, 8})
          for (const bool wide_m : {true, false}) {
            const std::int64_t m = wide_m ? 8192 : narrow, n = wide_m ? narrow : 8192;
            for (const Alignment& at : {Alignment{}, Alignment{1, 1, 1, 1, 1, 1}}) {
              const Problem p = make_problem(DType::f32, transa, transb, m, n, 8192, at);
              const Plan chosen = plan_for(p, device);
              const KernelInfo& kernel = kernels::info(chosen.kernel);
              const int across = wide_m ? kernel.config.cta_n : kernel.config.cta_m;
              EXPECT_TRUE(kernel.family == Family::skinny || (across >= narrow && across <= 16))
                  << device.name << " " << to_string(p) << ": " << kernel.name;
            }
          }
  }
}

// What 16 bits are finished with is the matter of the kernel where one computes it, and of a pass after the product
// elsewhere.
TEST(Planner, KernelsFinishWhatTheyCan) {
  const DeviceInfo hopper = fake_device(90, 132, 227), ampere = fake_device(80, 108, 164);
  Problem p = make_problem(DType::bf16, 'T', 'N', 4096, 2048, 1024);
  p.beta = {0, nullptr};
  p.epilogue.bias_along = Along::rows;
  p.epilogue.bias = nowhere(0x1000);
  const auto plan_on = [&](const DeviceInfo& device, const char* force) {
    Plan chosen;
    EXPECT_TRUE(plan::make_plan(p, plan::gather_facts(p), device, force, &chosen).ok()) << last_error();
    return chosen;
  };
  if (kernels::is_built(Family::wgmma_tma)) {
    for (const std::int64_t size : {64, 200, 512, 768, 1024, 2048})
      for (const std::int64_t n : {1, 8, 32, 128, 1024})
        for (const Activation activation :
             {Activation::gelu, Activation::gelu_tanh, Activation::relu, Activation::none})
          for (const bool scaled : {false, true}) {
            Problem small = make_problem(DType::bf16, 'T', 'N', size, n, size);
            small.beta = {0, nullptr};
            small.epilogue = p.epilogue;
            small.epilogue.activation = activation;
            small.epilogue.row_scales = scaled ? nowhere(0x2000) : nullptr;
            const Plan chosen = plan_for(small, hopper);
            EXPECT_FALSE(chosen.needs_pass) << describe(small, hopper);
            EXPECT_TRUE(kernels::config_of<Family::wgmma_tma>(kernels::info(chosen.kernel)).finishes);
          }
    for (const Activation activation : {Activation::gelu_tanh, Activation::relu, Activation::none}) {
      p.epilogue.activation = activation;
      EXPECT_FALSE(plan_on(hopper, "").needs_pass) << static_cast<int>(activation);
    }
    EXPECT_EQ(kernels::info(plan_on(hopper, "").kernel).family, Family::wgmma_tma);
    EXPECT_EQ(kernels::info(plan_on(hopper, "").kernel).config.type_c, DType::bf16);
  }
  // fp32 as well, of any alignment.
  if (kernels::is_built(Family::ffma_tma)) {
    for (const std::int64_t lda : {0, 1})
      for (const std::int64_t size : {64, 200, 512, 1024})
        for (const std::int64_t n : {64, 128, 1024}) {
          Problem small = make_problem(DType::f32, 'T', 'N', size, n, size, {.lda = lda});
          small.beta = {0, nullptr};
          small.epilogue = p.epilogue;
          const Plan chosen = plan_for(small, hopper);
          EXPECT_FALSE(chosen.needs_pass) << describe(small, hopper);
          EXPECT_EQ(kernels::info(chosen.kernel).family, Family::ffma_tma);
        }
  }
  // By its name an instance is asked to finish, too.
  for (const KernelInfo& kernel : kernels::describe(Family::wgmma_tma).instances)
    if (kernel.config.types() == p.types() && kernels::config_of<Family::wgmma_tma>(kernel).finishes &&
        kernel.config.a_contiguous == Axis::col) {
      const Plan chosen = plan_on(hopper, kernel.name);
      EXPECT_TRUE(chosen.kernel == kernel.id() && !chosen.needs_pass) << to_string(chosen);
      EXPECT_STREQ(last_error(), "") << "of a plan that was found";
    }
  for (const Plan& chosen : {plan_on(hopper, "naive"), plan_on(ampere, "")}) {
    EXPECT_TRUE(chosen.needs_pass);
    EXPECT_EQ(kernels::info(chosen.kernel).config.type_c, DType::f32) << "the sums";
  }
}

}  // namespace
}  // namespace xgemm::test
