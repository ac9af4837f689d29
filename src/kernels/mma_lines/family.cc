// mma_lines, as the planner sees it.
#include <algorithm>
#include <array>
#include <cstddef>
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

constexpr double kIssued = 2.2;         // instructions of a cycle, on an SM,
constexpr double kIssuedOfWarp = 0.35;  // and of a warp, which waits for each

// Across the lines. More are taken to be products of their own, to be on the safe side.
constexpr int kMeasuredTiles = 2;

// What a product asks of memory, however lines and columns lie.
struct Work {
  std::int64_t lines, columns;    // of C, along the streamed operand and across
  double products, column_tiles;  // of kMeasuredTiles, and tiles across the lines of each
  bool streams_b;
  bool along_k, stretch;  // how lines lie
  std::int64_t ld;        // from line to line
  double batch, depth, accesses;

  Work(const MmaLinesShape& shape, int cta_k, const Request& request) {
    const Problem& p = request.problem;
    streams_b = shape.streams_b_of(p.m, p.n);
    lines = streams_b ? p.n : p.m;
    const std::int64_t all_columns = streams_b ? p.m : p.n;
    columns = std::min<std::int64_t>(all_columns, kMeasuredTiles * shape.width);
    products = cost::tiles(all_columns, kMeasuredTiles * shape.width), column_tiles = cost::tiles(columns, shape.width);
    const layout::StridedOperand& streamed = streams_b ? request.facts.b : request.facts.a;
    const Axis k = streams_b ? Axis::row : Axis::col;
    along_k = p.k == 1 || streamed.stride(k) == 1;
    ld = streamed.stride(layout::other(k));
    stretch = along_k && p.k <= cta_k && ld == p.k && MmaLinesPitch::is_stretch(p.k);
    batch = double(p.batch_count), depth = p.reads_inputs() ? double(p.k) : 0.0, accesses = p.reads_c() ? 2 : 1;
  }
  double memory_us(const Request& request, double share) const {
    const double element = size_of(request.problem.a.type), element_c = size_of(request.problem.c.type);
    const double bytes = batch * element * (double(lines) * depth * column_tiles + double(columns) * depth) +
                         accesses * batch * double(lines) * double(columns) * element_c;
    return bytes * 1e-6 / (share * request.device.rates.memory_tbs);
  }
  // Of all products.
  Estimate times(double us, double rounds, double memory_us, double work_us) const {
    return {products * us, products * rounds, {}, products * memory_us, products * work_us};
  }
};

// Of a tile's shape, fitted to perf/tune/measured/wild, but for a warp's instructions, which are set by hand since
// wgmma multiplies: the rates of the GPU are those of its row.
struct Costs {
  double launch_us;       // and until the first lines are there
  double short_us;        // until the short operand is there,
  double short_of_64_us;  // and for each 64 of K
  double tile_us;         // of a CTA, from one tile to the next;
  double apart, old_c;    // so many times more for lines that are no stretch, and for old C
  double memory_share;    // of the GPU's rate
  double hidden;          // of the shorter of the memory's and the SMs' time, so much shows
  double warp;            // instructions of a warp, for a tile,
  double step;            // for 16 k,
  double combined;        // for eight columns,
  double stored;          // of 32 vectors of C, or of old C,
  double ends;            // and of the ends of four lines, or columns of C, that share vectors with others
};
constexpr double kStrided = 1.5;  // instructions of an element that no vector brings
constexpr Costs kWide = {1.32, 1.11, 0.66, 0.49, 0.15, 2.0, 1.10, 0.58, 130, 9, 14, 20.9, 57};
constexpr Costs kNarrow = {1.82, 0.56, 0.23, 0.58, 2.0, 1.88, 0.66, 0.07, 60, 9, 14, 80.3, 12.4};

