// The model of ffma_tma's tiles.
#include "kernels/ffma_tma/cost.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/cost_math.h"
#include "kernels/common/schedule.h"

namespace xgemm::kernels {
namespace {

using cost::ceil, cost::floor, cost::fourth;

bool is_odd(double whole) {
  return static_cast<std::int64_t>(whole) % 2 != 0;
}

double tiles_along(double extent, int tile) {
  return ceil(extent / tile);
}

}  // namespace

double ffma_tma_tiles(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p) {
  if (p.fill == Fill::full) return tiles_along(p.m, c.cta_m) * tiles_along(p.n, c.cta_n) * p.batch_count;
  const TileGrid grid =
      tile_grid(p.fill, static_cast<std::int64_t>(p.m), static_cast<std::int64_t>(p.n), c.cta_m, c.cta_n);
  return double(grid.m) * double(grid.n) * p.batch_count;
}

FfmaTmaCost::FfmaTmaCost(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p, const FfmaTmaCostDevice& device,
                         const FfmaTmaCostConstants& x)
    : x_(x),
      tiles_(ffma_tma_tiles(c, p)),
      slices_(ceil(p.k / c.cta_k())),
      sms_(device.sms),
      ctas_per_sm_(c.ctas_per_sm),
      us_per_cycle_(1e-3 / (x.clock * device.rates.sm_ghz)),
      sum_bytes_(4.0 * c.cta_m * c.cta_n) {
  constexpr double kFmaUnits = 128;  // of an SM
  const double area = double(c.cta_m) * c.cta_n;
  const bool shared = c.ctas_per_sm > 1;
  const bool vectors = c.vectors_along_k() && (!p.words_a || p.vectors_a) && (!p.words_b || p.vectors_b);
  const double word = vectors ? x.vector : shared ? x.word_x2 : x.word;
  const double words = (p.words_a ? c.cta_m : 0) + (p.words_b ? c.cta_n : 0);
  // Warps with nothing inside of C leave the SM to the other CTA's.
  const double inside = shared ? tiles_along(p.m, c.warp_m()) * c.warp_m() / (tiles_along(p.m, c.cta_m) * c.cta_m) *
                                     (tiles_along(p.n, c.warp_n()) * c.warp_n() / (tiles_along(p.n, c.cta_n) * c.cta_n))
                               : 1.0;
  slice_cycles_ = c.cta_k() * (inside * area / kFmaUnits / (c.many_sums() ? x.issue_16 : x.issue) + words * word) +
                  (shared ? x.slot_x2 : x.slot) + (c.groups() > 1 ? x.groups : 0.0);
  epilogue_cycles_ =
      x.epilogue + (c.groups() > 1 && !shared ? x.exchange : 0.0) + area * x.element * (p.reads_c ? 2 : 1);

  const double elements = p.batch_count * (p.fill == Fill::full ? p.m * p.n : p.n * (p.n + 1) / 2);
  const double c_bytes = 4 * elements * (p.reads_c ? 2 : 1);
  const double l2_bytes = 4 * p.k * tiles_ * (c.cta_m + c.cta_n) + c_bytes;
  const double memory_bytes = 4 * p.k * p.batch_count * (p.m + p.n) + c_bytes;
  bytes_fourth_ = fourth(l2_bytes * 1e-6 / device.rates.l2_tbs) + fourth(memory_bytes * 1e-6 / device.rates.memory_tbs);
}

double FfmaTmaCost::split_bytes(const FfmaTmaSplit& split) const {
  return split.parts == 1 ? 0 : (tiles_ - split.whole_tiles) * split.parts * sum_bytes_;
}

FfmaTmaEstimate FfmaTmaCost::operator()(const FfmaTmaSplit& split) const {
  const double split_tiles = split.parts == 1 ? 0 : tiles_ - split.whole_tiles;
  const double part_slices = ceil(slices_ / split.parts);
  // Units of the SM that has most of them.
  const double whole_units = ceil((tiles_ - split_tiles) / sms_);
  const double part_units = split.parts == 1 ? 0 : ceil(split_tiles * split.parts / sms_);
  const double units = whole_units + part_units;
  double cycles = (whole_units * slices_ + part_units * part_slices) * slice_cycles_ + units * epilogue_cycles_;
  if (ctas_per_sm_ > 1) {
    // Two CTAs take the SM's units in turn; what one has more to do than the other it does alone.
    const bool odd = is_odd(whole_units), odd_parts = is_odd(part_units);
    const double more = (odd ? slices_ : 0.0) + (odd_parts ? (odd ? -part_slices : part_slices) : 0.0);
    cycles += x_.alone * std::abs(more) * slice_cycles_;
  }
  const double sum_us = split.parts > 1 ? x_.sum + split_bytes(split) * 1e-6 / x_.sum_bytes : 0.0;
  // What overlaps is joined between a sum and a maximum: what comes near the largest adds to it.
  const double us = x_.launch + sum_us + std::sqrt(std::sqrt(fourth(cycles * us_per_cycle_) + bytes_fourth_));
  return {us, ceil(units / ctas_per_sm_), split};
}

FfmaTmaEstimate FfmaTmaCost::best_split(double workspace_limit) const {
  constexpr int kMinSlices = 2;  // of a part
  constexpr int kMaxParts = 1024;
  FfmaTmaEstimate best = (*this)({tiles_, 1});
  if (tiles_ >= 0x1p31) return best;
  const double most = std::min(floor(slices_ / kMinSlices), double{kMaxParts});
  if (most < 2) return best;
  double last_whole = -1;
  for (int ctas = 1; ctas <= ctas_per_sm_; ++ctas) {
    const double round = ctas * sms_;
    const double whole = floor(tiles_ / round) * round, rest = tiles_ - whole;
    if (rest == 0 || whole == last_whole) continue;
    last_whole = whole;
    double last_parts = 0;
    for (int rounds = 1; rounds <= 3 * ctas_per_sm_; ++rounds) {
      const double parts = std::min(most, floor(rounds * sms_ / rest));
      if (parts < 2 || parts == last_parts) continue;
      last_parts = parts;
      const FfmaTmaSplit split = {whole, static_cast<int>(parts)};
      if (split_bytes(split) > workspace_limit) break;
      const FfmaTmaEstimate with_split = (*this)(split);
      if (with_split.us < best.us) best = with_split;
    }
  }
  return best;
}

}  // namespace xgemm::kernels
