// The model of ffma_tma's tiles.
#include "kernels/ffma_tma/cost.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/schedule.h"

namespace xgemm::kernels {
namespace {

double fourth(double x) {
  return x * x * x * x;
}

double tiles_along(double extent, int tile) {
  return std::ceil(extent / tile);
}

}  // namespace

double ffma_tma_tiles(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p) {
  if (p.fill == Fill::full) return tiles_along(p.m, c.cta_m) * tiles_along(p.n, c.cta_n) * p.batch_count;
  const TileGrid grid =
      tile_grid(p.fill, static_cast<std::int64_t>(p.m), static_cast<std::int64_t>(p.n), c.cta_m, c.cta_n);
  return double(grid.m) * double(grid.n) * p.batch_count;
}

double ffma_tma_split_bytes(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p, const FfmaTmaSplit& split) {
  if (split.parts == 1) return 0;
  return (ffma_tma_tiles(c, p) - split.whole_tiles) * split.parts * (4.0 * c.cta_m * c.cta_n);
}

FfmaTmaEstimate ffma_tma_cost(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p, const FfmaTmaCostDevice& device,
                              const FfmaTmaSplit& split, const FfmaTmaCostConstants& x) {
  constexpr double kFmaUnits = 128;  // of an SM
  const double area = double(c.cta_m) * c.cta_n;
  const double tiles = ffma_tma_tiles(c, p);
  const double split_tiles = split.parts == 1 ? 0 : tiles - split.whole_tiles;
  const double slices = std::ceil(p.k / c.cta_k());
  const double part_slices = std::ceil(slices / split.parts);
  // Units of the SM that has most of them.
  const double whole_units = std::ceil((tiles - split_tiles) / device.sms);
  const double part_units = std::ceil(split_tiles * split.parts / device.sms);
  const double units = whole_units + part_units;
  const bool shared = c.ctas_per_sm > 1;
  const bool vectors = c.vectors_along_k() && (!p.words_a || p.vectors_a) && (!p.words_b || p.vectors_b);
  const double word = vectors ? x.vector : shared ? x.word_x2 : x.word;
  const double words = (p.words_a ? c.cta_m : 0) + (p.words_b ? c.cta_n : 0);
  // Warps with nothing inside of C leave the SM to the other CTA's.
  const double inside = shared ? tiles_along(p.m, c.warp_m()) * c.warp_m() / (tiles_along(p.m, c.cta_m) * c.cta_m) *
                                     (tiles_along(p.n, c.warp_n()) * c.warp_n() / (tiles_along(p.n, c.cta_n) * c.cta_n))
                               : 1.0;
  const double slice_cycles =
      c.cta_k() * (inside * area / kFmaUnits / (c.many_sums() ? x.issue_16 : x.issue) + words * word) +
      (shared ? x.slot_x2 : x.slot) + (c.groups() > 1 ? x.groups : 0.0);
  const double epilogue_cycles =
      x.epilogue + (c.groups() > 1 && !shared ? x.exchange : 0.0) + area * x.element * (p.reads_c ? 2 : 1);
  double cycles = (whole_units * slices + part_units * part_slices) * slice_cycles + units * epilogue_cycles;
  if (shared) {
    // Two CTAs take the SM's units in turn; what one has more to do than the other it does alone.
    const bool odd = std::fmod(whole_units, 2) != 0, odd_parts = std::fmod(part_units, 2) != 0;
    const double more = (odd ? slices : 0.0) + (odd_parts ? (odd ? -part_slices : part_slices) : 0.0);
    cycles += x.alone * std::abs(more) * slice_cycles;
  }
  const double busy_us = cycles * 1e-3 / (x.clock * device.rates.sm_ghz);

  const double elements = p.batch_count * (p.fill == Fill::full ? p.m * p.n : p.n * (p.n + 1) / 2);
  const double c_bytes = 4 * elements * (p.reads_c ? 2 : 1);
  const double l2_bytes = 4 * p.k * tiles * (c.cta_m + c.cta_n) + c_bytes;
  const double memory_bytes = 4 * p.k * p.batch_count * (p.m + p.n) + c_bytes;
  const double l2_us = l2_bytes * 1e-6 / device.rates.l2_tbs;
  const double memory_us = memory_bytes * 1e-6 / device.rates.memory_tbs;

  const double sum_us = split.parts > 1 ? x.sum + ffma_tma_split_bytes(c, p, split) * 1e-6 / x.sum_bytes : 0.0;
  // What overlaps is joined between a sum and a maximum: what comes near the largest adds to it.
  const double us = x.launch + sum_us + std::sqrt(std::sqrt(fourth(busy_us) + fourth(l2_us) + fourth(memory_us)));
  return {us, std::ceil(units / c.ctas_per_sm), split};
}

FfmaTmaEstimate ffma_tma_best_split(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p,
                                    const FfmaTmaCostDevice& device, double workspace_limit) {
  constexpr int kMinSlices = 2;  // of a part
  constexpr int kMaxParts = 1024;
  const double tiles = ffma_tma_tiles(c, p);
  FfmaTmaEstimate best = ffma_tma_cost(c, p, device, {tiles, 1});
  if (tiles >= 0x1p31) return best;
  const double most = std::min(std::floor(std::ceil(p.k / c.cta_k()) / kMinSlices), double{kMaxParts});
  if (most < 2) return best;
  double last_whole = -1;
  for (int ctas = 1; ctas <= c.ctas_per_sm; ++ctas) {
    const double round = double(ctas) * device.sms;
    const double whole = std::floor(tiles / round) * round, rest = tiles - whole;
    if (rest == 0 || whole == last_whole) continue;
    last_whole = whole;
    for (int rounds = 1; rounds <= 3 * c.ctas_per_sm; ++rounds) {
      const double parts = std::min(most, std::floor(rounds * device.sms / rest));
      if (parts < 2) continue;
      const FfmaTmaSplit split = {whole, static_cast<int>(parts)};
      if (ffma_tma_split_bytes(c, p, split) > workspace_limit) break;
      const FfmaTmaEstimate with_split = ffma_tma_cost(c, p, device, split);
      if (with_split.us < best.us) best = with_split;
    }
  }
  return best;
}

}  // namespace xgemm::kernels
