// wgmma_tma, as the planner sees it: what TMA can address, and a model of its tiles that measurements correct.
#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <vector>

#include "core/finishing.h"
#include "core/status.h"
#include "kernels/common/cost_math.h"
#include "kernels/common/legality.h"
#include "kernels/common/misaligned_c.h"
#include "kernels/common/shortlist.h"
#include "kernels/family.h"
#include "kernels/wgmma_tma/cost_correction.h"
#include "kernels/wgmma_tma/instances.h"
#include "kernels/wgmma_tma/schedule.h"

namespace xgemm::kernels {
namespace {

using layout::StridedOperand;

static_assert(kCorrected <= TileCosts::kMost);
constexpr std::size_t kNumber = kCount<Family::wgmma_tma>;

const WgmmaTmaConfig& config_of(const KernelInfo& kernel) {
  return config_of<Family::wgmma_tma>(kernel);
}

// The copy engine's coordinates are signed 32-bit, also those of the last tile's end and of slices in flight beyond k.
constexpr std::int64_t kMaxTmaExtent = (std::int64_t{1} << 31) - 4096;

bool extents_fit_tma(const WgmmaTmaConfig& c, const Problem& p) {
  if (p.m > kMaxTmaExtent || p.n > kMaxTmaExtent || p.k > kMaxTmaExtent || p.batch_count > kMaxTmaExtent) return false;
  // Tiles are counted in 32 bits.
  if (double(p.m) * double(p.n) * double(p.batch_count) < 0x1p31) return true;
  return cost::tiles(p.m, c.cta_m) * cost::tiles(p.n, c.cta_n) * double(p.batch_count) < 0x1p31;
}

// The operand whose strides are too long for TMA; nullptr when none is.
const char* out_of_reach(const WgmmaTmaConfig& c, const Request& request) {
  if (size_of(c.type_c) == 2 && !request.c.fit_tma(Axis::row)) return "C";
  if (!request.problem.reads_inputs()) return nullptr;
  if (!request.a.fit_tma(c.a_contiguous)) return "A";
  return request.b.fit_tma(c.b_contiguous) ? nullptr : "B";
}

bool serves(const KernelInfo& kernel, const Request& request) {
  return obstacle(kernel.config, request) == Obstacle::none && extents_fit_tma(config_of(kernel), request.problem) &&
         out_of_reach(config_of(kernel), request) == nullptr;
}

std::string why_not(const KernelInfo& kernel, const Request& request) {
  const Obstacle found = obstacle(kernel.config, request);
  if (found != Obstacle::none) return to_string(found, kernel.config, request);
  if (!extents_fit_tma(config_of(kernel), request.problem))
    return "it needs m, n, k, the batch and the number of tiles to be below 2^31";
  const char* const operand = out_of_reach(config_of(kernel), request);
  if (operand == nullptr) return {};
  return format("it needs the leading dimension and batch stride of %s to be below 2^40 bytes", operand);
}

// By instructions of WgmmaTmaFinisher: additions, products and a maximum at 128 in a cycle; an exponential and a
// reciprocal at 16, which in tiles of 64 x 16 to 64 x 128 take .16 to .19 together with what leads to them, on an H200.
double finishing_cycles(const Epilogue& e) {
  if (!e.any()) return 0;
  constexpr double kSigmoid = 0.17, kInstruction = 1.0 / 128;
  const double scales = kInstruction * ((e.row_scales != nullptr ? 1 : 0) + (e.column_scales != nullptr ? 1 : 0));
  switch (e.activation) {
    case Activation::none:
    case Activation::relu:
      return 2 * kInstruction + scales;
    case Activation::gelu:
      return kSigmoid + 8 * kInstruction + scales;
    case Activation::gelu_tanh:
    case Activation::silu:
      break;
  }
  return kSigmoid + scales;
}

// K, in elements of 16 bits.
std::int64_t depth(const Problem& p) {
  return p.reads_inputs() ? p.k * (size_of(p.a.type) / 2) : 0;
}

std::int64_t slices_of(const Problem& p) {
  return (depth(p) + CostProblem::kSlice - 1) / CostProblem::kSlice;
}

// Whether CTAs in no cluster may share an SM: where there are several tiles for each, of a K too short to be split, and
// the kernel is not a twin, which would have too few registers.
bool may_share_sms(const Problem& p, double tiles, int sms) {
  return tiles > sms && slices_of(p) > 0 && slices_of(p) < 2 * CostSplit::kLeastSlices && !p.epilogue.any() &&
         !p.by_pointers();
}

CostProblem cost_problem(const Request& request) {
  const Problem& p = request.problem;
  const auto align = [&](const StridedOperand& x, Op op) {
    constexpr int kLine = 128;
    if (!p.reads_inputs()) return kLine;
    return std::min<int>(divisibility_along(x, op == Op::none ? Axis::row : Axis::col), kLine);
  };
  return {.m = p.m,
          .n = p.n,
          .k = depth(p),
          .batch_count = p.batch_count,
          .a_transposed = p.a.op == Op::transpose,
          .b_transposed = p.b.op == Op::transpose,
          .reads_c = p.reads_c(),
          .align_a = align(request.facts.a, p.a.op),
          .align_b = align(request.facts.b, p.b.op),
          .bytes_c = size_of(p.c.type),
          .finishing = finishing_cycles(p.epilogue)};
}

// Whether what a CTA takes for a tile is mostly waiting, which others on its SM do at the same time: of products of one
// tile, and of those one tile wide with B along k. Other operands have short runs of elements, which keep the copy
// engine busy, and of C that is several tiles wide, or has short columns, the L2 writes parts of lines.
bool mostly_waits(const WgmmaTmaConfig& c, const CostProblem& p) {
  constexpr int kLeastDepth = 24, kMostDepth = 192, kElements = 32;
  if (p.k < kLeastDepth || p.k > kMostDepth || p.m < kElements || p.n > c.cta_n) return false;
  return !p.b_transposed || (p.m <= c.cta_m && p.n >= kElements);
}

// Tiles that leave 256 rows to one warpgroup save turns, which are most of a short K. Of a longer one they were the
// best of 33 of 175 products, by .4 % of the time (perf/tune/measured/h200-few-columns-long.tsv.xz), which is less than
// estimates are off by: they are taken where they are estimated to be faster by a tenth.
double handicap(const WgmmaTmaConfig& c, const CostProblem& p) {
  constexpr int kShortDepth = 512;
  constexpr double kLead = 1.1;
  return c.tile_rows() == 256 && c.consumers() == 1 && p.k > kShortDepth ? kLead : 1;
}

// What it costs that threads store a C that TMA cannot: in each round, a tile through the SM, unless another consumer
// multiplies meanwhile, and a part of what the L2 takes for the sectors (measured on an H100 and an H200). Of fp32 that
// leaves registers it is more sectors.
double scattered_c_us(const WgmmaTmaConfig& c, const Request& request, double rounds) {
  // On an H100 of tiles of 128 x 128, on an H200 of 16 x 64, mostly until the first elements leave.
  constexpr double kCycles = 1300, kCyclesPerElement = 0.02;
  constexpr double kShare = 0.45, kShareOfPingPong = 0.65, kRowsOfAnAccess = 32, kRowsFromRegisters = 8;
  const Problem& p = request.problem;
  if (divisibility_along(request.facts.c, Axis::row) >= 16) return 0;
  const bool from_registers = size_of(c.type_c) == 4 && (!c.c_through_shared() || p.reads_c());
  const device::Rates& rates = request.device.rates;
  const double sectors_us = misaligned_c_us(double(p.m) * double(p.n) * double(p.batch_count), size_of(p.c.type),
                                            from_registers ? kRowsFromRegisters : kRowsOfAnAccess, double(p.m), rates,
                                            request.device.sm_count);
  if (c.ping_pong) return kShareOfPingPong * sectors_us;
  if (from_registers) return kShare * sectors_us;
  return kShare * sectors_us + rounds * (kCycles + c.cta_m * c.cta_n * kCyclesPerElement) * 1e-3 / rates.sm_ghz;
}

// What it takes at least where matrices are found by pointers: in each round the pointers have to come before the first
// elements are asked for, however few there are (an H200: perf/tune/measured/wild/h200-pointers-h).
double pointers_us(const WgmmaTmaConfig& c, double rounds) {
  constexpr double kStart = 1.7, kRound = 1.1, kRoundOfElement = 2.5e-5;
  return kStart + rounds * (kRound + c.cta_m * c.cta_n * kRoundOfElement);
}

// An instance in clusters of one shape, by the model.
struct Weighed : TileCost::Best {
  int place;  // among the instances
  const ClusterShape* cluster;

