// As long as the memory or the L2 need for operands and C, or the busiest SM for its instructions and to wait for
// slices.
#include "kernels/common/short_k.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/common/cost_math.h"
#include "kernels/common/legality.h"
#include "kernels/common/misaligned_c.h"

namespace xgemm::kernels {
namespace {

// Tiles are counted in 32 bits, as k is.
constexpr double kMostOfC = 0x1p30;

bool extents_fit(const Problem& p) {
  constexpr std::int64_t kMostK = (std::int64_t{1} << 31) - 4096;
  return p.elements() <= kMostOfC && p.k <= kMostK;
}

// From a stage TMA stores a C faster than the estimate of ffma_tma tells: a large one is for it, but where k is short.
constexpr double kMostOfStoredC = 0x1p25;
constexpr std::int64_t kMostKOfStoredC = 8;

bool is_for_stage(const Request& request) {
  const Problem& p = request.problem;
  const bool stores = request.device.compute_capability == 90 && c_is_on(request, 16);
  return stores && !p.reads_c() && p.elements() > kMostOfStoredC && p.k > kMostKOfStoredC;
}

}  // namespace

bool short_k_serves(const KernelInfo& kernel, const Request& request) {
  return tile_family_serves(kernel, request) && extents_fit(request.problem) && !is_for_stage(request);
}

std::string short_k_why_not(const KernelInfo& kernel, const Request& request) {
  const std::string reason = tile_family_why_not(kernel, request);
  if (!reason.empty()) return reason;
  if (!extents_fit(request.problem)) return "it is for a C of at most 2^30 elements, and for k below 2^31";
  return is_for_stage(request) ? "it is for a C of at most 2^25 elements where TMA can store it and k is more than 8"
                               : "";
}

Estimate short_k_estimate(const KernelInfo& kernel, const Request& request, const ShortKTile& tile,
                          const ShortKCosts& costs) {
  const TileConfig& c = kernel.config;
  const Problem& p = request.problem;
  const device::Rates& rates = request.device.rates;
  const double sms = request.device.sm_count;
  const double accesses = p.reads_c() ? 2 : 1;
  const double depth = p.reads_inputs() ? cost::tiles(p.k, tile.k_at_once) * tile.k_at_once : 0.0;
  const double slices = p.reads_inputs() ? cost::tiles(p.k, c.cta_k) : 0.0;
  // Whole sectors where columns of C start on them; else the memory has more to do for those that two tiles share.
  constexpr double kSharedSectorBytes = 80;
  const bool whole = divisibility_along(request.facts.c, Axis::row) >= 16;
  const double run = whole ? std::numeric_limits<double>::infinity() : double(std::min<std::int64_t>(c.cta_m, p.m));
  const double bytes = p.bytes() + kSharedSectorBytes * accesses * p.elements() / run;
  const double memory_us = bytes * 1e-6 / (costs.memory_share * rates.memory_tbs);
  const double c_us =
      misaligned_c_us(accesses * p.elements(), size_of(p.c.type), run, run, rates, request.device.sm_count);

  const double tiles = cost::tiles(p.m, c.cta_m) * cost::tiles(p.n, c.cta_n) * double(p.batch_count);
  const double of_sm = cost::ceil(tiles / sms), rounds = cost::ceil(of_sm / tile.ctas_per_sm);
  // Of a thread.
  const double products = depth * (tile.reads + c.thread_m * c.thread_n);
  const double copied = slices * c.cta_k * (c.cta_m + c.cta_n) / c.threads();
  const double stored = accesses * c.thread_m * c.thread_n;
  const double cycles_of_tile = costs.cycles_of_tile + costs.cycles * products + costs.cycles_of_copied * copied +
                                costs.cycles_of_stored * stored;
  const double cycles = of_sm * c.threads() / 128 * cycles_of_tile + costs.cycles_alone * products;
  const double sm_us = cycles * 1e-3 / rates.sm_ghz + rounds * std::max(slices - (c.stages - 1), 0.0) * costs.slice_us;
  return {costs.launch_us + std::max({memory_us, c_us, sm_us}), rounds, {}, memory_us, sm_us};
}

}  // namespace xgemm::kernels
