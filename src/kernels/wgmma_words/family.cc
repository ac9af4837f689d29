// wgmma_words, as the planner sees it: small products whose operands are not aligned for TMA.
#include <algorithm>
#include <limits>
#include <span>

#include "core/status.h"
#include "kernels/common/cost_math.h"
#include "kernels/common/legality.h"
#include "kernels/family.h"
#include "kernels/wgmma_tma/schedule.h"
#include "kernels/wgmma_words/instances.h"

namespace xgemm::kernels {
namespace {

const WgmmaTmaConfig& config_of(const KernelInfo& kernel) {
  return config_of<Family::wgmma_words>(kernel);
}

// Coordinates and tiles are counted in 32 bits.
bool fits(const WgmmaTmaConfig& c, const Problem& p) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 4096;
  return std::max({p.m, p.n, p.k}) <= kMost &&
         cost::tiles(p.m, c.cta_m) * cost::tiles(p.n, c.cta_n) * double(p.batch_count) < 0x1p31;
}

// Of C, that the copy engine stores what it can.
bool strides_fit(const KernelInfo& kernel, const Request& request) {
  return !config_of(kernel).c_through_shared() || request.c.fit_tma(Axis::row);
}

bool serves(const KernelInfo& kernel, const Request& request) {
  return obstacle(kernel.config, request) == Obstacle::none && fits(config_of(kernel), request.problem) &&
         strides_fit(kernel, request);
}

std::string why_not(const KernelInfo& kernel, const Request& request) {
  const Obstacle found = obstacle(kernel.config, request);
  if (found != Obstacle::none) return to_string(found, kernel.config, request);
  if (!fits(config_of(kernel), request.problem)) return "it needs m, n, k and the number of tiles to be below 2^31";
  return strides_fit(kernel, request) ? ""
                                      : "it needs the leading dimension and batch stride of C to be below 2^40 bytes";
}

// Of the kernel, on any GPU: as measured on an H100 and an H200.
struct Constants {
  double launch_us = 0.75;
  double turn_us = 0.69;      // of a tile, beside its slices and elements
  double line_cycles = 9.9;   // of a line of a slice
  double element = 0.48;      // cycles of an element of C
  double memory_share = 0.7;  // of the memory's rate
  double sum_us = 3.3;        // of adding up parts, beside their bytes
  double sum_bytes_per_us = 2.1e6;
  double exchange_us = 0.93;       // of the CTAs that share a tile's K: to meet, and to wait for each other,
  double exchange_part_us = 0.36;  // and of each one's sums
};

int resident_clusters(const device::DeviceInfo& device, const ClusterShape& cluster) {
  return cluster.size() == 1 ? device.sm_count : device.clusters_of(cluster.size());
}

Estimate estimate_of(const WgmmaTmaConfig& c, const ClusterShape& cluster, const Request& request) {
  constexpr Constants x;
  constexpr double kLeastSlices = 4;  // of a part
  const Problem& p = request.problem;
  const double sms = request.device.sm_count;
  const double us_per_cycle = 1e-3 / request.device.rates.sm_ghz;
  const double all = cost::tiles(p.m, c.cta_m) * cost::tiles(p.n, c.cta_n) * double(p.batch_count);
  const double slices = p.reads_inputs() ? cost::tiles(p.k, c.cta_k()) : 0;
  const double c_accesses = p.reads_c() ? 2 : 1;
  const double inputs = p.reads_inputs() ? 2 * double(p.batch_count) * double(p.k) * (double(p.m) + double(p.n)) : 0;
  const double bytes = inputs + p.elements() * size_of(p.c.type) * c_accesses;
  const double memory_us = bytes * 1e-6 / (x.memory_share * request.device.rates.memory_tbs);
  const auto tile_us = [&](double of_slices) {
    const double cycles = of_slices * (c.cta_m + c.cta_n) * x.line_cycles + c.cta_m * c.cta_n * x.element * c_accesses;
    return x.turn_us + cycles * us_per_cycle;
  };
  const auto estimate = [&](double cycles_us) { return x.launch_us + std::max(cycles_us, memory_us); };
  if (cluster.k > 1) {
    const double rounds = cost::ceil(all / resident_clusters(request.device, cluster));
    const double unit_us =
        tile_us(cost::ceil(slices / cluster.k)) + x.exchange_us + x.exchange_part_us * (cluster.k - 1);
    return {estimate(rounds * unit_us), rounds, {.cluster = cluster}, memory_us, rounds * unit_us};
  }
  const double rounds = cost::ceil(all / sms);
  Estimate best = {estimate(rounds * tile_us(slices)), rounds};
  // Split are the tiles of the last round, where they do not fill it.
  const double full_rounds = cost::floor(all / sms), rest = all - full_rounds * sms;
  const double parts = rest > 0 ? std::min(cost::floor(slices / kLeastSlices), cost::floor(sms / rest)) : 0;
  const double sums = parts * rest * c.cta_m * c.cta_n * 4;
  if (parts >= 2 && sums <= workspace_limit(request.device)) {
    const double us = estimate(full_rounds * tile_us(slices) + tile_us(cost::ceil(slices / parts))) + x.sum_us +
                      sums / x.sum_bytes_per_us;
    if (us < best.us) best = {us, rounds, {static_cast<std::int64_t>(full_rounds * sms), static_cast<int>(parts)}};
  }
  best.memory_us = memory_us, best.work_us = rounds * tile_us(slices);
  return best;
}

void estimate(const Request& request, const KernelInfo* const* kernels, int number, Estimate* estimates) {
  for (int i = 0; i < number; ++i) {
    const WgmmaTmaConfig& c = config_of(*kernels[i]);
    estimates[i] = {std::numeric_limits<double>::infinity()};
    for (const ClusterShape& cluster : cluster_shapes(c)) {
      if (request.cluster != nullptr && cluster != *request.cluster) continue;
      const Estimate estimate = estimate_of(c, cluster, request);
      if (estimate.us < estimates[i].us) estimates[i] = estimate;
    }
  }
}

bool splits(const KernelInfo&) {
  return true;
}

Schedule schedule(const KernelInfo& kernel, const Problem& p, const device::DeviceInfo& device,
                  const Sharing& sharing) {
  return wgmma_tma_schedule(config_of(kernel), p.m, p.n, p.batch_count, sharing,
                            resident_clusters(device, sharing.cluster), device.sm_count);
}

std::span<const ClusterShape> clusters(const KernelInfo& kernel) {
  return cluster_shapes(config_of(kernel));
}

}  // namespace

constinit const FamilyInfo wgmma_words_family = {.instances = built_instances<Family::wgmma_words>(),
                                                 .serves = serves,
                                                 .why_not = why_not,
                                                 .estimate = estimate,
                                                 .splits = splits,
                                                 .schedule = schedule,
                                                 .clusters = clusters,
                                                 .pointers = [](const KernelInfo&) { return Pointers::shared; },
                                                 .yields_to = Family::wgmma_tma};

}  // namespace xgemm::kernels
