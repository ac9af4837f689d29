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

// Of those for vectors, fitted to measurements on an H100 and an H200. A step is what a warp has under way at a time.
struct VectorCosts {
  double tile_us;          // of a tile and a vector, beside its steps,
  double step_us[2];       // and of a step, which comes element by element or in vectors of 16 bytes,
  double contention;       // more of both for each CTA of the SM beyond the first
  double memory_share;     // of what tiled kernels get from the memory
  double launch_us = 0.8;  // and until the first loads are under way
};
constexpr double kVectorSumUs = 3.4;   // of the second stage, beside its bytes
constexpr double kDoublesShare = 1.6;  // of what fp32 takes a tile

constexpr VectorCosts vector_costs(const VectorShape& shape, int element_bytes) {
  const bool wide = element_bytes > 2;
  if (shape.short_rows)
    return wide ? VectorCosts{0.46, {0.66, 0.68}, 0.61, 1.00, 1.35} : VectorCosts{0.45, {0.50, 0.82}, 0.65, 0.92, 1.35};
  if (shape.along_k)
    return wide ? VectorCosts{0.05, {1.30, 1.30}, 0.53, 1.08} : VectorCosts{0.41, {0.93, 0.91}, 0.56, 1.08};
  if (shape.ctas_per_sm == 1)
    return wide ? VectorCosts{0.71, {1.81, 1.65}, 1.45, 1.00} : VectorCosts{1.22, {1.27, 1.64}, 1.57, 0.95};
  return wide ? VectorCosts{0.32, {0.60, 0.55}, 0.76, 1.03} : VectorCosts{0.35, {0.50, 0.69}, 0.74, 1.00};
}

// Rows of X, in bytes, that a warp with many of them reads as well as others do; what an L1 keeps.
constexpr double kShortRowBytes = 1024, kLongRowShare = 0.75, kMostKeptBytes = 200e3;

Estimate estimate_one(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const SkinnyShape shape = SkinnyShape::of(c);
  const Problem& p = request.problem;
  const device::Rates& rates = request.device.rates;
  const double sms = request.device.sm_count;
  // Of X, which is read again for each tile of columns; of Y, which comes from the L2 for each tile of rows; and of C.
  const std::int64_t rows = shape.streams_b ? p.n : p.m, columns = shape.streams_b ? p.m : p.n;
  const double row_tiles = cost::tiles(rows, shape.rows), column_tiles = cost::tiles(columns, shape.width);
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

// Whether an instance for vectors brings the matrix in vectors of 16 bytes.
bool in_vectors(const VectorShape& shape, const VectorProduct& p) {
  const auto on_vectors = [](const layout::StridedOperand& z, Axis along) {
    return z.extent(along) * z.element_bytes % 16 == 0 && divisibility_along(z, along) % 16 == 0;
  };
  const auto lies_along = [](const layout::StridedOperand& z, Axis along) {
    return z.stride(along) == 1 || z.extent(along) <= 1;
  };
  const Axis rows = layout::other(p.k);
  if (shape.short_rows) {
    if (p.x.stride(p.k) != 1) return p.x.stride(rows) == 1 && on_vectors(p.x, rows);
    return on_vectors(p.x, p.k) && p.y.stride(p.k_of_y) == 1 && on_vectors(p.y, p.k_of_y);
  }
  const Axis along = shape.along_k ? p.k : rows;
  if (!lies_along(p.x, along)) return false;
  // Lines along k may start anywhere, if the vector does not.
  return on_vectors(p.x, along) ||
         (shape.along_k && p.y.stride(p.k_of_y) == 1 && divisibility_along(p.y, p.k_of_y) % 16 == 0);
}

// Of an instance for vectors: the busiest SM's CTAs wait step by step for what they have under way, and all for the
// memory.
Estimate estimate_vector(const KernelInfo& kernel, const Request& request) {
  const VectorShape shape = VectorShape::of(kernel.config);
  const VectorProduct p = VectorProduct::of(request);
  const device::Rates& rates = request.device.rates;
  const double sms = request.device.sm_count;
  const int element_bytes = p.x.element_bytes;
  const VectorCosts costs = vector_costs(shape, element_bytes);
  const bool whole = in_vectors(shape, p);
  const bool along_k = p.x.stride(p.k) == 1, along_rows = p.x.stride(layout::other(p.k)) == 1;
  const bool together = shape.short_rows ? along_k || along_rows : shape.along_k ? along_k : along_rows;
  // Of long rows, a warp with many of them reads a few bytes here and there. For the next vector X may still be in L1.
  const bool long_rows = shape.short_rows && p.depth * element_bytes > kShortRowBytes;
  const bool kept = shape.short_rows && shape.ctas_per_sm * shape.rows * p.depth * element_bytes <= kMostKeptBytes;
  const double bytes = p.batch * double(p.rows) * p.depth * (kept ? 1 : p.vectors) *
                       (together ? element_bytes : std::max(32, element_bytes));
  const double memory_us =
      (bytes + p.c_bytes) * 1e-6 / ((long_rows ? kLongRowShare : 1) * costs.memory_share * rates.memory_tbs);

  const double tiles = p.batch * cost::tiles(p.rows, shape.rows);
  // Where warps have rows of their own, some may have none.
  const double used = shape.along_k ? std::min(1.0, double(p.rows) / shape.rows) : 1;
  const double wider = element_bytes == 8 ? kDoublesShare : 1;
  const double step = shape.step(element_bytes, whole ? 16 / element_bytes : 1, along_k);
  const double most = shape.short_rows ? 1
                                       : std::min(cost::floor(cost::ceil(p.depth / kernel.config.cta_k) / kMinSlices),
                                                  double{kMaxParts});
  Estimate best;
  for (double parts = 1;; parts = std::min(2 * parts, most)) {
    const double sum_bytes =
        parts > 1 ? tiles * parts * shape.rows * shape.rows * size_of(request.problem.sums()) : 0.0;
    if (sum_bytes > workspace_limit(request.device)) break;
    const double ctas = used * cost::ceil(tiles * parts / sms);  // of the SM that has most
    const double wait_us = wider * p.vectors *
                           (costs.tile_us + costs.step_us[whole] * cost::ceil(p.depth / parts / step)) *
                           (1 + (ctas - 1) * costs.contention);
    const double us = costs.launch_us + std::max(memory_us, wait_us) +
                      (parts > 1 ? kVectorSumUs + 2 * sum_bytes * 1e-6 / rates.l2_tbs : 0.0);
    if (parts == 1 || us < best.us)
      best = {
          us, cost::ceil(tiles * parts / (sms * shape.ctas_per_sm)), {0, static_cast<int>(parts)}, memory_us, wait_us};
    if (parts >= most || tiles * parts >= 2 * sms) break;
  }
  return best;
}

void estimate(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates) {
  for (int i = 0; i < count; ++i) {
    const TileConfig& c = kernels[i]->config;
    estimates[i] = VectorShape::is(c) ? estimate_vector(*kernels[i], request) : estimate_one(*kernels[i], request);
  }
}

// What counts in 32 bits.
bool counts(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const Problem& p = request.problem;
  constexpr std::int64_t kMostExtent = (std::int64_t{1} << 31) - 4096;
  if (!VectorShape::is(c) || !VectorShape::of(c).short_rows) return true;
  return std::max({p.m, p.n, p.k}) <= kMostExtent &&
         cost::tiles(p.m, c.cta_m) * cost::tiles(p.n, c.cta_n) * double(p.batch_count) < 0x1p31;
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
