// The model of ffma_tma's tiles.
#include "kernels/ffma_tma/cost.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/common/cost_lanes.h"
#include "kernels/common/cost_math.h"
#include "kernels/common/misaligned_c.h"
#include "kernels/common/schedule.h"

namespace xgemm::kernels {
namespace {

using cost::ceil, cost::floor, cost::fourth, cost::pick;

constexpr int kMinSlices = 2;  // of a part

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

// Of splits by their numbers: whole tiles, parts of each other one, units of the SM that has most of those, and what
// their sums take. Inline: of what is not looked at, nothing is worked out.
template <class Real>
XGEMM_INLINE auto FfmaTmaCost::terms_of(const Real& whole, const Real& parts, const Real& part_units,
                                        const Real& sums) const {
  struct Terms {
    Real units, slices, multiply, slots, words, epilogue, alone, us;
  } t;
  const Real part_slices = ceil(slices_ / parts), whole_units = ceil(whole / sms_);
  t.units = whole_units + part_units;
  t.slices = whole_units * slices_ + part_units * part_slices;
  t.multiply = t.slices * multiply_cycles_ * us_per_cycle_;
  t.slots = t.slices * slot_cycles_ * us_per_cycle_;
  t.words = t.slices * word_cycles_ * us_per_cycle_;
  t.epilogue = t.units * epilogue_cycles_ * us_per_cycle_;
  t.alone = Real{};
  if (ctas_per_sm_ > 1) {
    // Two CTAs take the SM's units in turn; what one has more to do than the other it does alone.
    const Real none{};
    const auto is_odd = [](const Real& units) { return floor(units / 2) * 2 != units; };
    const Real of_parts = pick(is_odd(part_units), part_slices, none);
    const Real more = pick(is_odd(whole_units), slices_ - of_parts, of_parts);
    const Real cycles = multiply_cycles_ + slot_cycles_ + word_cycles_ + none;
    t.alone = x_->alone * pick(more < none, -more, more) * cycles * us_per_cycle_;
  }
  // What overlaps is joined between a sum and a maximum: what comes near the largest adds to it.
  t.us = sums + joined_us<Real>(t.multiply + t.slots + t.words + t.epilogue + t.alone);
  return t;
}

FfmaTmaEstimate FfmaTmaCost::operator()(const FfmaTmaSplit& split) const {
  const double split_tiles = split.parts == 1 ? 0 : tiles_ - split.whole_tiles;
  const double part_units = split.parts == 1   ? 0
                            : split.in_cluster ? ceil(tiles_ / device_->clusters_of(split.parts))
                                               : ceil(split_tiles * split.parts / sms_);
  FfmaTmaEstimate e;
  e.sums = split.in_cluster ? x_->shared : split.parts > 1 ? sums_us(split_tiles, double(split.parts)) : 0.0;
  const auto t = terms_of<double>(tiles_ - split_tiles, split.parts, part_units, e.sums);
  e.split = split;
  e.units = t.units;
  e.rounds = ceil(e.units / ctas_per_sm_);
  e.slices = t.slices / e.units;
  e.fill = (tiles_ + split_tiles * (split.parts - 1)) / (sms_ * e.units);
  e.multiply = t.multiply;
  e.slots = t.slots;
  e.words = t.words;
  e.epilogue = t.epilogue;
  e.alone = t.alone;
  e.l2 = l2_us_;
  e.memory = memory_us_;
  e.us = t.us;
  return e;
}

// The second stage.
template <class Real>
XGEMM_INLINE Real FfmaTmaCost::sums_us(const Real& split_tiles, const Real& parts) const {
  return x_->sum + split_tiles * parts * sum_bytes_ * 1e-6 / x_->sum_bytes;
}

template <class Real>
XGEMM_INLINE Real FfmaTmaCost::joined_us(const Real& cycles_us) const {
  constexpr double kWaited = 0.25;  // of what the L2 takes longer: warps that store do not multiply meanwhile
  return x_->launch + kWaited * misaligned_us_ +
         cost::fourth_root<Real>(fourth(cycles_us) + fourth(l2_us_ + misaligned_us_) + fourth(memory_us_));
}

// All SMs busy all the time.
double FfmaTmaCost::least_split_us() const {
  if (slices_ < 2 * kMinSlices) return std::numeric_limits<double>::infinity();
  const double units = tiles_ / sms_, slices = std::max(units * slices_, double{kMinSlices});
  const double cycles =
      slices * (multiply_cycles_ + slot_cycles_ + word_cycles_) + std::max(units, 1.0) * epilogue_cycles_;
  return std::min(x_->sum, x_->shared) + joined_us<double>(cycles * us_per_cycle_);
}

std::optional<FfmaTmaEstimate> FfmaTmaCost::best_split(double workspace_limit) const {
  using Reals = cost::TwoReals;
  constexpr int kMaxParts = 1024, kLanes = cost::kLanes<Reals>;
  constexpr int kMostSplits = 2 * 6;  // of two CTAs on an SM: numbers of whole tiles, and of parts
  const double most = std::min(floor(slices_ / kMinSlices), double{kMaxParts});
  if (tiles_ >= 0x1p31 || most < 2) return {};
  double wholes[kMostSplits], parts_of[kMostSplits];
  int count = 0;
  double last_whole = -1;
  for (int ctas = 1; ctas <= ctas_per_sm_; ++ctas) {
    const double round = ctas * sms_;
    const double whole = floor(tiles_ / round) * round, rest = tiles_ - whole;
    if (rest == 0 || whole == last_whole) continue;
    last_whole = whole;
    double last_parts = 0;
    for (int rounds = 1; rounds <= 3 * ctas_per_sm_ && count < kMostSplits; ++rounds) {
      const double parts = std::min(most, floor(rounds * sms_ / rest));
      if (parts < 2 || parts == last_parts) continue;
      last_parts = parts;
      if (split_bytes({whole, static_cast<int>(parts)}) > workspace_limit) break;
      wholes[count] = whole, parts_of[count] = parts;
      ++count;
    }
  }
  if (count == 0) return {};
  if (count % kLanes != 0) wholes[count] = wholes[count - 1], parts_of[count] = parts_of[count - 1];
  FfmaTmaSplit best = {tiles_, 1};
  double least_us = std::numeric_limits<double>::infinity();
  for (int first = 0; first < count; first += kLanes) {
    const Reals whole = {wholes[first], wholes[first + 1]}, parts = {parts_of[first], parts_of[first + 1]};
    const Reals split_tiles = tiles_ - whole;
    const Reals us = terms_of<Reals>(whole, parts, ceil(split_tiles * parts / sms_), sums_us(split_tiles, parts)).us;
    for (int i = 0; i < kLanes; ++i)
      if (us[i] < least_us) least_us = us[i], best = {whole[i], static_cast<int>(parts[i])};
  }
  return (*this)(best);
}

std::optional<FfmaTmaEstimate> FfmaTmaCost::best_in_cluster(int only) const {
  FfmaTmaSplit best = {tiles_, 1};
  double least_us = std::numeric_limits<double>::infinity();
  for (int ctas = 2; ctas <= most_along_k_; ctas *= 2) {
    const bool fits =
        ctas <= sms_ && slices_ >= kMinSlices * ctas && tiles_ <= device_->clusters_of(ctas) * ctas_per_sm_;
    if (only != 0 ? ctas != only : !fits) continue;
    const FfmaTmaSplit shared = {0, ctas, true};
    const double us = (*this)(shared).us;
    if (us < least_us) least_us = us, best = shared;
  }
  if (!best.in_cluster) return {};
  return (*this)(best);
}

}  // namespace xgemm::kernels
