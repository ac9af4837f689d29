// Estimates from measured rows.
#include "kernels/common/tile_family.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "kernels/common/cost_math.h"
#include "kernels/common/legality.h"
#include "kernels/common/misaligned_c.h"
#include "kernels/common/tile_schedule.h"
#include "tuning/table.h"

namespace xgemm::kernels {
namespace {

// The rows of all instances in a table. Names are compared once in a process, not once in a call.
struct Rows {
  explicit Rows(const tuning::Table& t) : table(&t) {
    for (int i = 0; i < count(); ++i)
      of_family[static_cast<std::size_t>(info(i).family)].push_back(tuning::find_row(t, info(i).name));
  }
  const tuning::Table* table;
  std::array<std::vector<const tuning::KernelRow*>, static_cast<std::size_t>(Family::count)> of_family;
};

const tuning::KernelRow* row_for(const KernelInfo& kernel, const device::DeviceInfo& device) {
  static const Rows rows[] = {Rows(tuning::kSm90), Rows(tuning::kGeneric)};
  const tuning::Table& table = tuning::table_for(device.compute_capability);
  for (const Rows& r : rows)
    if (r.table == &table)
      return r.of_family[static_cast<std::size_t>(kernel.family)][static_cast<std::size_t>(kernel.index)];
  return tuning::find_row(table, kernel.name);
}

// CTAs of equal work, in waves that fill the GPU.
struct Waves {
  double number = 0, us = 0;
};

// What a CTA computes in so many slices, edges and all, and what that takes it at least.
struct CtaWork {
  double flops, least_us;
};

// A wave of CTAs runs for as long as one of its CTAs, whatever the edges leave of it; the last wave may leave SMs idle.
// turn_us: from a wave to the next one, until the loads of its CTAs are there.
Waves waves_of(double ctas, const CtaWork& cta, const tuning::KernelRow& row, int sms, double turn_us) {
  if (ctas == 0) return {};
  const double slots = double(sms) * row.ctas_per_sm;
  const double number = cost::ceil(ctas / slots);
  // Full waves share an SM among ctas_per_sm CTAs; in the last one fewer may share it, and leave some of it idle.
  // Clamped because beyond 2^53 CTAs the difference is rounding.
  const double last_sharing = std::clamp(cost::ceil((ctas - (number - 1) * slots) / sms), 1.0, double(row.ctas_per_sm));
  const double last_rate = std::min(row.gflops_per_sm, last_sharing * row.gflops_per_cta);
  const double full_us = std::max(row.ctas_per_sm * cta.flops / row.gflops_per_sm * 1e-3, cta.least_us);
  const double last_us = std::max(last_sharing * cta.flops / last_rate * 1e-3, cta.least_us);
  return {number, (number - 1) * (full_us + turn_us) + last_us};
}

// Kernels for tensor cores that bring operands element by element take as long as for what they bring: nothing for
// lines that there are not, but from a slice to the next one a trip to the memory, on an H100 and an H200.
CtaWork work_of_cta(const TileConfig& c, const Problem& p, double slices) {
  constexpr double kTripUs = 1.0;
  const double flops = 2.0 * c.cta_m * c.cta_n * slices * c.cta_k;
  if (!(c.on_tensor_cores() && size_of(c.type) == 2 && c.vector == 1)) return {flops, 0};
  const auto lines = double(std::min<std::int64_t>(p.m, c.cta_m) + std::min<std::int64_t>(p.n, c.cta_n));
  return {flops * lines / (c.cta_m + c.cta_n), (slices - 1) * kTripUs};
}

// What a C whose vectors start off 16 bytes costs instances that bring operands in vectors, on tensor cores in 16 bits:
// a warp stores its part one element of a lane after the other, each of which takes so long on an H100 and an H200. Of
// older GPUs it is not known.
double scattered_c_us(const TileConfig& c, const Request& request, double waves) {
  constexpr double kElementUs = 0.5;
  const bool elements = c.on_tensor_cores() && size_of(c.type) == 2 && c.vector > 1 &&
                        request.device.compute_capability >= 90 &&
                        divisibility_along(request.facts.c, Axis::row) % 16 != 0;
  return elements ? waves * kElementUs * (c.warp_m * c.warp_n / 32) : 0;
}

// What C takes the L2 where threads of register tiles without tensor cores store it, or read old C, element by element:
// few rows of a column side by side. By fp32 products of a short K on an H100 and an H200; of older GPUs it is not
// known.
double elements_us(const TileConfig& c, const Request& request) {
  constexpr double kRows = 2.5;
  const Problem& p = request.problem;
  if (c.on_tensor_cores() || c.thread_m == 1 || request.device.compute_capability < 90) return 0;
  const bool stores = c.vector == 1 || divisibility_along(request.facts.c, Axis::row) % 16 != 0;
  return misaligned_c_us(p.elements() * ((stores ? 1 : 0) + (p.reads_c() ? 1 : 0)), size_of(p.c.type), kRows,
                         double(p.m), request.device.rates, request.device.sm_count);
}

// The best way to share K out, where it pays. Split are the tiles of the last wave, which they do not fill: into as
// many parts as fill one wave or more. What goes beside the waves takes fixed_us; the memory alone, least_us.
void weigh_splits(const KernelInfo& kernel, const Request& request, const tuning::KernelRow& row, double ctas,
                  double fixed_us, double least_us, double turn_us, Estimate* best) {
  constexpr int kMinSlices = 4, kMinDepth = 64;               // of a part
  constexpr double kSumUs = 2.616, kSumBytesPerUs = 2.141e6;  // of the reduction, as wgmma_tma measured them
  constexpr double kMargin = 0.9;                             // by what a split has to win: rows were measured without
  const TileConfig& c = kernel.config;
  const Problem& p = request.problem;
  const int sms = request.device.sm_count;
  // More waves than these, and the last one is too little of it all to win by the margin.
  constexpr double kMostWaves = 10;
  // The reduction counts in 32 bits.
  if (best->waves > kMostWaves || !p.reads_inputs() || p.m >= 0x7fffffff || p.n >= 0x7fffffff || p.k >= 0x7fffffff ||
      ctas >= 0x1p31)
    return;
  const double slots = double(sms) * row.ctas_per_sm;
  const double whole = cost::floor(ctas / slots) * slots, rest = ctas - whole;
  const double slices = cost::tiles(p.k, c.cta_k);
  const double most = cost::floor(double(p.k) / std::max(kMinSlices * c.cta_k, kMinDepth));
  if (rest == 0 || most < 2) return;
  const double area = double(c.cta_m) * c.cta_n;
  const Waves whole_waves = waves_of(whole, work_of_cta(c, p, slices), row, sms, turn_us);
  const double unsplit_us = best->us;
  for (int rounds = 1; rounds <= 3; ++rounds) {
    const double parts = std::min(most, cost::floor(rounds * slots / rest));
    if (parts < 2) continue;
    const double bytes = size_of(p.sums()) * area * rest * parts;
    if (bytes > workspace_limit(request.device)) break;
    const Waves part_waves = waves_of(rest * parts, work_of_cta(c, p, cost::ceil(slices / parts)), row, sms, 0);
    const double us = std::max(fixed_us + whole_waves.us + part_waves.us, least_us) + kSumUs + bytes / kSumBytesPerUs;
    if (us < std::min(best->us, kMargin * unsplit_us))
      *best = {us, whole_waves.number + part_waves.number, static_cast<std::int64_t>(whole), static_cast<int>(parts)};
  }
}

Estimate estimate_one(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const Problem& p = request.problem;
  const int sms = request.device.sm_count;
  const tuning::KernelRow* row = row_for(kernel, request.device);
  if (row == nullptr) return {std::numeric_limits<double>::infinity()};
  // Counted in doubles: the estimate must not overflow where the extents do not.
  const TileGrid grid = tile_grid(p.fill, p.m, p.n, c.cta_m, c.cta_n);
  const double ctas = double(grid.m) * double(grid.n) * double(p.batch_count);
  const CtaWork cta = work_of_cta(c, p, cost::tiles(std::max<std::int64_t>(p.k, 1), c.cta_k));
  // Of doubles on tensor cores, whose memory time is mostly hidden. Of others most is in the memory's; 16384 products
  // of 8x64x64 on an H200 took mma_swizzled 1 to 1.7 us more for each wave.
  const double turn_us = c.type == DType::f64 && c.on_tensor_cores() ? 0.7 : 1.0;
  Waves waves = waves_of(ctas, cta, *row, sms, turn_us);
  // Rows are of SMs; what the power limit or the GPU's make leaves of all of them together is a rate of the device.
  if (c.on_tensor_cores()) waves.us = std::max(waves.us, p.flops() * 1e-6 / request.device.rates.tensor_tflops);
  // These kernels overlap memory with arithmetic poorly, and those without tensor cores more so: 8192x8192x16 in fp32
  // takes 149 us on an H200, a copy included. It matters beside wgmma_tma and ffma_tma.
  const double memory_share = c.on_tensor_cores() ? 0.87 : 0.7;  // of the device's rate
  const double memory_bytes_per_us = memory_share * 1e6 * request.device.rates.memory_tbs;
  const double depth = p.reads_inputs() ? double(p.k) : 0.0;
  const double bytes =
      double(p.batch_count) * depth * (double(p.m) * size_of(p.a.type) + double(p.n) * size_of(p.b.type)) +
      p.elements() * size_of(p.c.type) * (p.reads_c() ? 2 : 1);
  const double memory_us = std::max(bytes / memory_bytes_per_us, elements_us(c, request));
  // Of doubles, which take the tensor cores long, and of operands that come element by element, most of the shorter one
  // is hidden.
  constexpr double kHidden = 0.75;
  const bool hides = c.on_tensor_cores() && (c.type == DType::f64 || c.vector == 1);
  const double hidden_us = hides ? kHidden * std::min(memory_us, waves.us) : 0.0;
  const double fixed_us = memory_us - hidden_us + row->launch_us;
  Estimate best = {fixed_us + waves.us, waves.number};
  // All SMs busy all the time.
  const double least_us = fixed_us + ctas * cta.flops * 1e-3 / (sms * row->gflops_per_sm);
  if (!request.to_beat || least_us < *request.to_beat)
    weigh_splits(kernel, request, *row, ctas, fixed_us, memory_us + row->launch_us, turn_us, &best);
  best.us += scattered_c_us(c, request, best.waves);
  best.memory_us = memory_us, best.work_us = waves.us;
  return best;
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

void share_sms_evenly(Schedule* s, const device::DeviceInfo& device) {
  // Kernels start early from sm_90 on (early_launch.h).
  if (device.compute_capability < 90) return;
  // Where SMs are shared, a tenth fewer clusters find room than as many times those of whole SMs: 27 of 8 CTAs of half
  // an SM on an H200, which has room for 15 of whole SMs.
  const int at_once =
      s->cluster.size() == 1 ? device.sm_count : std::max(1, device.clusters_of(s->cluster.size()) * 9 / 10);
  s->shared_bytes = bytes_of_even_share(s->clusters, at_once, device.max_shared_bytes_per_block);
}

Schedule tile_family_schedule(const KernelInfo& kernel, const Problem& p, const device::DeviceInfo& device,
                              const Sharing& sharing) {
  Schedule s = tile_schedule(kernel.config, p.m, p.n, p.batch_count, sharing, device.sm_count, p.fill);
  share_sms_evenly(&s, device);
  return s;
}

}  // namespace xgemm::kernels
