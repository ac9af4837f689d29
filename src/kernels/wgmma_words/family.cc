// wgmma_words, as the planner sees it: products whose operands are not aligned for TMA.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/status.h"
#include "kernels/common/cost_math.h"
#include "kernels/common/legality.h"
#include "kernels/family.h"
#include "kernels/wgmma_tma/params.h"
#include "kernels/wgmma_tma/schedule.h"
#include "kernels/wgmma_words/instances.h"

namespace xgemm::kernels {
namespace {

const WgmmaTmaConfig& config_of(const KernelInfo& kernel) {
  return config_of<Family::wgmma_words>(kernel);
}

constexpr int kVectorBytes = 16;

// Whether operands come through registers.
bool by_words(const WgmmaTmaConfig& c) {
  return !c.by_lines() && c.vector == 1;
}

// Coordinates and tiles are counted in 32 bits.
bool fits(const WgmmaTmaConfig& c, const Problem& p) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 4096;
  return std::max({p.m, p.n, p.k}) <= kMost &&
         cost::tiles(p.m, c.cta_m) * cost::tiles(p.n, c.cta_n) * double(p.batch_count) < 0x1p31;
}

// A class of lines has every so many of them.
constexpr int kClasses = BasicWgmmaTmaLineParams<TensorBox>::kClasses;

// Of C, that the copy engine stores what it can; of what else it brings.
bool strides_fit(const WgmmaTmaConfig& c, const Request& request) {
  if (size_of(c.type_c) == 2 && !request.c.fit_tma(Axis::row)) return false;
  if (!c.by_lines() || !request.problem.reads_inputs()) return true;
  if (!request.a.fit_tma(c.a_contiguous) || !request.b.fit_tma(c.b_contiguous)) return false;
  const layout::StridedOperand& x = c.transposed ? request.facts.b : request.facts.a;
  const Axis across = layout::other(c.transposed ? c.b_contiguous : c.a_contiguous);
  return x.extent(across) <= kClasses || double(x.stride(across)) * kClasses * x.element_bytes < 0x1p40;
}

// Lines that start anywhere come by classes, whose maps are of a batch as a whole: its matrices lie alike to vectors.
bool entries_lie_alike(const WgmmaTmaConfig& c, const Request& request) {
  const layout::StridedOperand& x = c.transposed ? request.facts.b : request.facts.a;
  return !c.by_lines() || !request.problem.reads_inputs() || x.batch_count <= 1 ||
         x.batch_stride * x.element_bytes % kVectorBytes == 0;
}

bool serves(const KernelInfo& kernel, const Request& request) {
  const WgmmaTmaConfig& c = config_of(kernel);
  return obstacle(kernel.config, request) == Obstacle::none && fits(c, request.problem) && strides_fit(c, request) &&
         entries_lie_alike(c, request);
}

std::string why_not(const KernelInfo& kernel, const Request& request) {
  const WgmmaTmaConfig& c = config_of(kernel);
  const Obstacle found = obstacle(kernel.config, request);
  if (found != Obstacle::none) return to_string(found, kernel.config, request);
  if (!fits(c, request.problem)) return "it needs m, n, k and the number of tiles to be below 2^31";
  if (!strides_fit(c, request))
    return format("it needs leading dimensions and batch strides to be below 2^%d bytes", c.by_lines() ? 37 : 40);
  return entries_lie_alike(c, request) ? ""
                                       : format("it needs the batch stride of %c to be a multiple of %d bytes",
                                                c.transposed ? 'B' : 'A', kVectorBytes);
}

// Of the kernels, on any GPU: by words as measured on an H100 and an H200.
struct Constants {
  double launch_us;
  double turn_us;        // of a tile, beside its slices and elements
  double slice_cycles;   // of a slice,
  double line_cycles;    // and of each line of it,
  double shared_cycles;  // and, among the CTAs that share it, of the operand that TMA brings
  double element;        // cycles of an element of C
  double memory_share;   // of the memory's rate
  double sum_us;         // of adding up parts, beside their bytes
  double sum_bytes_per_us;
  double exchange_us;       // of the CTAs that share a tile's K: to meet, and to wait for each other,
  double exchange_part_us;  // and of each one's sums
};
constexpr Constants kByWords = {.launch_us = 0.75,
                                .turn_us = 0.69,
                                .slice_cycles = 0,
                                .line_cycles = 9.9,
                                .shared_cycles = 0,
                                .element = 0.48,
                                .memory_share = 0.7,
                                .sum_us = 3.3,
                                .sum_bytes_per_us = 2.1e6,
                                .exchange_us = 0.93,
                                .exchange_part_us = 0.36};
// Fitted to products on an H200. What CTAs and the memory take join by fourth powers, as where lines are copied.
constexpr Constants kByLines = {.launch_us = 3.07,
                                .turn_us = 0,
                                .slice_cycles = 740,
                                .line_cycles = 0,
                                .shared_cycles = 54,
                                .element = 0.437,
                                .memory_share = 0.667,
                                .sum_us = 0.49,
                                .sum_bytes_per_us = 1.28e6,
                                .exchange_us = 0.99,
                                .exchange_part_us = 0.543};

// Lines that are copied: fitted to the products of perf/tune/measured/wild/h200-copied-h.tsv.xz.
constexpr Constants kByCopies = {.launch_us = 0.78,
                                 .turn_us = 0.98,
                                 .slice_cycles = 0,
                                 .line_cycles = 5.67,
                                 .shared_cycles = 0,
                                 .element = 0.303,
                                 .memory_share = 0.813,
                                 .sum_us = 2.67,
                                 .sum_bytes_per_us = 1.62e6,
                                 .exchange_us = 1.15,
                                 .exchange_part_us = 0.471};

const Constants& constants_of(const WgmmaTmaConfig& c) {
  return by_words(c) ? kByWords : c.by_lines() ? kByLines : kByCopies;
}

int resident_clusters(const device::DeviceInfo& device, const ClusterShape& cluster) {
  return cluster.size() == 1 ? device.sm_count : device.clusters_of(cluster.size());
}

Estimate estimate_of(const WgmmaTmaConfig& c, const ClusterShape& cluster, const Request& request) {
  constexpr double kLeastSlices = 4;  // of a part
  const Constants& x = constants_of(c);
  const Problem& p = request.problem;
  const double ctas = resident_clusters(request.device, cluster);
  const double us_per_cycle = 1e-3 / request.device.rates.sm_ghz;
  const double all =
      cost::tiles(p.m, c.cta_m * cluster.m) * cost::tiles(p.n, c.cta_n * cluster.n) * double(p.batch_count);
  const double slices = p.reads_inputs() ? cost::tiles(p.k, c.cta_k()) : 0;
  const double c_accesses = p.reads_c() ? 2 : 1;
  const double inputs = p.reads_inputs() ? 2 * double(p.batch_count) * double(p.k) * (double(p.m) + double(p.n)) : 0;
  const double bytes = inputs + p.elements() * size_of(p.c.type) * c_accesses;
  const double memory_us = bytes * 1e-6 / (x.memory_share * request.device.rates.memory_tbs);
  const double slice_cycles =
      x.slice_cycles + (c.cta_m + c.cta_n) * x.line_cycles + x.shared_cycles / (cluster.m * cluster.n);
  const auto tile_us = [&](double of_slices) {
    return x.turn_us + (of_slices * slice_cycles + c.cta_m * c.cta_n * x.element * c_accesses) * us_per_cycle;
  };
  const auto estimate = [&](double cycles_us) {
    if (by_words(c)) return x.launch_us + std::max(cycles_us, memory_us);
    const double powers = cycles_us * cycles_us * cycles_us * cycles_us + memory_us * memory_us * memory_us * memory_us;
    return x.launch_us + std::sqrt(std::sqrt(powers));
  };
  if (cluster.k > 1) {
    const double rounds = cost::ceil(all / ctas);
    const double unit_us =
        tile_us(cost::ceil(slices / cluster.k)) + x.exchange_us + x.exchange_part_us * (cluster.k - 1);
    return {estimate(rounds * unit_us), rounds, {.cluster = cluster}, memory_us, rounds * unit_us};
  }
  const double rounds = cost::ceil(all / ctas);
  Estimate best = {estimate(rounds * tile_us(slices)), rounds, {.cluster = cluster}};
  // Split are the tiles of the last round, where they do not fill it.
  const double full_rounds = cost::floor(all / ctas), rest = all - full_rounds * ctas;
  const double parts = rest > 0 ? std::min(cost::floor(slices / kLeastSlices), cost::floor(ctas / rest)) : 0;
  const double sums = parts * rest * cluster.size() * c.cta_m * c.cta_n * 4;
  if (parts >= 2 && sums <= workspace_limit(request.device)) {
    const double us = estimate(full_rounds * tile_us(slices) + tile_us(cost::ceil(slices / parts))) + x.sum_us +
                      sums / x.sum_bytes_per_us;
    if (us < best.us)
      best = {us, rounds, {static_cast<std::int64_t>(full_rounds * ctas), static_cast<int>(parts), cluster}};
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

bool follows(const KernelInfo& kernel) {
  return by_words(config_of(kernel));
}

// A copy starts on 16 bytes: what has one is wgmma_tma's, or is read through registers.
bool takes_copies(const KernelInfo& kernel) {
  return config_of(kernel).vector == 1;
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
                                                 .takes_copies = takes_copies,
                                                 .follows = follows,
                                                 .yields_to = Family::wgmma_tma};

}  // namespace xgemm::kernels
