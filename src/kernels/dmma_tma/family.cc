// dmma_tma, as the planner sees it: a family of tiles, of any flags and alignment, whose CTAs are persistent.
#include <algorithm>

#include "kernels/common/tile_family.h"
#include "kernels/dmma_tma/instances.h"

namespace xgemm::kernels {
namespace {

// Extents and units are counted in 32 bits.
bool extents_fit(const KernelInfo& kernel, const Request& request) {
  constexpr std::int64_t kMaxExtent = (std::int64_t{1} << 31) - 4096;
  const Problem& p = request.problem;
  if (p.m > kMaxExtent || p.n > kMaxExtent || p.k > kMaxExtent) return false;
  const TileGrid grid = tile_grid(p.fill, p.m, p.n, kernel.config.cta_m, kernel.config.cta_n);
  return double(grid.m) * double(grid.n) * double(p.batch_count) < 0x1p31;
}

bool serves(const KernelInfo& kernel, const Request& request) {
  return tile_family_serves(kernel, request) && extents_fit(kernel, request);
}

std::string why_not(const KernelInfo& kernel, const Request& request) {
  const std::string found = tile_family_why_not(kernel, request);
  return !found.empty() || extents_fit(kernel, request) ? found
                                                        : "it needs m, n, k and the number of tiles to be below 2^31";
}

// While a persistent CTA stores a tile, no other one multiplies: with short K, kernels that share an SM are faster.
void estimate(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates) {
  constexpr double kStoreUs = 0.6 / (128 * 128);  // an element of C: H100, 8192 x 8192 x 64
  tile_family_estimate(request, kernels, count, estimates);
  for (int i = 0; i < count; ++i)
    estimates[i].us += estimates[i].waves * kStoreUs * kernels[i]->config.cta_m * kernels[i]->config.cta_n;
}

Schedule schedule(const KernelInfo& kernel, const Problem& problem, const device::DeviceInfo& device,
                  const Sharing& sharing) {
  Schedule s = tile_family_schedule(kernel, problem, device, sharing);
  s.clusters = std::min(s.clusters, static_cast<unsigned>(device.sm_count));
  return s;
}

constexpr FamilyInfo family() {
  FamilyInfo info = tile_family<Family::dmma_tma>();
  info.serves = serves;
  info.why_not = why_not;
  info.estimate = estimate;
  info.schedule = schedule;
  return info;
}

}  // namespace

constinit const FamilyInfo dmma_tma_family = family();

}  // namespace xgemm::kernels