Estimate estimate_ctas(const TileConfig& c, const MmaLinesShape& shape, const Request& request) {
  const Costs& x = shape.width > 32 ? kWide : kNarrow;
  const Problem& p = request.problem;
  const double sms = request.device.sm_count;
  const Work work(shape, c.cta_k, request);
  const double memory_us = work.memory_us(request, x.memory_share);
  const double least_us = work.products * (x.launch_us + memory_us);
  if (request.to_beat && least_us > *request.to_beat) return {least_us};

  // How columns lie: one stretch of memory, or each by itself.
  const bool stretch_of_c = work.streams_b && request.facts.c.col_stride == p.m && work.columns <= shape.width &&
                            MmaLinesPitch::is_stretch(p.m);
  const double of_lines = double(std::min<std::int64_t>(work.lines, shape.lines));
  const double of_columns = double(std::min<std::int64_t>(work.columns, shape.width));
  const auto vectors = [](double number, double length) { return number * cost::tiles(std::int64_t(length), 64) / 4; };
  const double runs = work.streams_b ? of_lines : of_columns;
  const double stored =
      stretch_of_c ? vectors(1, of_lines * of_columns) : vectors(runs, work.streams_b ? of_columns : of_lines);
  const double ends = (stretch_of_c ? 0 : work.accesses * runs / 4) + (work.stretch ? 0 : of_lines / 4);
  const double slices = p.reads_inputs() ? cost::tiles(p.k, c.cta_k) : 1;
  const double instructions = shape.warps * (x.warp + x.step * cost::tiles(std::int64_t(work.depth), 16) +
                                             x.combined * cost::ceil(of_columns / 8)) +
                              x.stored * work.accesses * stored + x.ends * ends * slices +
                              (work.along_k ? 0 : kStrided * of_lines * work.depth);

  const double tiles = work.batch * cost::tiles(work.lines, shape.lines) * work.column_tiles;
  const double ctas = std::min(tiles, sms * shape.ctas_per_sm), of_cta = cost::ceil(tiles / ctas);
  const double tile_us = x.tile_us * slices * (1 + (work.stretch ? 0 : x.apart) + (p.reads_c() ? x.old_c : 0));
  const double work_us =
      cost::ceil(ctas / sms) * of_cta * instructions / kIssued * 1e-3 / request.device.rates.sm_ghz + of_cta * tile_us;
  const double shorts = slices > 1 ? of_cta * slices : std::min(of_cta, work.batch * work.column_tiles);
  const double us = x.launch_us +
                    shorts * (x.short_us + x.short_of_64_us * std::min(work.depth, double(c.cta_k)) / 64) +
                    std::max(memory_us, work_us) + x.hidden * std::min(memory_us, work_us);
  return work.times(us, of_cta, memory_us, work_us);
}

// The same of warps that walk tiles on their own.
struct WarpCosts {
  double launch_us;
  double short_us;     // until the short operand is there, once for all of K that is brought together
  double turn_us;      // from some lines to the next;
  double elements_us;  // until elements are there that come one by one, once for all that are brought together;
  double apart, old_c;
  double memory_share, hidden;
  double brought;   // instructions for the words of the short operand that lanes bring together,
  double turn;      // for some lines,
  double step;      // for 32 of them and 16 k,
  double odd;       // so many times more where they start off words,
  double conflict;  // for each time more that banks are asked,
  double stored;    // for 32 lines of C, or of old C,
  double ends;      // and for the ends of four lines
};
constexpr WarpCosts kFew = {2.49, 0.5, 0.84, 0.35, 1.56, 0.09, 1.04, 0.44, 110, 155, 8.9, 2.0, 19.6, 112, 25.9};

// How often a bank is asked where eight lines have four words each.
int bank_ways(int pitch) {
  std::array<int, MmaLinesPitch::kBanks> words = {};
  for (int line = 0; line < 8; ++line)
    for (int word = 0; word < 4; ++word) ++words[static_cast<std::size_t>(line * pitch / 2 + word) % words.size()];
  return *std::max_element(words.begin(), words.end());
}

