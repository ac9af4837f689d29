// skinny, as the planner sees it: it takes as long as the memory needs to bring the streamed operand, or CTAs to work
// through it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/status.h"
#include "kernels/common/cluster_shapes.h"
#include "kernels/common/cost_math.h"
#include "kernels/common/legality.h"
#include "kernels/common/tile_family.h"
#include "kernels/skinny/instances.h"

namespace xgemm::kernels {
namespace {

using Kind = VectorShape::Kind;

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

// Of those for vectors, fitted to perf/tune/measured/wild. A step is what a warp has under way at a time:
// elements of lines that lie across the warp, elements side by side, or vectors of 16 bytes.
enum class Loads { apart, elements, vectors };
struct VectorCosts {
  double tile_us;          // of a tile and a vector, beside its steps,
  double step_us[3];       // and of a step, for each kind of Loads,
  double contention;       // more of both for each CTA of the SM beyond the first
  double memory_share;     // of what tiled kernels get from the memory
  double launch_us;        // and until the first loads are under way
  double exchange_us = 0;  // of CTAs that share a tile's K, to meet
  double store_us = 0;     // of a vector, where a pass through X has several
};
constexpr double kVectorSumUs = 3.8;     // of the second stage, beside its bytes
constexpr double kOfEachSharer = 0.12;   // of an exchange, for each CTA beyond the first
constexpr double kGatherUs = 0.7;        // of a y that is put together: of a round
constexpr double kDoublesShare = 1.6;    // of what fp32 takes a tile
constexpr double kPaired = 0.66;         // of the time of single rows, for two of a warp at once: on an H100
constexpr double kMeasuredVectors = 64;  // more are taken to come one after the other, to be on the safe side

constexpr VectorCosts vector_costs(const VectorShape& shape, int element_bytes) {
  const bool wide = element_bytes > 2;
  switch (shape.kind) {
    case Kind::narrow:
      return {0.92, {1.78, 1.33, 0.84}, 0.74, 1.01, 1.47, 0.64, 0.03};
    case Kind::narrow_rows:  // the last one by hand: the fit takes large batches of many columns for faster
      return {1.31, {1.73, 1.35, 0.74}, 0.36, 1.00, 1.30, 0, 0.46};
    case Kind::wide_rows:
      return wide ? VectorCosts{1.84, {2.00, 1.51, 1.10}, 0.009, 1.06, 0.80}
                  : VectorCosts{2.21, {2.00, 1.84, 1.30}, 0.016, 1.02, 0.80};
    case Kind::short_rows:
      return {0.41, {0.80, 0.68, 0.87}, 0.56, 1.10, 1.68};
    case Kind::row_of_warp:
      return wide ? VectorCosts{0.21, {1.59, 0.88, 1.04}, 0.43, 1.11, 0.80, 0.55}
                  : VectorCosts{0.48, {1.14, 2.77, 0.69}, 0.50, 1.18, 0.80, 0.50};
    case Kind::shared_rows:
      break;
  }
  if (shape.ctas_per_sm == 1)
    return wide ? VectorCosts{1.85, {2.11, 0.95, 0.65}, 1.56, 0.97, 1.01, 0.71}
                : VectorCosts{2.06, {1.65, 0.93, 0.87}, 1.41, 0.92, 0.80, 0.66};
  return wide ? VectorCosts{0.65, {0.92, 0.63, 0.56}, 0.35, 1.07, 0.80, 0.49}
              : VectorCosts{0.55, {0.76, 0.54, 0.64}, 0.47, 1.12, 0.80, 0.49};
}

// Whether CTAs have one pair of short rows after another. Of few, each has a task.
bool has_pairs(const VectorShape& shape, int element_bytes, std::int64_t depth, double tasks, double sms) {
  constexpr double kTurns = 4;
  return shape.pairs_rows(element_bytes, depth) && tasks >= kTurns * shape.ctas_per_sm * sms;
}

// What the CTAs' waits and the memory's time add to each other: the less, the more steps there are, in which CTAs drift
// apart.
constexpr double kShown = 0.6, kStepsToDrift = 20;

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
  const double bytes_us = (wide + own_narrow + c_bytes) * 1e-6 / (kMemoryShare * rates.memory_tbs);
  const double least_us = kLaunchUs + std::max({bytes_us, fma_us, narrow_us, bring_us});
  if (request.to_beat && least_us > *request.to_beat) return {least_us};

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
    const double memory_us = bytes_us * (0.5 + 0.5 * idle);
    const double us = kLaunchUs + rounds * kRoundUs + std::max({memory_us, fma_us * idle, narrow_us, bring_us * idle}) +
                      (parts > 1 ? kSumUs + 2 * sum_bytes * 1e-6 / rates.l2_tbs : 0.0);
    if (parts == 1 || us < best.us)
      best = {us, rounds, {0, static_cast<int>(parts)}, memory_us, std::max(fma_us, bring_us) * idle};
    if (parts >= most || units >= 8 * slots) break;
  }
  return best;
}

