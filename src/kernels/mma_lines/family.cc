// mma_lines, as the planner sees it.
#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/common/cost_math.h"
#include "kernels/common/legality.h"
#include "kernels/common/tile_family.h"
#include "kernels/common/tile_schedule.h"
#include "kernels/mma_lines/instances.h"

namespace xgemm::kernels {
namespace {

// Tiles are counted in 32 bits.
bool tiles_fit(const TileConfig& c, const Problem& p) {
  return cost::tiles(p.m, c.cta_m) * cost::tiles(p.n, c.cta_n) * double(p.batch_count) <= 0x1p30;
}

bool serves(const KernelInfo& kernel, const Request& request) {
  return tile_family_serves(kernel, request) && tiles_fit(kernel.config, request.problem);
}

std::string why_not(const KernelInfo& kernel, const Request& request) {
  const std::string reason = tile_family_why_not(kernel, request);
  if (!reason.empty()) return reason;
  return tiles_fit(kernel.config, request.problem) ? "" : "it needs at most 2^30 tiles";
}

// Of a tile's shape, fitted to perf/tune/measured/wild: the rates of the GPU are those of its row.
struct Costs {
  double launch_us;       // and until the first lines are there
  double short_us;        // until the short operand is there,
  double short_of_64_us;  // and for each 64 of K
  double tile_us;         // of a CTA, from one tile to the next;
  double apart, old_c;    // so many times more for lines that are no stretch, and for old C
  double memory_share;    // of the GPU's rate
  double hidden;          // of the shorter of the memory's and the SMs' time, so much shows
  double warp;            // instructions of a warp, for a tile,
  double step;            // of 32 lines and 16 columns, for 16 k,
  double stored;          // of 32 vectors of C, or of old C,
  double ends;            // and of the ends of four lines, or columns of C, that share vectors with others
};
constexpr double kIssued = 2.2;   // instructions of a cycle, on an SM
constexpr double kStrided = 1.5;  // instructions of an element that no vector brings
// Across the lines. More are taken to be products of their own, to be on the safe side.
constexpr int kMeasuredTiles = 2;
constexpr Costs kWide = {1.32, 1.11, 0.66, 0.49, 0.15, 2.0, 1.10, 0.58, 167, 35.6, 20.9, 57};
constexpr Costs kNarrow = {1.82, 0.56, 0.23, 0.58, 2.0, 1.88, 0.66, 0.07, 49.5, 60.2, 80.3, 12.4};

Estimate estimate_one(const KernelInfo& kernel, const Request& request) {
  const TileConfig& c = kernel.config;
  const MmaLinesShape shape = MmaLinesShape::of(c);
  const Costs& x = shape.width > 32 ? kWide : kNarrow;
  const Problem& p = request.problem;
  const device::Rates& rates = request.device.rates;
  const double sms = request.device.sm_count, batch = double(p.batch_count);
  const layout::StridedOperand& streamed = shape.streams_b ? request.facts.b : request.facts.a;
  const Axis k = shape.streams_b ? Axis::row : Axis::col;
  const std::int64_t lines = shape.streams_b ? p.n : p.m, all_columns = shape.streams_b ? p.m : p.n;
  const std::int64_t columns = std::min<std::int64_t>(all_columns, kMeasuredTiles * shape.width);
  const double products = cost::tiles(all_columns, kMeasuredTiles * shape.width);
  const double depth = p.reads_inputs() ? double(p.k) : 0.0, accesses = p.reads_c() ? 2 : 1, element = size_of(c.type);

  const double column_tiles = cost::tiles(columns, shape.width);
  const double bytes = batch * element * (double(lines) * depth * column_tiles + double(columns) * depth) +
                       accesses * batch * double(lines) * double(columns) * size_of(c.type_c);
  const double memory_us = bytes * 1e-6 / (x.memory_share * rates.memory_tbs);
  const double least_us = products * (x.launch_us + memory_us);
  if (request.to_beat && least_us > *request.to_beat) return {least_us};

  // How lines and columns lie: one stretch of memory, or each by itself.
  const bool along_k = p.k == 1 || streamed.stride(k) == 1;
  const bool stretch =
      along_k && p.k <= c.cta_k && streamed.stride(layout::other(k)) == p.k && MmaLinesPitch::is_stretch(p.k);
  const bool stretch_of_c = shape.streams_b && request.facts.c.col_stride == p.m && all_columns <= shape.width &&
                            MmaLinesPitch::is_stretch(p.m);
  const double of_lines = double(std::min<std::int64_t>(lines, shape.lines));
  const double of_columns = double(std::min<std::int64_t>(columns, shape.width));
  const auto vectors = [](double number, double length) { return number * cost::tiles(std::int64_t(length), 64) / 4; };
  const double runs = shape.streams_b ? of_lines : of_columns;
  const double stored =
      stretch_of_c ? vectors(1, of_lines * of_columns) : vectors(runs, shape.streams_b ? of_columns : of_lines);
  const double ends = (stretch_of_c ? 0 : accesses * runs / 4) + (stretch ? 0 : of_lines / 4);
  const double slices = p.reads_inputs() ? cost::tiles(p.k, c.cta_k) : 1;
  const double instructions =
      c.threads() / 32 * x.warp +
      x.step * cost::tiles(std::int64_t(depth), 16) * cost::ceil(of_lines / 32) * cost::ceil(of_columns / 16) +
      x.stored * accesses * stored + x.ends * ends * slices + (along_k ? 0 : kStrided * of_lines * depth);

  const double tiles = batch * cost::tiles(lines, shape.lines) * column_tiles;
  const double ctas = std::min(tiles, sms * shape.ctas_per_sm), of_cta = cost::ceil(tiles / ctas);
  const double tile_us = x.tile_us * slices * (1 + (stretch ? 0 : x.apart) + (p.reads_c() ? x.old_c : 0));
  const double work_us =
      cost::ceil(ctas / sms) * of_cta * instructions / kIssued * 1e-3 / rates.sm_ghz + of_cta * tile_us;
  const double shorts = slices > 1 ? of_cta * slices : std::min(of_cta, batch * column_tiles);
  const double us = x.launch_us + shorts * (x.short_us + x.short_of_64_us * std::min(depth, double(c.cta_k)) / 64) +
                    std::max(memory_us, work_us) + x.hidden * std::min(memory_us, work_us);
  return {products * us, products * of_cta, {}, products * memory_us, products * work_us};
}

void estimate(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates) {
  for (int i = 0; i < count; ++i) estimates[i] = estimate_one(*kernels[i], request);
}

// As many CTAs as there is room for, each of which walks tiles along the lines first: the short operand stays.
Schedule schedule(const KernelInfo& kernel, const Problem& p, const device::DeviceInfo& device,
                  const Sharing& sharing) {
  const MmaLinesShape shape = MmaLinesShape::of(kernel.config);
  Schedule s = tile_schedule(kernel.config, p.m, p.n, p.batch_count, sharing, device.sm_count);
  s.raster_group = 1;
  s.raster_n = !shape.streams_b;
  s.clusters =
      static_cast<unsigned>(std::min<std::int64_t>(s.clusters, std::int64_t{shape.ctas_per_sm} * device.sm_count));
  share_sms_evenly(&s, device);
  return s;
}

}  // namespace

constinit const FamilyInfo mma_lines_family = {.instances = built_instances<Family::mma_lines>(),
                                               .serves = serves,
                                               .why_not = why_not,
                                               .estimate = estimate,
                                               .splits = [](const KernelInfo&) { return false; },
                                               .schedule = schedule,
                                               .takes_copies = [](const KernelInfo&) { return false; }};

}  // namespace xgemm::kernels
