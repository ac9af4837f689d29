// skinny, as the planner sees it: it takes as long as the memory needs to bring the streamed operand.
#include <algorithm>

#include "kernels/common/cost_math.h"
#include "kernels/common/legality.h"
#include "kernels/common/tile_family.h"
#include "kernels/skinny/instances.h"

namespace xgemm::kernels {
namespace {

constexpr double kLaunchUs = 2.4;
constexpr double kSumUs = 2.6;         // of the second stage, beside its bytes
constexpr int kCtasPerSm = 2;          // that an SM holds
constexpr double kMemoryShare = 0.93;  // of the memory's rate, with all of these running
constexpr double kFmaShare = 0.03;     // of the SMs' 128 multiply-adds in a clock, for each column of a tile
constexpr double kRoundUs = 1.5;       // until a CTA's first slice is there, and its sums are added
// Elements that an SM brings in a cycle, where they come one by one: along k, and along the other axis.
constexpr double kSingleAlongK = 2.3, kSingleAlongRows = 3.0;
constexpr int kMinSlices = 2;  // of a part
constexpr int kMaxParts = 1024;

// Of those for vectors, measured on an H100.
constexpr double kVectorLaunchUs = 2.2;
constexpr double kVectorTileUs = 0.8;     // until a CTA's first loads are there, and its sums are stored;
constexpr double kNextVectorUs = 1.6;     // again for the next vector, where nothing hides it
constexpr double kVectorShare = 1.085;    // of what tiled kernels get from the memory
constexpr double kElementsShare = 1.02;   // the same of a matrix that comes element by element
constexpr double kVectorCycle = 32;       // bytes that an SM brings in a cycle in vectors, at most,
constexpr double kElementsCycle = 4.4;    // and elements: neighbours in memory,
constexpr double kApartCycle = 0.9;       // or not
constexpr double kFlightUs = 0.75;        // of what a CTA has under way
constexpr double kGapUs = 2.4;            // between CTAs, where an SM holds one
constexpr double kVectorFmaShare = 0.06;  // of the SMs' multiply-adds
// Of that for short rows, measured on an H200: until a step's loads are there; elements that an SM takes in a cycle, in
// vectors of rows along k and of others, and alone.
constexpr double kShortStepUs = 0.8, kShortTileUs = 0.5;
constexpr double kShortRowBytes = 1024, kLongRowShare = 0.75, kMostKeptBytes = 200e3;
constexpr double kShortAlongKCycle = 6.5, kShortAlongRowsCycle = 10, kShortElementsCycle = 4;

double rounded_up(std::int64_t extent, int tile) {
  return double(extent / tile + (extent % tile != 0 ? 1 : 0));
}

Estimate estimate_one(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const SkinnyShape shape = SkinnyShape::of(c);
  const Problem& p = request.problem;
  const device::Rates& rates = request.device.rates;
  const double sms = request.device.sm_count;
  // Of X, which is read again for each tile of columns; of Y, which comes from the L2 for each tile of rows; and of C.
  const std::int64_t rows = shape.streams_b ? p.n : p.m, columns = shape.streams_b ? p.m : p.n;
  const double row_tiles = rounded_up(rows, shape.rows), column_tiles = rounded_up(columns, shape.width);
  const double depth = p.reads_inputs() ? double(p.k) : 0.0, batch = double(p.batch_count);
  const double element = size_of(p.a.type);
  const double wide = batch * column_tiles * double(rows) * depth * element;
  const double own_narrow = batch * double(columns) * depth * element;
  const double narrow = batch * column_tiles * row_tiles * shape.width * depth * element;
  const double c_bytes = batch * double(p.m) * double(p.n) * size_of(p.c.type) * (p.reads_c() ? 2 : 1);
  const double flops = 2 * batch * row_tiles * column_tiles * shape.rows * shape.width * depth;
  const double fma_us = flops * 1e-3 / (2 * 128 * sms * rates.sm_ghz * kFmaShare * shape.width);
  const double narrow_us = narrow * 1e-6 / rates.l2_tbs;
  const double single = (shape.along_k ? kSingleAlongK : kSingleAlongRows) * 1e3 * rates.sm_ghz * sms;
  const double bring_us = c.vector == 1 ? wide / element / single : 0.0;

  const double tiles = batch * row_tiles * column_tiles, slots = kCtasPerSm * sms;
  const double tile_bytes = 4.0 * c.cta_m * c.cta_n;
  const double most = std::min(cost::floor(cost::ceil(depth / c.cta_k) / kMinSlices), double{kMaxParts});
  Estimate best;
  for (double parts = 1;; parts = std::min(2 * parts, most)) {
    const double sum_bytes = parts > 1 ? tiles * parts * tile_bytes : 0.0;
    if (sum_bytes > workspace_limit(request.device)) break;
    const double units = tiles * parts, rounds = cost::ceil(units / slots);
    // A CTA that shares the memory with fewer others is served faster, but not by as much.
    const double idle = rounds * slots / units;
    const double memory_us =
        (wide + own_narrow + c_bytes) * 1e-6 / (kMemoryShare * rates.memory_tbs) * (0.5 + 0.5 * idle);
    const double us = kLaunchUs + rounds * kRoundUs + std::max({memory_us, fma_us * idle, narrow_us, bring_us * idle}) +
                      (parts > 1 ? kSumUs + 2 * sum_bytes * 1e-6 / rates.l2_tbs : 0.0);
    if (parts == 1 || us < best.us)
      best = {us, rounds, {0, static_cast<int>(parts)}, memory_us, std::max(fma_us, bring_us) * idle};
    if (parts >= most || units >= 8 * slots) break;
  }
  return best;
}

// A product as the instances for vectors see it: X times each y.
struct VectorProduct {
  std::int64_t rows;  // of X
  double vectors, depth, batch;
  const layout::StridedOperand &x, &y;
  Axis k, k_of_y;
  double c_bytes;

