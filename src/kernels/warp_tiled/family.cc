// warp_tiled, as the planner sees it: what the memory, the L2 and the SMs' instructions need, and the time in which a
// warp has its slices one after another.
#include <algorithm>

#include "kernels/common/cost_math.h"
#include "kernels/common/legality.h"
#include "kernels/common/misaligned_c.h"
#include "kernels/common/tile_family.h"
#include "kernels/warp_tiled/instances.h"

namespace xgemm::kernels {
namespace {

constexpr double kLaunchUs = 2.2;
constexpr double kFewSlicesUs = 0.75;  // of a warp, for a slice, where no other CTA is under way,
constexpr double kFewTilesUs = -0.55;  // and the first slices of operands bring lines that the next want

// Cycles of an SM, for whose instructions these kernels wait: for each element of a lane's part of a tile or a slice,
// and more where it is inside the matrix.
struct ElementCycles {
  double each, inside;

  constexpr double of(double share_inside) const { return each + inside * share_inside; }
};
// Fitted to perf/tune/measured/wild; of doubles measured on an H100.
struct Costs {
  double tile_cycles;
  ElementCycles stored, in_vectors, alone;  // elements that are stored, and brought in vectors or alone
  double tile_us;                           // of a warp, to begin a tile and to store it,
  double slice_us;                          // and for a slice that comes from the memory
  double memory_share;                      // of the memory's rate
};
constexpr Costs costs_of(DType type) {
  if (type == DType::f64) return {60, {4, 0}, {20, 0}, {20, 0}, 0.8, 1.0, 0.85};
  if (size_of(type) == 2) return {86, {2.8, 0}, {1.65, 1.75}, {3.1, 7.0}, 0.1, 0.99, 0.72};
  return {1, {3.4, 2.5}, {2.7, 0.4}, {3.4, 1.8}, 0.1, 0.42, 0.82};
}

// Of those that stage slices, measured on an H100. Instructions of a warp: for a tile, for 32 elements that it copies,
// and for an element that a lane stores; how many of them an SM issues in a cycle, fewer of doubles, whose products
// take longer and of whose warps it holds half as many; and how long one takes in a warp that has an SM almost to
// itself.
constexpr double kStagedMemoryShare = 0.95, kStagedOldShare = 0.5;  // of old C, which lanes read when they store
constexpr double kStagedTile = 100, kStagedCopy = 6, kStagedStore = 5;
constexpr double kStagedRate = 1.58, kStagedRateOfDoubles = 0.67;
constexpr double kStagedTileUs = 0.6, kStagedSliceUs = 1.0, kStagedInstructionUs = 0.0017;

bool comes_in_vectors(const layout::StridedOperand& x) {
  const Axis axis = x.row_stride == 1 ? Axis::row : Axis::col;
  constexpr int kBytes = 8;
  return x.stride(axis) == 1 && x.extent(axis) * x.element_bytes % kBytes == 0 &&
         divisibility_along(x, axis) % kBytes == 0;
}

// Lines of 16 bits along k that start off vectors of 16 bytes come to an SM by hardly more bytes a cycle: of 10 to 150
// MB of such lines times up to eight columns in perf/tune/measured/wild/*-few-h, the fastest came by 6.1, on either
// GPU.
constexpr double kOffLineBytesPerCycle = 5.7;
double off_lines_us(const layout::StridedOperand& x, Axis k, double elements, const Request& request) {
  constexpr int kBytes = 16;
  if (x.element_bytes != 2 || x.stride(k) != 1 || divisibility_along(x, k) % kBytes == 0) return 0;
  return elements * x.element_bytes * 1e-3 /
         (kOffLineBytesPerCycle * request.device.sm_count * request.device.rates.sm_ghz);
}

// What both kinds of instances have to do.
struct Work {
  double depth = 0, tiles = 0, slices = 0;  // slices: of a tile
  double element = 0, c_bytes = 0;
  double bytes = 0;  // that operands and C take in memory

