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
constexpr double kMemoryShare = 0.85;  // of the memory's rate
constexpr double kSliceUs = 1.0;       // of a warp, for a slice that comes from the memory
constexpr double kTileUs = 0.8;        // to begin a tile and to store it
constexpr double kFewSlicesUs = 0.75;  // the same where no other CTA is under way,
constexpr double kFewTilesUs = -0.55;  // and the first slices of operands bring lines that the next want

// Cycles of an SM, measured on an H100: for a tile, for an element of it that a lane stores, and for one that a lane
// brings, in vectors or alone. Instructions limit these kernels.
struct Cycles {
  double tile, stored, in_vectors, alone;
};
constexpr Cycles cycles_of(DType type) {
  if (type == DType::f64) return {60, 4, 20, 20};
  if (size_of(type) == 2) return {60, 8, 2.4, 6.4};
  return {60, 2, 3.5, 4.5};
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

// Lanes have every second or fourth row, of which 4 side by side take as many sectors; or 8 side by side.
constexpr double kRowsOfVectors = 4, kRowsStaged = 8;

// Of a C whose columns do not start on so many bytes, or do not end there. rows: of a column, that lanes have side by
// side.
double c_us(const Request& request, double rows, int bytes) {
  const Problem& p = request.problem;
  if (divisibility_along(request.facts.c, Axis::row) >= bytes && p.m * size_of(p.c.type) % bytes == 0) return 0;
  return misaligned_c_us(p.elements() * (p.reads_c() ? 2 : 1), size_of(p.c.type), rows, double(p.m),
                         request.device.rates, request.device.sm_count);
}

Estimate estimate_one(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const WarpTiledShape shape = WarpTiledShape::of(c);
  const Problem& p = request.problem;
  const device::Rates& rates = request.device.rates;
  const double sms = request.device.sm_count;
  const Work work(c, p);
  const double depth = work.depth, tiles = work.tiles, slices = work.slices;
  const double memory_us = work.bytes * 1e-6 / (kMemoryShare * rates.memory_tbs);
  const double lines = double(std::min<std::int64_t>(p.m, c.cta_m)) + double(std::min<std::int64_t>(p.n, c.cta_n));
  const double l2_us = (tiles * lines * depth * work.element + work.c_bytes) * 1e-6 / rates.l2_tbs;

  const Cycles cycles = cycles_of(p.a.type);
  const auto element_cycles = [&](const layout::StridedOperand& x) {
    return comes_in_vectors(x) ? cycles.in_vectors : cycles.alone;
  };
  const double of_slice =
      shape.depth * (shape.rows * element_cycles(request.facts.a) + shape.lines_b * element_cycles(request.facts.b));
  const double of_tile = cycles.tile + cycles.stored * shape.rows * shape.columns * (p.reads_c() ? 2 : 1);
  const double sm_us = tiles * (of_tile + slices * of_slice) * 1e-3 / (sms * rates.sm_ghz);

  const double rounds = cost::ceil(tiles / (sms * shape.ctas_per_sm * WarpTiledShape::kWarps));
  const double warps_us =
      tiles <= WarpTiledShape::kWarps ? kFewTilesUs + slices * kFewSlicesUs : rounds * (kTileUs + slices * kSliceUs);
  return {kLaunchUs + std::max({memory_us, l2_us, sm_us, warps_us, c_us(request, kRowsOfVectors, 16)}),
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
  return {
      kLaunchUs + std::max({memory_us, sm_us, warps_us, c_us(request, kRowsStaged, 32)}), rounds, {}, memory_us, sm_us};
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
  info.pointers = [](const KernelInfo&) { return Pointers::anywhere; };
  return info;
}

}  // namespace

constinit const FamilyInfo warp_tiled_family = family();

}  // namespace xgemm::kernels