  Estimate estimate(double of_us) const {
    return {of_us, rounds, {static_cast<std::int64_t>(split.whole_tiles), split.parts, *cluster}};
  }
};

// Sets of kClusterShapes: bit i is the i-th.
using ShapeSet = unsigned;
static_assert(std::size(kClusterShapes) <= 32);

template <class Condition>
constexpr ShapeSet shapes_where(const Condition& holds) {
  ShapeSet set = 0;
  for (std::size_t i = 0; i < std::size(kClusterShapes); ++i) set |= ShapeSet{holds(kClusterShapes[i])} << i;
  return set;
}

// Along an axis with so many CTAs: without those of which half as many CTAs would reach as far.
template <int ClusterShape::*kAlong>
ShapeSet not_too_wide(double ctas) {
  constexpr int kWidest = 8;
  static constexpr auto sets = [] {
    std::array<ShapeSet, kWidest / 2 + 1> all{};
    for (int i = 0; i <= kWidest / 2; ++i)
      all[static_cast<std::size_t>(i)] =
          shapes_where([&](const ClusterShape& shape) { return shape.*kAlong / 2 < i + 1; });
    return all;
  }();
  return sets[static_cast<std::size_t>(std::min(ctas, kWidest / 2 + 1.0) - 1)];
}

// Where CTAs share an operand along k, some have nothing of its last slice, and ask TMA for it: of matrices that are
// found by pointers they may not (TensorBox::anywhere).
ShapeSet legal_shapes(const Problem& p, const CostProblem& cost) {
  const bool asks_for_nothing = p.by_pointers() && cost.k % CostProblem::kSlice != 0;
  return shapes_where([&](const ClusterShape& shape) { return !asks_for_nothing || shape.m * shape.n == 1; });
}

// Of no more CTAs than the GPU has SMs, and with slices enough for each.
ShapeSet possible_shapes(const CostProblem& p, const CostDevice& device) {
  return shapes_where([&](const ClusterShape& shape) {
    return (shape.size() == 1 || shape.size() <= device.sms) &&
           (shape.k == 1 || p.k >= std::int64_t{CostSplit::kLeastSlices} * shape.k * CostProblem::kSlice);
  });
}

void estimate(const Request& request, const KernelInfo* const* kernels, int number, Estimate* estimates) {
  // Names are compared, and clusters counted, once in a process, not once in a call.
  struct Known {
    int tile;
    int exchange_chunks;
    ShapeSet shapes;
    WgmmaTmaCtasPerSm ctas_per_sm;
  };
  static const auto known = [] {
    std::vector<Known> all;
    all.reserve(kNumber);
    std::ranges::transform(kConfigs<Family::wgmma_tma>, std::back_inserter(all), [](const WgmmaTmaConfig& c) -> Known {
      return {fitted_tile(c), c.exchange_chunks(1),
              shapes_where([&](const ClusterShape& shape) { return std::ranges::count(cluster_shapes(c), shape) > 0; }),
              WgmmaTmaCtasPerSm(c)};
    });
    return all;
  }();
  const auto known_of = [&](int place) -> const Known& {
    return known[static_cast<std::size_t>(kernels[place]->index)];
  };
  const CostProblem p = cost_problem(request);
  const CostDevice device = CostDevice::of(request.device);
  const CostCorrection correction(p, device);
  const double limit = workspace_limit(request.device);

  const ProductWork product(p, device);
  const ShapeSet legal = legal_shapes(request.problem, p), possible = possible_shapes(p, device);
  constexpr ShapeSet kSharingK = shapes_where([](const ClusterShape& shape) { return shape.k > 1; });

  struct Candidate {
    TileWork work;
    double least_us;
    int place;
  };
  std::vector<Candidate> candidates;
  candidates.reserve(static_cast<std::size_t>(number));
  for (int i = 0; i < number; ++i) {
    TileWork work(config_of(*kernels[i]), product, known_of(i).exchange_chunks);
    const double tiles = work.ctas_m * work.ctas_n * double(p.batch_count);
    if (mostly_waits(work.config, p) && may_share_sms(request.problem, tiles, device.sms))
      work.ctas_per_sm = known_of(i).ctas_per_sm.of(tiles, slices_of(request.problem), p.reads_c, device.sms);
    candidates.push_back({work, work.least_us(), i});
  }
  TileCosts costs(product);
  std::array<Weighed, TileCosts::kMost> waiting;  // for enough of them
  const auto weigh = [&](const auto& bound, const auto& add) {
    std::array<TileCost::Best, TileCosts::kMost> best;
    const int count = costs.count();
    costs.best_splits(limit, best.data());
    for (int i = 0; i < count; ++i) {
      const auto place = static_cast<std::size_t>(i);
      if (request.to_beat && best[place].us >= bound()) continue;
      static_cast<TileCost::Best&>(waiting[place]) = best[place];
      add(waiting[place]);
    }
  };
  const auto expand = [&](const Candidate& candidate, bool hopeless, const auto& bound, const auto& add) {
    const auto& [work, least_us, place] = candidate;
    const Known& of_tile = known_of(place);
    ShapeSet shapes = of_tile.shapes & legal;
    if (request.cluster != nullptr)
      shapes &= shapes_where([&](const ClusterShape& shape) { return shape == *request.cluster; });
    else
      shapes &= (kSharingK | (hopeless ? 1 : fitted_clusters(of_tile.tile))) & possible &
                not_too_wide<&ClusterShape::m>(work.ctas_m) & not_too_wide<&ClusterShape::n>(work.ctas_n);
    for (; shapes != 0; shapes &= shapes - 1) {
      const ClusterShape& cluster = kClusterShapes[std::countr_zero(shapes)];
      // K is shared only where there is a cluster for each tile.
      if (cluster.k > 1 && request.cluster == nullptr &&
          cluster_tiles(work.config, cluster, p) > device.clusters_of(cluster.size()))
        continue;
      waiting[static_cast<std::size_t>(costs.count())] = {{}, place, &cluster};
      costs.add(work, cluster);
      if (costs.count() == TileCosts::kMost) weigh(bound, add);
    }
  };
  const auto correct = [&](const Weighed* const* some, int count, double* us) {
    std::array<CostSplit, kCorrected> splits;
    std::array<CostTerms, kCorrected> terms;
    const auto work_of = [&](int i) -> const TileWork& {
      return candidates[static_cast<std::size_t>(some[i]->place)].work;
    };
    for (int i = 0; i < count; ++i) {
      TileWork alone = work_of(i);  // as it was measured
      alone.ctas_per_sm = 1;
      costs.add(alone, *some[i]->cluster);
      splits[static_cast<std::size_t>(i)] = some[i]->split;
    }
    costs.terms(splits.data(), terms.data());
    for (int i = 0; i < count; ++i) {
      const Weighed& w = *some[i];
      const WgmmaTmaConfig& c = work_of(i).config;
      const CostTerms& t = terms[static_cast<std::size_t>(i)];
      us[i] = t.us * correction(c, known_of(w.place).tile, *w.cluster, w.split, t) * handicap(c, p);
      if (w.cluster->size() == 1) us[i] = work_of(i).shared_us(t, us[i]);
      us[i] += scattered_c_us(c, request, w.rounds);
      if (request.problem.by_pointers()) us[i] = std::max(us[i], pointers_us(c, w.rounds));
    }
  };
  estimate_shortlisted<Weighed>(request, CostCorrection::kLeast, candidates, expand, weigh, correct, estimates);
}

bool splits(const KernelInfo&) {
  return true;
}

Schedule schedule(const KernelInfo& kernel, const Problem& p, const device::DeviceInfo& device,
                  const Sharing& sharing) {
  const WgmmaTmaConfig& c = config_of(kernel);
  const double tiles = cost::tiles(p.m, c.cta_m) * cost::tiles(p.n, c.cta_n) * double(p.batch_count);
  int ctas_per_sm = 1;
  if (sharing.cluster.size() == 1 && sharing.parts == 1 && may_share_sms(p, tiles, device.sm_count))
    ctas_per_sm = WgmmaTmaCtasPerSm(c).of(tiles, slices_of(p), p.reads_c(), device.sm_count);
  return wgmma_tma_schedule(c, p.m, p.n, p.batch_count, sharing, device.clusters_of(sharing.cluster.size()),
                            device.sm_count, ctas_per_sm);
}

std::span<const ClusterShape> clusters(const KernelInfo& kernel) {
  return cluster_shapes(config_of(kernel));
}

// Whether TMA stores all of a C of 16 bits. What it leaves to the threads would be half of a twin's code.
bool stores_whole(const Problem& p) {
  constexpr std::int64_t kVector = 8;
  return reinterpret_cast<std::uintptr_t>(p.c.data) % 16 == 0 && p.m % kVector == 0 &&
         (p.n <= 1 || p.c.ld % kVector == 0) && (p.batch_count <= 1 || p.c.batch_stride % kVector == 0);
}

// On the way from the sums to 16 bits.
bool finishes(const KernelInfo& kernel, const Problem& problem) {
  return config_of(kernel).finishes && kernels_may_finish(problem) && stores_whole(problem);
}

}  // namespace

constinit const FamilyInfo wgmma_tma_family = {
    .instances = built_instances<Family::wgmma_tma>(),
    .serves = serves,
    .why_not = why_not,
    .estimate = estimate,
    .splits = splits,
    .schedule = schedule,
    .clusters = clusters,
    .finishes = finishes,
    .follows = [](const KernelInfo& kernel) { return config_of(kernel).follows; }};

}  // namespace xgemm::kernels