  static VectorProduct of(const Request& request) {
    const Problem& p = request.problem;
    const bool columns = p.m >= p.n;
    const Axis k = columns ? Axis::col : Axis::row;
    const double batch = double(p.batch_count);
    return {columns ? p.m : p.n,
            columns ? double(p.n) : double(p.m),
            p.reads_inputs() ? double(p.k) : 0.0,
            batch,
            columns ? request.facts.a : request.facts.b,
            columns ? request.facts.b : request.facts.a,
            k,
            layout::other(k),
            batch * double(p.m) * double(p.n) * size_of(p.c.type) * (p.reads_c() ? 2 : 1)};
  }
};

// Of an instance for vectors: what it brings in whole vectors comes at the speed of the memory, where there are enough
// SMs to ask for it; what it brings element by element costs instructions, and sectors where neighbours in a warp do
// not lie together.
Estimate estimate_vector(const KernelInfo& kernel, const Request& request) {
  const VectorShape shape = VectorShape::of(kernel.config);
  const auto& [rows, vectors, depth, batch, x, y, k, k_of_y, c_bytes] = VectorProduct::of(request);
  const device::Rates& rates = request.device.rates;
  const double sms = request.device.sm_count;
  const Axis along = shape.along_k ? k : layout::other(k);
  const bool together = x.stride(along) == 1 || x.extent(along) <= 1;
  // Lines along k may start anywhere, if the vector does not.
  const bool starts_anywhere = shape.along_k && y.stride(k_of_y) == 1 && divisibility_along(y, k_of_y) % 16 == 0;
  const bool whole =
      together &&
      (starts_anywhere || (x.extent(along) * x.element_bytes % 16 == 0 && divisibility_along(x, along) % 16 == 0));

  const double tiles = batch * rounded_up(rows, shape.rows);
  const double element = together ? x.element_bytes : std::max(32, x.element_bytes);
  const double bytes = batch * double(rows) * depth * vectors * element;
  const double memory_us = (bytes + c_bytes) * 1e-6 / ((whole ? kVectorShare : kElementsShare) * rates.memory_tbs);

  const int width = whole ? 16 / x.element_bytes : 1;
  const double under_way = 32.0 * shape.warps * shape.at_once(x.element_bytes, width) * width;  // elements, of a CTA
  const double most_in_cycle = whole ? kVectorCycle / x.element_bytes : together ? kElementsCycle : kApartCycle;
  const double most = std::min(cost::floor(cost::ceil(depth / kernel.config.cta_k) / kMinSlices), double{kMaxParts});
  Estimate best;
  for (double parts = 1;; parts = std::min(2 * parts, most)) {
    const double sum_bytes =
        parts > 1 ? tiles * parts * shape.rows * shape.rows * size_of(request.problem.sums()) : 0.0;
    if (sum_bytes > workspace_limit(request.device)) break;
    // Of the SM that has most tiles; it brings what its CTAs have under way, and not more than it can.
    const double ctas = cost::ceil(tiles * parts / sms);
    const double elements = ctas * vectors * shape.rows * depth / parts;
    const double most_in_us = 1e3 * rates.sm_ghz * most_in_cycle;
    const double bring_us =
        elements / std::min(most_in_us, std::min(ctas, double(shape.ctas_per_sm)) * under_way / kFlightUs);
    const double fma_us = elements * 1e-3 / (128 * rates.sm_ghz * kVectorFmaShare);
    const double rounds = cost::ceil(tiles * parts / (sms * shape.ctas_per_sm));
    const double us =
        kVectorLaunchUs + kVectorTileUs +
        std::max({memory_us, bring_us, fma_us, (rounds - 1) * kVectorTileUs + rounds * (vectors - 1) * kNextVectorUs}) +
        (shape.ctas_per_sm == 1 ? (rounds - 1) * kGapUs : 0.0) +
        (parts > 1 ? kSumUs + 2 * sum_bytes * 1e-6 / rates.l2_tbs : 0.0);
    if (parts == 1 || us < best.us)
      best = {us, rounds, {0, static_cast<int>(parts)}, memory_us, std::max(fma_us, bring_us)};
    if (parts >= most || tiles * parts >= 2 * sms) break;
  }
  return best;
}

// Of the instance for short rows: how a warp's rows come, step by step, as short_rows.cuh has them.
Estimate estimate_short_rows(const KernelInfo& kernel, const Request& request) {
  const VectorShape shape = VectorShape::of(kernel.config);
  const auto& [rows, vectors, depth, batch, x, y, k, k_of_y, c_bytes] = VectorProduct::of(request);
  const device::Rates& rates = request.device.rates;
  const double sms = request.device.sm_count;
  const auto on_vectors = [](const layout::StridedOperand& z, Axis along) {
    return z.extent(along) * z.element_bytes % 16 == 0 && divisibility_along(z, along) % 16 == 0;
  };
  const bool along_k = x.stride(k) == 1, along_rows = !along_k && x.stride(layout::other(k)) == 1;
  const bool whole = along_k      ? on_vectors(x, k) && y.stride(k_of_y) == 1 && on_vectors(y, k_of_y)
                     : along_rows ? on_vectors(x, layout::other(k))
                                  : false;
  const int width = whole ? 16 / x.element_bytes : 1;
  const double step = whole ? 8 * width : 16;  // of k
  const double element = along_k || along_rows ? x.element_bytes : std::max(32, x.element_bytes);
  const double elements = batch * double(rows) * depth;
  // Of long rows each warp reads a few bytes here and there.
  const double share = depth * x.element_bytes <= kShortRowBytes ? kVectorShare : kLongRowShare * kVectorShare;
  // For the next vector X is still in the L1, or comes again.
  const double kept = shape.ctas_per_sm * shape.rows * depth * x.element_bytes;
  const double times = kept <= kMostKeptBytes ? 1 : vectors;
  const double memory_us = (times * elements * element + c_bytes) * 1e-6 / (share * rates.memory_tbs);
  const double tiles = batch * rounded_up(rows, shape.rows), slots = sms * shape.ctas_per_sm;
  const double rounds = std::max(1.0, tiles / slots);
  const double tile_us = vectors * (cost::ceil(depth / step) * kShortStepUs + kShortTileUs);
  const double cycle = whole                   ? (along_k ? kShortAlongKCycle : kShortAlongRowsCycle)
                       : along_k || along_rows ? kShortElementsCycle
                                               : kApartCycle;
  const double busiest = cost::ceil(tiles / sms) * shape.rows * depth * vectors;  // elements of an SM
  const double work_us = busiest * 1e-3 / (rates.sm_ghz * cycle);
  return {kVectorLaunchUs + std::max({memory_us, rounds * tile_us, work_us}),
          cost::ceil(tiles / slots),
          {0, 1},
          memory_us,
          std::max(work_us, rounds * tile_us)};
}

void estimate(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates) {
  for (int i = 0; i < count; ++i) {
    const TileConfig& c = kernels[i]->config;
    estimates[i] = !VectorShape::is(c)             ? estimate_one(*kernels[i], request)
                   : VectorShape::of(c).short_rows ? estimate_short_rows(*kernels[i], request)
                                                   : estimate_vector(*kernels[i], request);
  }
}

// What counts in 32 bits.
bool counts(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const Problem& p = request.problem;
  constexpr std::int64_t kMostExtent = (std::int64_t{1} << 31) - 4096;
  if (!VectorShape::is(c) || !VectorShape::of(c).short_rows) return true;
  return std::max({p.m, p.n, p.k}) <= kMostExtent &&
         rounded_up(p.m, c.cta_m) * rounded_up(p.n, c.cta_n) * double(p.batch_count) < 0x1p31;
}

bool serves(const KernelInfo& kernel, const Request& request) {
  return tile_family_serves(kernel, request) && counts(kernel, request);
}

std::string why_not(const KernelInfo& kernel, const Request& request) {
  return counts(kernel, request) ? tile_family_why_not(kernel, request)
                                 : "it needs m, n, k and the number of tiles to be below 2^31";
}

// Of vectors with short rows none: the matrix is read once, so that a copy takes longer than it can save. And which of
// m and n is the longer one decides about the order of sums, which blocks of C must not change.
bool takes_copies(const KernelInfo& kernel) {
  return !VectorShape::is(kernel.config) || !VectorShape::of(kernel.config).short_rows;
}

// Those for vectors, but for the one whose threads take all registers of an SM.
Pointers pointers(const KernelInfo& kernel) {
  const bool follows = VectorShape::is(kernel.config) && VectorShape::of(kernel.config).ctas_per_sm > 1;
  return follows ? Pointers::anywhere : Pointers::none;
}

// Short rows are read again from L1, whose room more than half of an SM's shared memory would take.
Schedule schedule(const KernelInfo& kernel, const Problem& problem, const device::DeviceInfo& device,
                  const Sharing& sharing) {
  Schedule s = tile_family_schedule(kernel, problem, device, sharing);
  const bool short_rows = VectorShape::is(kernel.config) && VectorShape::of(kernel.config).short_rows;
  if (short_rows && s.clusters > static_cast<unsigned>(device.sm_count)) s.shared_bytes = 0;
  return s;
}

constexpr FamilyInfo family() {
  FamilyInfo info = tile_family<Family::skinny>();
  info.schedule = schedule;
  info.serves = serves;
  info.why_not = why_not;
  info.estimate = estimate;
  info.takes_copies = takes_copies;
  info.pointers = pointers;
  info.triangles = false;  // none of interest is so narrow
  return info;
}

}  // namespace

constinit const FamilyInfo skinny_family = family();

}  // namespace xgemm::kernels
