// The model of ffma_tma's tiles.
#include "kernels/ffma_tma/cost.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/common/cost_math.h"
#include "kernels/common/misaligned_c.h"
#include "kernels/common/schedule.h"

namespace xgemm::kernels {
namespace {

using cost::ceil, cost::floor, cost::fourth;

constexpr int kMinSlices = 2;  // of a part

bool is_odd(double whole) {
  return static_cast<std::int64_t>(whole) % 2 != 0;
}

// Of a run of rows with as many sectors for an element as C is stored with: through the stage all rows of a tile. Of
// vectors and single elements (output.cuh) the number is an effective one.
double rows_stored(const FfmaTmaConfig& c) {
  constexpr double kOfVectors = 5.5;
  return c.stages_c() ? c.cta_m : kOfVectors;
}

}  // namespace

double ffma_tma_tiles(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p) {
  if (p.fill == Fill::full) return cost::tiles(p.m, c.cta_m) * cost::tiles(p.n, c.cta_n) * p.batch_count;
  const TileGrid grid =
      tile_grid(p.fill, static_cast<std::int64_t>(p.m), static_cast<std::int64_t>(p.n), c.cta_m, c.cta_n);
  return double(grid.m) * double(grid.n) * p.batch_count;
}

FfmaTmaCost::FfmaTmaCost(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p, const CostDevice& device,
                         const FfmaTmaCostConstants& x)
    : x_(&x),
      device_(&device),
      tiles_(ffma_tma_tiles(c, p)),
      slices_(ceil(p.k / c.cta_k())),
      sms_(device.sms),
      ctas_per_sm_(c.ctas_per_sm),
      us_per_cycle_(1e-3 / (x.clock * device.rates.sm_ghz)),
      sum_bytes_(4.0 * c.cta_m * c.cta_n),
      most_along_k_(c.most_along_k()) {
  constexpr double kFmaUnits = 128;  // of an SM
  const double area = double(c.cta_m) * c.cta_n;
  const bool shared = c.ctas_per_sm > 1;
  const bool words = by_words(p.load_a) || by_words(p.load_b);  // then nothing is turned
  const double word = !words ? x.turned : shared ? x.word_x2 : x.word;
  const double moved = (p.load_a != PanelLoad::bulk ? c.cta_m : 0) + (p.load_b != PanelLoad::bulk ? c.cta_n : 0);
  // Warps with nothing inside of C leave the SM to the other CTA's.
  const double inside = shared ? cost::tiles(p.m, c.warp_m()) * c.warp_m() / (cost::tiles(p.m, c.cta_m) * c.cta_m) *
                                     (cost::tiles(p.n, c.warp_n()) * c.warp_n() / (cost::tiles(p.n, c.cta_n) * c.cta_n))
                               : 1.0;
  multiply_cycles_ = c.cta_k() * inside * area / kFmaUnits / (c.many_sums() ? x.issue_16 : x.issue);
  word_cycles_ = c.cta_k() * moved * word;
  slot_cycles_ = (shared ? x.slot_x2 : x.slot) + (c.groups() > 1 ? x.groups : 0.0);
  epilogue_cycles_ =
      x.epilogue + (c.groups() > 1 && !shared ? x.exchange : 0.0) + area * x.element * (p.reads_c ? 2 : 1);

  const double elements = p.batch_count * (p.fill == Fill::full ? p.m * p.n : p.n * (p.n + 1) / 2);
  const double c_bytes = 4 * elements * (p.reads_c ? 2 : 1);
  const double l2_bytes = 4 * p.k * tiles_ * (c.cta_m + c.cta_n) + c_bytes;
  const double memory_bytes = 4 * p.k * p.batch_count * (p.m + p.n) + c_bytes;
  l2_us_ = l2_bytes * 1e-6 / device.rates.l2_tbs;
  memory_us_ = memory_bytes * 1e-6 / device.rates.memory_tbs;
  misaligned_us_ =
      p.misaligned_c ? misaligned_c_us(elements * (p.reads_c ? 2 : 1), 4, rows_stored(c), p.m, device.rates, device.sms)
                     : 0.0;
}

double FfmaTmaCost::split_bytes(const FfmaTmaSplit& split) const {
  return split.parts == 1 || split.in_cluster ? 0 : (tiles_ - split.whole_tiles) * split.parts * sum_bytes_;
}

// Inline: of what is not looked at, nothing is worked out.
[[gnu::always_inline]] inline FfmaTmaEstimate FfmaTmaCost::terms(const FfmaTmaSplit& split) const {
  const double split_tiles = split.parts == 1 ? 0 : tiles_ - split.whole_tiles;
  const double part_slices = ceil(slices_ / split.parts);
  // Units of the SM that has most of them.
  const double whole_units = ceil((tiles_ - split_tiles) / sms_);
  const double part_units = split.parts == 1   ? 0
                            : split.in_cluster ? ceil(tiles_ / device_->clusters_of(split.parts))
                                               : ceil(split_tiles * split.parts / sms_);
  const double slices = whole_units * slices_ + part_units * part_slices;
  FfmaTmaEstimate e;
  e.split = split;
  e.units = whole_units + part_units;
  e.rounds = ceil(e.units / ctas_per_sm_);
  e.slices = slices / e.units;
  e.fill = (tiles_ + split_tiles * (split.parts - 1)) / (sms_ * e.units);
  e.multiply = slices * multiply_cycles_ * us_per_cycle_;
  e.slots = slices * slot_cycles_ * us_per_cycle_;
  e.words = slices * word_cycles_ * us_per_cycle_;
  e.epilogue = e.units * epilogue_cycles_ * us_per_cycle_;
  if (ctas_per_sm_ > 1) {
    // Two CTAs take the SM's units in turn; what one has more to do than the other it does alone.
    const bool odd = is_odd(whole_units), odd_parts = is_odd(part_units);
    const double more = (odd ? slices_ : 0.0) + (odd_parts ? (odd ? -part_slices : part_slices) : 0.0);
    e.alone = x_->alone * std::abs(more) * (multiply_cycles_ + slot_cycles_ + word_cycles_) * us_per_cycle_;
  }
  e.l2 = l2_us_;
  e.memory = memory_us_;
  e.sums = split.in_cluster ? x_->shared : split.parts > 1 ? x_->sum + split_bytes(split) * 1e-6 / x_->sum_bytes : 0.0;
  // What overlaps is joined between a sum and a maximum: what comes near the largest adds to it.
  const double cycles_us = e.multiply + e.slots + e.words + e.epilogue + e.alone;
  e.us = e.sums + joined_us(cycles_us);
  return e;
}

FfmaTmaEstimate FfmaTmaCost::operator()(const FfmaTmaSplit& split) const {
  return terms(split);
}

[[gnu::always_inline]] inline double FfmaTmaCost::joined_us(double cycles_us) const {
  constexpr double kWaited = 0.25;  // of what the L2 takes longer: warps that store do not multiply meanwhile
  return x_->launch + kWaited * misaligned_us_ +
         std::sqrt(std::sqrt(fourth(cycles_us) + fourth(l2_us_ + misaligned_us_) + fourth(memory_us_)));
}

// All SMs busy all the time.
double FfmaTmaCost::least_split_us() const {
  if (slices_ < 2 * kMinSlices) return std::numeric_limits<double>::infinity();
  const double units = tiles_ / sms_, slices = std::max(units * slices_, double{kMinSlices});
  const double cycles =
      slices * (multiply_cycles_ + slot_cycles_ + word_cycles_) + std::max(units, 1.0) * epilogue_cycles_;
  return std::min(x_->sum, x_->shared) + joined_us(cycles * us_per_cycle_);
}

std::optional<FfmaTmaEstimate> FfmaTmaCost::best_split(double workspace_limit) const {
  constexpr int kMaxParts = 1024;
  FfmaTmaSplit best = {tiles_, 1};
  const double most = std::min(floor(slices_ / kMinSlices), double{kMaxParts});
  if (tiles_ >= 0x1p31 || most < 2) return {};
  double least_us = std::numeric_limits<double>::infinity();
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
      const double us = terms(split).us;
      if (us < least_us) least_us = us, best = split;
    }
  }
  if (best.parts == 1) return {};
  return terms(best);
}

std::optional<FfmaTmaEstimate> FfmaTmaCost::best_in_cluster(int only) const {
  FfmaTmaSplit best = {tiles_, 1};
  double least_us = std::numeric_limits<double>::infinity();
  for (int ctas = 2; ctas <= most_along_k_; ctas *= 2) {
    const bool fits =
        ctas <= sms_ && slices_ >= kMinSlices * ctas && tiles_ <= device_->clusters_of(ctas) * ctas_per_sm_;
    if (only != 0 ? ctas != only : !fits) continue;
    const FfmaTmaSplit shared = {0, ctas, true};
    const double us = terms(shared).us;
    if (us < least_us) least_us = us, best = shared;
  }
  if (!best.in_cluster) return {};
  return terms(best);
}

}  // namespace xgemm::kernels
