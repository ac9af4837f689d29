// Estimates from measured rows.
#include "kernels/common/tile_family.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/legality.h"
#include "kernels/common/tile_schedule.h"
#include "tuning/table.h"

namespace xgemm::kernels {
namespace {

// The rows of all instances in a table. Names are compared once in a process, not once in a call.
struct Rows {
  explicit Rows(const tuning::Table& t) : table(&t) {
    for (int i = 0; i < count(); ++i) of_kernel[i] = tuning::find_row(t, info(i).name);
  }
  const tuning::Table* table;
  const tuning::KernelRow* of_kernel[count()];
};

const tuning::KernelRow* row_for(const KernelInfo& kernel, const device::DeviceInfo& device) {
  static const Rows rows[] = {Rows(tuning::kSm90), Rows(tuning::kGeneric)};
  const tuning::Table& table = tuning::table_for(device.compute_capability);
  for (const Rows& r : rows)
    if (r.table == &table) return r.of_kernel[static_cast<int>(kernel.id)];
  return tuning::find_row(table, kernel.name);
}

double tiles(std::int64_t extent, int tile) {
  return double(extent / tile + (extent % tile != 0 ? 1 : 0));
}

// A wave of CTAs runs for as long as one of its CTAs, whatever the edges leave of it; the last wave may leave SMs idle.
Estimate estimate_one(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const Problem& p = request.problem;
  const int sms = request.device.sm_count;
  const tuning::KernelRow* row = row_for(kernel, request.device);
  if (row == nullptr) return {std::numeric_limits<double>::infinity()};
  // Counted in doubles: the estimate must not overflow where the extents do not.
  const double ctas = tiles(p.m, c.cta_m) * tiles(p.n, c.cta_n) * double(p.batch_count);
  const double slots = double(sms) * row->ctas_per_sm;
  const double waves = std::ceil(ctas / slots);
  const double cta_flops = 2.0 * c.cta_m * c.cta_n * tiles(std::max<std::int64_t>(p.k, 1), c.cta_k) * c.cta_k;
  // Full waves share an SM among ctas_per_sm CTAs; in the last one fewer may share it, and leave some of it idle.
  // Clamped because beyond 2^53 CTAs the difference is rounding.
  const double last_sharing = std::clamp(std::ceil((ctas - (waves - 1) * slots) / sms), 1.0, double(row->ctas_per_sm));
  const double last_rate = std::min(row->gflops_per_sm, last_sharing * row->gflops_per_cta);
  const double full_us = (waves - 1) * row->ctas_per_sm * cta_flops / row->gflops_per_sm * 1e-3;
  // These kernels overlap memory with arithmetic poorly. The same for all of them, so that it matters beside
  // wgmma_tma alone.
  constexpr double kMemoryBytesPerUs = 3.5e6;
  const double depth = p.reads_inputs() ? double(p.k) : 0.0;
  const double bytes =
      double(p.batch_count) * (depth * (double(p.m) * size_of(p.a.type) + double(p.n) * size_of(p.b.type)) +
                               double(p.m) * double(p.n) * size_of(p.c.type) * (p.reads_c() ? 2 : 1));
  return {bytes / kMemoryBytesPerUs + row->launch_us + full_us + last_sharing * cta_flops / last_rate * 1e-3, waves};
}

}  // namespace

bool tile_family_serves(const KernelInfo& kernel, const Request& request) {
  return obstacle(kernel.config, request) == Obstacle::none;
}

std::string tile_family_why_not(const KernelInfo& kernel, const Request& request) {
  return to_string(obstacle(kernel.config, request), kernel.config, request);
}

void tile_family_estimate(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates) {
  for (int i = 0; i < count; ++i) estimates[i] = estimate_one(*kernels[i], request);
}

Schedule tile_family_schedule(const KernelInfo& kernel, const Problem& p, const device::DeviceInfo&, std::int64_t,
                              int) {
  return tile_schedule(kernel.config, p.m, p.n, p.batch_count);
}

}  // namespace xgemm::kernels
