// row_lanes, as the planner sees it: what the memory and the L2 need for operands and C, or the busiest SM for its
// instructions and to wait for slices.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "kernels/common/cost_math.h"
#include "kernels/common/legality.h"
#include "kernels/common/misaligned_c.h"
#include "kernels/common/tile_family.h"
#include "kernels/row_lanes/instances.h"

namespace xgemm::kernels {
namespace {

// By 1380 products on an H100 and an H200 (perf/tune/measured/wild/, *-110-s and *-111-s). Cycles: of an instruction of
// a product, for four warps of an SM, and what it takes longer where no others are ready; for a tile; for what four
// lanes store. After the first slice a CTA waits for each.
constexpr double kLaunchUs = 1.73, kMemoryShare = 0.82;
constexpr double kProduct = 1.37, kProductAlone = 0.96, kTile = 250, kStored = 26;
constexpr double kSliceUs = 0.38;

double tiles_of(const TileConfig& c, const Problem& p) {
  return cost::tiles(p.m, c.cta_m) * cost::tiles(p.n, c.cta_n) * double(p.batch_count);
}

// Of a larger C, vectors of ffma_tma and its stage take as long or less. So tiles are counted in 32 bits, as k is.
constexpr double kMostOfC = 0x1p25;

bool extents_fit(const Problem& p) {
  constexpr std::int64_t kMostK = (std::int64_t{1} << 31) - 4096;
  return p.elements() <= kMostOfC && p.k <= kMostK;
}

bool serves(const KernelInfo& kernel, const Request& request) {
  return tile_family_serves(kernel, request) && extents_fit(request.problem);
}

std::string why_not(const KernelInfo& kernel, const Request& request) {
  const std::string reason = tile_family_why_not(kernel, request);
  if (!reason.empty() || extents_fit(request.problem)) return reason;
  return "it is for a C of at most 2^25 elements, and for k below 2^31";
}

Estimate estimate_one(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const Problem& p = request.problem;
  const device::Rates& rates = request.device.rates;
  const double sms = request.device.sm_count;
  const double accesses = p.reads_c() ? 2 : 1;
  const double depth = p.reads_inputs() ? double(p.k) : 0.0,
               slices = p.reads_inputs() ? cost::tiles(p.k, c.cta_k) : 0.0;
  const double memory_us = p.bytes() * 1e-6 / (kMemoryShare * rates.memory_tbs);
  // Whole sectors where columns of C start on them.
  const bool whole = divisibility_along(request.facts.c, Axis::row) >= 16;
  const double run = whole ? std::numeric_limits<double>::infinity() : std::min(32.0, double(p.m));
  const double c_us =
      misaligned_c_us(accesses * p.elements(), size_of(p.c.type), run, run, rates, request.device.sm_count);

  // Of a warp, or of a thread.
  const double products = depth * (c.thread_m + c.thread_n / 4 + c.thread_m * c.thread_n);
  const double stored = accesses * c.thread_m * c.thread_n;
  const double of_sm = cost::ceil(tiles_of(c, p) / sms), rounds = cost::ceil(of_sm / row_lanes_ctas_per_sm(c));
  const double cycles = of_sm * (kTile + kProduct * products + kStored * stored) + kProductAlone * products;
  const double sm_us = cycles * 1e-3 / rates.sm_ghz + rounds * std::max(slices - 1, 0.0) * kSliceUs;
  return {kLaunchUs + std::max({memory_us, c_us, sm_us}), rounds, {}, memory_us, sm_us};
}

void estimate(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates) {
  for (int i = 0; i < count; ++i) estimates[i] = estimate_one(*kernels[i], request);
}

constexpr FamilyInfo family() {
  FamilyInfo info = tile_family<Family::row_lanes>();
  info.serves = serves;
  info.why_not = why_not;
  info.estimate = estimate;
  info.splits = [](const KernelInfo&) { return false; };
  info.triangles = false;
  return info;
}

}  // namespace

constinit const FamilyInfo row_lanes_family = family();

}  // namespace xgemm::kernels