Estimate estimate_warps(const TileConfig& c, const MmaLinesShape& shape, const Request& request) {
  const WarpCosts& x = kFew;
  const Problem& p = request.problem;
  const double sms = request.device.sm_count;
  const Work work(shape, c.cta_k, request);
  const double memory_us = work.memory_us(request, x.memory_share);
  const double least_us = work.products * (x.launch_us + memory_us);
  if (request.to_beat && least_us > *request.to_beat) return {least_us};

  const int slice = static_cast<int>(std::min<std::int64_t>(p.k, c.cta_k));
  const int pitch = MmaLinesPitch::pitch(slice, work.along_k ? work.ld : 0, work.stretch);
  const WarpShare share = WarpShare::of(shape, slice, pitch);
  // Units of a warp, and the turns that it takes for them: one more for each entry of a batch that begins.
  const double units = work.batch * cost::tiles(work.lines, shape.lines) * work.column_tiles;
  const double of_warp = std::max(2.0, cost::ceil(units / (sms * share.warps))), warps = cost::ceil(units / of_warp);
  const double lines = std::min({double(share.slot_lines), of_warp * shape.lines, double(work.lines)});
  const double entries = of_warp / cost::tiles(work.lines, shape.lines);
  const double turns = cost::ceil(of_warp * shape.lines / lines) + (work.batch > 1 ? entries : 0);
  const double slices = p.reads_inputs() ? cost::tiles(p.k, c.cta_k) : 1;
  const double instructions = x.turn +
                              (x.step * (1 + (work.ld % 2 != 0 ? x.odd : 0)) + x.conflict * (bank_ways(pitch) - 1)) *
                                  cost::tiles(std::int64_t(work.depth), 16) * cost::ceil(lines / 32) +
                              x.stored * work.accesses * cost::ceil(lines / 32) +
                              (work.stretch ? 0 : x.ends * lines / 4 * slices) +
                              (work.along_k ? 0 : kStrided * lines * work.depth);
  const double by_elements =
      work.along_k ? 0 : cost::ceil(lines * work.depth / (32 * MmaLinesPitch::kElementsTogether));
  const double turn_us = x.turn_us * slices * (1 + (work.stretch ? 0 : x.apart) + (p.reads_c() ? x.old_c : 0)) +
                         x.elements_us * by_elements;
  const double shorts = slices > 1 ? turns * slices : std::min(turns, std::max(1.0, entries));
  const double brought = x.brought * cost::tiles(double(slice), WarpShare::kStepsOfWarp * WarpShare::kDepth);
  const double of_sm = cost::ceil(warps / sms), issued = std::min(kIssued, kIssuedOfWarp * of_sm);
  const double work_us =
      of_sm * (turns * instructions + shorts * brought) / issued * 1e-3 / request.device.rates.sm_ghz + turns * turn_us;
  const double us = x.launch_us + shorts * x.short_us * WarpShare::rounds_of_short(slice) +
                    std::max(memory_us, work_us) + x.hidden * std::min(memory_us, work_us);
  return work.times(us, turns, memory_us, work_us);
}

Estimate estimate_one(const KernelInfo& kernel, const Request& request) {
  const MmaLinesShape shape = MmaLinesShape::of(kernel.config);
  return shape.of_warps ? estimate_warps(kernel.config, shape, request) : estimate_ctas(kernel.config, shape, request);
}

void estimate(const Request& request, const KernelInfo* const* kernels, int count, Estimate* estimates) {
  for (int i = 0; i < count; ++i) estimates[i] = estimate_one(*kernels[i], request);
}

// As many CTAs as there is room for, each of which walks tiles along the lines first: the short operand stays.
Schedule schedule(const KernelInfo& kernel, const Problem& p, const device::DeviceInfo& device,
                  const Sharing& sharing) {
  const MmaLinesShape shape = MmaLinesShape::of(kernel.config);
  Schedule s = tile_schedule(kernel.config, p.m, p.n, p.batch_count, sharing, device.sm_count);
  s.set_raster(1, !shape.streams_b_of(p.m, p.n));
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