  Work(const TileConfig& c, const Problem& p) {
    const double batch = double(p.batch_count);
    depth = p.reads_inputs() ? double(p.k) : 0.0;
    tiles = cost::tiles(p.m, c.cta_m) * cost::tiles(p.n, c.cta_n) * batch;
    slices = p.reads_inputs() ? cost::tiles(p.k, c.cta_k) : 0.0;
    element = size_of(p.a.type);
    c_bytes = batch * double(p.m) * double(p.n) * size_of(p.c.type) * (p.reads_c() ? 2 : 1);
    bytes = p.bytes();
  }
};

// Lanes that store alone have every second or fourth row, of which 4 side by side take as many sectors.
constexpr double kRowsAlone = 4, kRowsStaged = 8;

// Of a C whose columns do not start within sectors as tiles do. rows: of a column, that lanes have side by side.
double c_us(const Request& request, double rows) {
  const Problem& p = request.problem;
  return misaligned_c_us(p.elements() * (p.reads_c() ? 2 : 1), size_of(p.c.type), rows, double(p.m),
                         request.device.rates, request.device.sm_count);
}

// Where lanes store vectors, the eight of a column have these side by side; lanes that have several do so as often.
double c_us(const WarpTiledShape& shape, const Request& request) {
  if (c_is_on(request, 16)) return 0;
  const int element = size_of(request.problem.c.type),
            vector = shape.vector(size_of(request.problem.sums()), shape.rows);
  if (!c_is_on(request, vector * element)) return c_us(request, kRowsAlone);
  return shape.rows / vector * c_us(request, 8 * vector);
}

Estimate estimate_one(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const WarpTiledShape shape = WarpTiledShape::of(c);
  const Problem& p = request.problem;
  const device::Rates& rates = request.device.rates;
  const double sms = request.device.sm_count;
  const Work work(c, p);
  const double depth = work.depth, tiles = work.tiles, slices = work.slices;
  const Costs costs = costs_of(p.a.type);
  // A run no longer than a sector that starts anywhere is parts of two, which the memory may get one by one.
  constexpr double kSectorBytes = 32, kBytesOfSharedSector = 40;
  const bool in_parts = c.cta_m * size_of(p.c.type) <= kSectorBytes && !c_is_on(request, 32);
  const double shared = in_parts ? kBytesOfSharedSector * p.elements() * (p.reads_c() ? 2 : 1) / c.cta_m : 0;
  const double memory_us = (work.bytes + shared) * 1e-6 / (costs.memory_share * rates.memory_tbs);
  const double lines = double(std::min<std::int64_t>(p.m, c.cta_m)) + double(std::min<std::int64_t>(p.n, c.cta_n));
  const double l2_us = (tiles * lines * depth * work.element + work.c_bytes) * 1e-6 / rates.l2_tbs;

  const auto share_inside = [](double extent, int tile) { return extent / (cost::tiles(extent, tile) * tile); };
  const double of_m = share_inside(p.m, c.cta_m), of_n = share_inside(p.n, c.cta_n);
  const double of_k = slices > 0 ? depth / (slices * c.cta_k) : 0;
  const auto element_cycles = [&](const layout::StridedOperand& x, double inside) {
    return (comes_in_vectors(x) ? costs.in_vectors : costs.alone).of(inside);
  };
  const double of_slice = shape.depth * (shape.rows * element_cycles(request.facts.a, of_m * of_k) +
                                         shape.lines_b * element_cycles(request.facts.b, of_n * of_k));
  const double of_tile =
      costs.tile_cycles + costs.stored.of(of_m * of_n) * shape.rows * shape.columns * (p.reads_c() ? 2 : 1);
  const double sm_us = tiles * (of_tile + slices * of_slice) * 1e-3 / (sms * rates.sm_ghz);

  const double off_us =
      off_lines_us(request.facts.a, Axis::col, tiles * double(std::min<std::int64_t>(p.m, c.cta_m)) * depth, request) +
      off_lines_us(request.facts.b, Axis::row, tiles * double(std::min<std::int64_t>(p.n, c.cta_n)) * depth, request);

  const double rounds = cost::ceil(tiles / (sms * shape.ctas_per_sm * WarpTiledShape::kWarps));
  const double warps_us = tiles <= WarpTiledShape::kWarps ? kFewTilesUs + slices * kFewSlicesUs
                                                          : rounds * (costs.tile_us + slices * costs.slice_us);
  return {kLaunchUs + std::max({memory_us, l2_us, sm_us, warps_us, off_us, c_us(shape, request)}),
          rounds,
          {},
          memory_us,
          sm_us};
}

// Of an instance that stages slices, for the blocks of a tile that there are.
Estimate estimate_staged(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const Problem& p = request.problem;
  const device::Rates& rates = request.device.rates;
  const double sms = request.device.sm_count;
  const Work work(c, p);
  const double depth = work.depth, tiles = work.tiles;
  const double old_bytes = p.reads_c() ? work.c_bytes / 2 : 0.0;
  const double memory_us =
      ((work.bytes - old_bytes) / kStagedMemoryShare + old_bytes / kStagedOldShare) * 1e-6 / rates.memory_tbs;

  const double rows = double(std::min<std::int64_t>(p.m, c.cta_m));
  const double columns = double(std::min<std::int64_t>(p.n, c.cta_n));
  const double row_blocks = rows > 32 ? c.cta_m / 8 : 4, column_blocks = columns > 32 ? c.cta_n / 8 : 4;
  const double blocks = row_blocks * column_blocks, lines = row_blocks + column_blocks;
  const double products =
      c.on_tensor_cores() ? cost::tiles(p.k, 8) * 8 * (0.8 * blocks + lines / 4) : depth * (2 * blocks + lines);
  const double instructions = kStagedTile + (depth > 0 ? products : 0.0) + kStagedCopy * (rows + columns) * depth / 32 +
                              kStagedStore * row_blocks * columns / 4 * (p.reads_c() ? 2 : 1);
  const double rate = c.type == DType::f64 ? kStagedRateOfDoubles : kStagedRate;
  const double sm_us = tiles * instructions * 1e-3 / (rate * sms * rates.sm_ghz);

  const double rounds = cost::ceil(tiles / (sms * WarpStagedShape::of(c).ctas_per_sm * WarpStagedShape::kWarps));
  const double warps_us = rounds * (kStagedTileUs + work.slices * kStagedSliceUs + instructions * kStagedInstructionUs);
  const double of_c_us = c_is_on(request, 32) ? 0 : c_us(request, kRowsStaged);
  return {kLaunchUs + std::max({memory_us, sm_us, warps_us, of_c_us}), rounds, {}, memory_us, sm_us};
}

void estimate(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates) {
  for (int i = 0; i < count; ++i)
    estimates[i] = WarpStagedShape::is(kernels[i]->config) ? estimate_staged(*kernels[i], request)
                                                           : estimate_one(*kernels[i], request);
}

Schedule schedule(const KernelInfo& kernel, const Problem& p, const device::DeviceInfo& device,
                  const Sharing& sharing) {
  // Its shared_bytes are those of a CTA for each tile, as the family was measured: with fewer CTAs an even share of
  // them would ask for more.
  Schedule s = tile_family_schedule(kernel, p, device, sharing);
  const TileConfig& c = kernel.config;
  const int warps = kernel.threads / 32;
  const int ctas_per_sm =
      WarpStagedShape::is(c) ? WarpStagedShape::of(c).ctas_per_sm : WarpTiledShape::of(c).ctas_per_sm;
  const std::int64_t resident = std::int64_t{device.sm_count} * ctas_per_sm;
  s.clusters = static_cast<unsigned>(std::min<std::int64_t>(resident, s.units / warps + (s.units % warps != 0)));
  return s;
}

constexpr FamilyInfo family() {
  FamilyInfo info = tile_family<Family::warp_tiled>();
  info.estimate = estimate;
  info.splits = [](const KernelInfo&) { return false; };
  info.schedule = schedule;
  info.triangles = false;
  info.follows = [](const KernelInfo&) { return true; };
  return info;
}

}  // namespace

constinit const FamilyInfo warp_tiled_family = family();

}  // namespace xgemm::kernels