// Of instances for vectors of a long k, and of those with a ring.
std::span<const ClusterShape> clusters(const KernelInfo& kernel) {
  if (SkinnyShape::has_ring(kernel.config)) return with_most_along_k(kClusterShapesAlongK, SkinnyShape::kMostSharers);
  const bool shares_k = VectorShape::is(kernel.config) && VectorShape::of(kernel.config).shares_k();
  return shares_k ? kClusterShapesAlongK : single_ctas(kernel);
}

// Of those with a ring, fitted to h200-late-few-* of the same: a CTA works through its tiles, step by step, beside the
// memory.
struct RingCosts {
  double launch_us, tile_us;  // of a tile, beside its steps,
  double step_us[3];          // with 4, 8 and 16 columns,
  double contention;          // more of them where all SMs have some;
  double exchange_us;         // of CTAs that share a tile's K
  double sum_us;              // of a second stage, beside its bytes
  double memory_share;        // of what tiled kernels get from the memory
  double elsewhere;           // by hand: where others are known to be faster, docs/results/h200-rings-fp32.txt
};
constexpr RingCosts kRing = {0.25, 1.65, {0.54, 0.80, 1.28}, 0.12, 0.71, 2.6, 0.87, 1.2};

Estimate estimate_with_ring(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const SkinnyShape shape = SkinnyShape::of(c);
  const Problem& p = request.problem;
  const device::Rates& rates = request.device.rates;
  const double rows = double(shape.streams_b ? p.n : p.m), columns = double(shape.streams_b ? p.m : p.n);
  const double depth = p.reads_inputs() ? double(p.k) : 0.0, batch = double(p.batch_count);
  // Further tiles of columns, which follow one another, find X in the L2.
  const double bytes = batch * (depth * (rows + columns) * size_of(p.a.type) +
                                rows * columns * size_of(p.c.type) * (p.reads_c() ? 2 : 1));
  const double memory_us = bytes * 1e-6 / (kRing.memory_share * rates.memory_tbs);
  Estimate best = {kRing.launch_us + memory_us};
  if (request.to_beat && best.us > *request.to_beat) return best;
  best.us = std::numeric_limits<double>::infinity();

  const double tiles = batch * cost::tiles(rows, shape.rows) * cost::tiles(columns, shape.width);
  const double slices = cost::ceil(depth / c.cta_k), tile_bytes = 4.0 * c.cta_m * c.cta_n;
  const double step_us = kRing.step_us[shape.width == 4 ? 0 : shape.width == 8 ? 1 : 2];
  const double sms = request.device.sm_count;
  // A single column along k is better off with a warp for each row (vector.cuh), but where tiles are many; and more
  // columns than were measured are work for tiles.
  constexpr double kMeasuredColumns = 24;
  const bool is_elsewhere = (columns == 1 && shape.along_k && tiles <= 2 * sms) || columns > kMeasuredColumns;
  const auto consider = [&](const ClusterShape& cluster, double parts) {
    if (cluster.size() > request.device.sm_count) return;
    const double units = tiles * parts, sharers = parts * cluster.k;
    const double at_once = request.device.clusters_of(cluster.size()), rounds = cost::ceil(units / at_once);
    const double busy = std::min(units, at_once) * cluster.k / sms;
    const double steps = cost::ceil(slices / sharers);
    const double sms_us = rounds * (kRing.tile_us + steps * step_us * (1 + kRing.contention * busy));
    double us = kRing.launch_us + std::max(memory_us, sms_us);
    if (cluster.k > 1) us += kRing.exchange_us * (1 + kOfEachSharer * (cluster.k - 1));
    if (parts > 1) us += kRing.sum_us + 2 * units * tile_bytes * 1e-6 / rates.l2_tbs;
    if (is_elsewhere) us *= kRing.elsewhere;
    if (us < best.us) best = {us, rounds, {0, static_cast<int>(parts), cluster}, memory_us, sms_us};
  };
  for (const ClusterShape& cluster : clusters(kernel))
    if (request.cluster == nullptr || *request.cluster == cluster) consider(cluster, 1);
  if (request.cluster != nullptr && request.cluster->size() > 1) return best;
  const double most = std::min(cost::floor(slices / kMinSlices), double{kMaxParts});
  const auto fits = [&](double parts) {
    return parts >= 2 && parts <= most && tiles * parts * tile_bytes <= workspace_limit(request.device);
  };
  // A CTA for each SM, or more by powers of two.
  if (const double even = cost::floor(sms / tiles); fits(even)) consider({}, even);
  for (double parts = 2; fits(parts) && tiles * parts < 4 * sms; parts *= 2) consider({}, parts);
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

// How an instance for vectors brings the matrix, and y.
struct VectorLoads {
  Loads of_x;
  bool gathers_y = false;                 // it is put together in shared memory first
  bool scattered = of_x == Loads::apart;  // a sector for each element of X
  int columns = 1;                        // vectors that X is multiplied with at once
  bool edge_in_elements = false;          // the last tile of rows is no whole number of vectors

  static VectorLoads of(const VectorShape& shape, const VectorProduct& p) {
    const auto on_vectors = [](const layout::StridedOperand& z, Axis along) {
      return z.extent(along) * z.element_bytes % 16 == 0 && divisibility_along(z, along) % 16 == 0;
    };
    const auto lies_along = [](const layout::StridedOperand& z, Axis along) {
      return z.stride(along) == 1 || z.extent(along) <= 1;
    };
    const Axis rows = layout::other(p.k);
    const bool y_starts = p.y.stride(p.k_of_y) == 1 && divisibility_along(p.y, p.k_of_y) % 16 == 0;
    if (shape.is_narrow()) {
      const bool x_starts = (p.x.stride(p.k) == 1 && divisibility_along(p.x, p.k) % 16 == 0) ||
                            (p.x.stride(rows) == 1 && on_vectors(p.x, rows));
      // Elements are brought to eight rows at once, which lie apart where X is along k.
      const Loads of_elements = lies_along(p.x, rows) ? Loads::elements : Loads::apart;
      return {.of_x = x_starts ? Loads::vectors : of_elements,
              .scattered = !lies_along(p.x, p.k) && !lies_along(p.x, rows),
              .columns = VectorShape::kColumns};
    }
    if (shape.kind == Kind::wide_rows) {  // in vectors, of rows that start anywhere as well
      if (!lies_along(p.x, rows)) return {Loads::apart};
      return {divisibility_along(p.x, rows) % 16 == 0 ? Loads::vectors : Loads::elements};
    }
    if (shape.kind == Kind::short_rows && p.x.stride(p.k) == 1)
      return {on_vectors(p.x, p.k) && y_starts && on_vectors(p.y, p.k_of_y) ? Loads::vectors : Loads::elements};
    if (shape.kind == Kind::row_of_warp) {
      if (!lies_along(p.x, p.k)) return {Loads::apart};
      return {Loads::vectors, !y_starts};  // lines may start anywhere
    }
    if (!lies_along(p.x, rows)) return {Loads::apart};
    const bool starts = divisibility_along(p.x, rows) % 16 == 0, whole = p.x.extent(rows) * p.x.element_bytes % 16 == 0;
    return {.of_x = starts && (whole || p.rows > shape.rows) ? Loads::vectors : Loads::elements,
            .edge_in_elements = !whole};
  }
};

// Of an instance for vectors: the busiest SM's CTAs wait step by step for what they have under way, and all for the
// memory.
class VectorEstimate {
 public:
  VectorEstimate(const KernelInfo& kernel, const Request& request)
      : request_(request),
        shape_(VectorShape::of(kernel.config)),
        p_(VectorProduct::of(request)),
        loads_(VectorLoads::of(shape_, p_)),
        costs_(vector_costs(shape_, p_.x.element_bytes)),
        tile_k_(kernel.config.cta_k),
        row_tiles_(cost::tiles(p_.rows, shape_.rows)),
        tiles_(p_.batch * row_tiles_ * (shape_.has_tasks() ? tasks_of(shape_, p_.vectors) : 1)) {
    const int element_bytes = p_.x.element_bytes;
    // Of long rows, a warp with many of them reads a few bytes here and there. For the next vector X may still be in
    // L1.
    const bool short_rows = shape_.kind == Kind::short_rows;
    const bool long_rows = short_rows && p_.depth * element_bytes > kShortRowBytes;
    const bool kept = short_rows && shape_.ctas_per_sm * shape_.rows * p_.depth * element_bytes <= kMostKeptBytes;
    const device::Rates& rates = request.device.rates;
    const double from_l2 = short_rows ? (kept ? 0 : 1) : rates.memory_tbs / rates.l2_tbs;
    const double bytes = p_.batch * double(p_.rows) * p_.depth * (1 + (passes() - 1) * from_l2) *
                         (loads_.scattered ? std::max(32, element_bytes) : element_bytes);
    memory_us_ =
        (bytes + p_.c_bytes) * 1e-6 / ((long_rows ? kLongRowShare : 1) * costs_.memory_share * rates.memory_tbs);
  }

  double memory_us() const { return memory_us_; }

  // With K in parts, whose sums a second kernel adds up.
  Estimate in_parts() const {
    const double sms = request_.device.sm_count;
    const double most =
        !shape_.shares_k() ? 1 : std::min(cost::floor(cost::ceil(p_.depth / tile_k_) / kMinSlices), double{kMaxParts});
    Estimate best;
    for (double parts = 1;; parts = std::min(2 * parts, most)) {
      const double sum_bytes =
          parts > 1 ? tiles_ * parts * shape_.rows * shape_.rows * size_of(request_.problem.sums()) : 0.0;
      if (sum_bytes > workspace_limit(request_.device)) break;
      Estimate estimate = shared_by(shape_.kind == Kind::wide_rows ? sharers_of_wide() : parts);
      estimate.sharing = {0, static_cast<int>(parts)};
      if (parts > 1) estimate.us += kVectorSumUs + 2 * sum_bytes * 1e-6 / request_.device.rates.l2_tbs;
      if (parts == 1 || estimate.us < best.us) best = estimate;
      if (parts >= most || tiles_ * parts >= 2 * sms) break;
    }
    return best;
  }

  // By clusters whose CTAs share K, where all run at the same time: with more tiles there is nothing to gain.
  Estimate in_cluster(const ClusterShape& cluster) const {
    constexpr double kRoom = 0.9;  // for clusters, of that for single CTAs
    if (tiles_ * cluster.k > kRoom * shape_.ctas_per_sm * request_.device.sm_count)
      return {std::numeric_limits<double>::infinity()};
    Estimate estimate = shared_by(cluster.k);
    estimate.sharing = {.cluster = cluster};
    estimate.us += (shape_.has_tasks() ? 1 : passes()) * costs_.exchange_us * (1 + kOfEachSharer * (cluster.k - 1));
    return estimate;
  }

 private:
  // Of a row of tiles; a tile that has fewer vectors has no fewer tasks.
  static double tasks_of(const VectorShape& shape, double vectors) {
    return vectors <= shape.rows ? vectors : cost::tiles(vectors, shape.rows) * shape.rows;
  }
  // Through X.
  double passes() const { return cost::ceil(p_.vectors / loads_.columns); }

  double sharers_of_wide() const {
    return 1 << VectorShape::sharer_bits(static_cast<std::int64_t>(tiles_), static_cast<std::int64_t>(p_.depth));
  }

  double steps(Loads loads, double depth) const {
    const bool in_vectors = loads == Loads::vectors || (loads == Loads::elements && shape_.kind == Kind::wide_rows);
    const int element_bytes = p_.x.element_bytes, width = in_vectors ? 16 / element_bytes : 1;
    return cost::ceil(depth / shape_.step(element_bytes, width, p_.x.stride(p_.k) == 1));
  }

  // What a CTA waits for a vector's share of k.
  double vector_us(Loads loads, double depth) const {
    return costs_.tile_us + costs_.step_us[static_cast<int>(loads)] * steps(loads, depth) +
           costs_.store_us * p_.vectors / passes() +
           (loads_.gathers_y ? kGatherUs * cost::ceil(depth / VectorShape::kGathered) : 0);
  }

  // By so many CTAs a tile.
  Estimate shared_by(double ctas_of_tile) const {
    const double sms = request_.device.sm_count, all = tiles_ * ctas_of_tile;
    // Where warps have rows of their own, some may have none.
    const double used =
        !shape_.warps_share_k() && shape_.kind != Kind::wide_rows ? std::min(1.0, double(p_.rows) / shape_.rows) : 1;
    const double wider = p_.x.element_bytes == 8 ? kDoublesShare : 1;
    const double depth = cost::ceil(p_.depth / ctas_of_tile);
    const double in_turn = shape_.has_tasks() ? std::max(1.0, p_.vectors / kMeasuredVectors) : passes();
    // ctas: of the SM that has most. Of wide rows, warps, each with one task after another.
    const bool is_wide = shape_.kind == Kind::wide_rows;
    const double at_once = shape_.ctas_per_sm * (is_wide ? shape_.warps : 1);
    const auto waits_us = [&](Loads loads, double ctas) {
      double turns = 1;
      if (ctas > at_once && shape_.has_tasks() && shape_.ctas_per_sm > 1) {
        turns = is_wide ? cost::ceil(ctas / at_once) : ctas / at_once;
        ctas = at_once;
      }
      const double alone = wider * in_turn * vector_us(loads, depth);
      // Where most warps have no rows, CTAs hardly slow each other down, but follow one another all the same.
      const bool many_rows = shape_.kind == Kind::short_rows || shape_.kind == Kind::narrow_rows;
      const double in_rounds = many_rows ? cost::ceil(ctas / at_once) * alone : 0;
      return std::max(in_rounds, turns * alone * (1 + (used * ctas - 1) * costs_.contention));
    };
    double wait_us = waits_us(loads_.of_x, cost::ceil(all / sms));
    if (ctas_of_tile == 1 && has_pairs(shape_, p_.x.element_bytes, request_.problem.k, all, sms) &&
        loads_.of_x == Loads::vectors && !loads_.gathers_y)
      wait_us *= kPaired;
    if (loads_.edge_in_elements && loads_.of_x == Loads::vectors)
      wait_us = std::max(wait_us, waits_us(Loads::elements, cost::ceil(all / row_tiles_ / sms)));
    const double rounds = cost::ceil(all / (sms * at_once));
    const double longer = std::max(memory_us_, wait_us), shorter = std::min(memory_us_, wait_us);
    const double drift = 1 + rounds * in_turn * steps(loads_.of_x, depth) / kStepsToDrift;
    const double shown = longer > 0 ? kShown / drift * shorter * std::sqrt(shorter / longer) : 0;
    return {costs_.launch_us + longer + shown, rounds, {}, memory_us_, wait_us};
  }

  const Request& request_;
  VectorShape shape_;
  VectorProduct p_;
  VectorLoads loads_;
  VectorCosts costs_;
  int tile_k_;
  double row_tiles_, tiles_, memory_us_;
};

Estimate estimate_vector(const KernelInfo& kernel, const Request& request) {
  const VectorEstimate estimate(kernel, request);
  if (request.to_beat && estimate.memory_us() > *request.to_beat) return {estimate.memory_us()};
  Estimate best = {std::numeric_limits<double>::infinity()};
  for (const ClusterShape& cluster : clusters(kernel)) {
    if (request.cluster != nullptr && cluster != *request.cluster) continue;
    const Estimate its = cluster.k == 1 ? estimate.in_parts() : estimate.in_cluster(cluster);
    if (its.us < best.us) best = its;
  }
  return best;
}

void estimate(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates) {
  for (int i = 0; i < count; ++i) {
    const TileConfig& c = kernels[i]->config;
    estimates[i] = VectorShape::is(c)         ? estimate_vector(*kernels[i], request)
                   : SkinnyShape::has_ring(c) ? estimate_with_ring(*kernels[i], request)
                                              : estimate_one(*kernels[i], request);
  }
}

bool is_short_or_narrow(const KernelInfo& kernel) {
  return VectorShape::is(kernel.config) && !VectorShape::of(kernel.config).has_tasks();
}

// Those for vectors, and those with a ring, count in 32 bits.
bool counts(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const Problem& p = request.problem;
  constexpr std::int64_t kMostExtent = (std::int64_t{1} << 31) - 4096;
  if (!VectorShape::is(c) && !SkinnyShape::has_ring(c)) return true;
  const double tiles = cost::tiles(p.m, c.cta_m) * cost::tiles(p.n, c.cta_n) * double(p.batch_count);
  const int tasks = VectorShape::is(c) ? VectorShape::of(c).tasks_of_tile(std::min(p.m, p.n)) : 1;
  return std::max({p.m, p.n, p.k}) <= kMostExtent && tiles * tasks < 0x1p31;
}

bool ring_fits(const KernelInfo& kernel, const Request& request) {
  return !SkinnyShape::has_ring(kernel.config) ||
         SkinnyShape::ring_bytes(kernel.config) <= request.device.max_shared_bytes_per_block;
}

bool serves(const KernelInfo& kernel, const Request& request) {
  return tile_family_serves(kernel, request) && counts(kernel, request) && ring_fits(kernel, request);
}

std::string why_not(const KernelInfo& kernel, const Request& request) {
  if (std::string why = tile_family_why_not(kernel, request); !why.empty()) return why;
  if (!counts(kernel, request)) return "it needs m, n, k and the number of tiles to be below 2^31";
  if (ring_fits(kernel, request)) return {};
  return format("it needs %d KiB of shared memory, and a CTA of this GPU has %d",
                SkinnyShape::ring_bytes(kernel.config) / 1024, request.device.max_shared_bytes_per_block / 1024);
}

// Vectors and narrow products take none: the matrix is read once, so that a copy takes longer than it can save. And
// which of m and n is the longer one decides about the order of sums, which blocks of C must not change.
bool takes_copies(const KernelInfo& kernel) {
  return !VectorShape::is(kernel.config);
}

// Those for vectors, but for those whose threads take all registers of an SM, or share k on the tensor cores.
bool follows(const KernelInfo& kernel) {
  const TileConfig& c = kernel.config;
  return VectorShape::is(c) && VectorShape::of(c).ctas_per_sm > 1 && VectorShape::of(c).kind != Kind::narrow &&
         VectorShape::of(c).kind != Kind::wide_rows;
}

// Whether an even share of shared memory takes more from CTAs than it gives them: what long ones have under way goes
// through the L1, and where SMs have as many each, or nearly so, nothing needs to make them.
bool wants_l1(const TileConfig& c, const Schedule& s, std::int64_t depth, int sms) {
  constexpr double kEven = 15. / 16;
  constexpr int kLong = 8;           // slices of a CTA
  constexpr int kMostInCluster = 2;  // larger ones are placed unevenly
  const double ctas = double(s.clusters) * s.cluster.size(), of_sm = ctas / sms;
  return VectorShape::of(c).kind == Kind::shared_rows && of_sm > 1 && of_sm >= kEven * cost::ceil(of_sm) &&
         s.cluster.k <= kMostInCluster && depth >= kLong * c.cta_k * s.cluster.k;
}

Schedule schedule(const KernelInfo& kernel, const Problem& problem, const device::DeviceInfo& device,
                  const Sharing& sharing) {
  Schedule s = tile_family_schedule(kernel, problem, device, sharing);
  if (SkinnyShape::has_ring(kernel.config)) {
    s.set_raster(s.raster_group, SkinnyShape::of(kernel.config).streams_b);  // tiles of the same X follow one another
    // And so do those of a CTA.
    s.clusters = std::min(s.clusters, static_cast<unsigned>(device.clusters_of(s.cluster.size())));
    share_sms_evenly(&s, device);
  }
  if (!VectorShape::is(kernel.config)) return s;
  if (const VectorShape shape = VectorShape::of(kernel.config); shape.has_tasks()) {
    const std::int64_t tasks = s.units * shape.tasks_of_tile(std::min(problem.m, problem.n));
    s.clusters = static_cast<unsigned>(
        std::min<std::int64_t>(tasks, std::numeric_limits<std::int32_t>::max() / s.cluster.size()));
    // Of many short rows a CTA has one pair after another: else it would take longer to begin than for its rows. Of
    // wide ones its warps have as many tasks.
    const auto room = static_cast<unsigned>(shape.ctas_per_sm * device.sm_count);
    if (s.cluster.size() == 1 && s.split_tiles == 0 &&
        has_pairs(shape, size_of(kernel.config.type), problem.k, double(tasks), device.sm_count))
      s.clusters = room;
    if (shape.kind == Kind::wide_rows) s.clusters = std::min(s.clusters, room);
    share_sms_evenly(&s, device);
    if (wants_l1(kernel.config, s, problem.k, device.sm_count)) s.shared_bytes = 0;
  }
  // Sectors are read again from L1, whose room more than half of an SM's shared memory would take.
  if (is_short_or_narrow(kernel) && s.clusters > static_cast<unsigned>(device.sm_count)) s.shared_bytes = 0;
  return s;
}

constexpr FamilyInfo family() {
  FamilyInfo info = tile_family<Family::skinny>();
  info.schedule = schedule;
  info.serves = serves;
  info.why_not = why_not;
  info.estimate = estimate;
  info.takes_copies = takes_copies;
  info.clusters = clusters;
  info.follows = follows;
  info.triangles = false;  // none of interest is so narrow
  return info;
}

}  // namespace

constinit const FamilyInfo skinny_family = family();

}  // namespace xgemm::kernels
