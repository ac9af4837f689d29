// The model of wgmma_tma's tiles.
#include "kernels/wgmma_tma/cost.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "kernels/common/cost_lanes.h"
#include "kernels/common/cost_math.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define XGEMM_WITH_AVX2 1
#else
#define XGEMM_WITH_AVX2 0
#endif

namespace xgemm::kernels {
namespace {

using cost::all_lanes, cost::ceil, cost::floor, cost::fourth, cost::fourth_root, cost::least_of, cost::most_of,
    cost::pick;

// Cycles of a slot whose X goes through registers, at least: by NN and TT beside TN from 512^3 to 1024^3 on an H100,
// and by when NT is faster with one copy than with two.
constexpr double kRegistersSlice = 370;

// Of extents of clusters.
double one_over(int power_of_two) {
  static constexpr double kInverse[] = {0, 1, 0.5, 0, 0.25, 0, 0, 0, 0.125};
  return kInverse[power_of_two];
}

// Of what a row takes that starts off sectors of the L2, the share that one takes which starts on so many bytes.
double unaligned(int bytes, const CostConstants& x) {
  constexpr int kSector = 32, kLine = 128;
  return bytes >= kLine ? 0.0 : bytes >= kSector ? x.off_lines : 1.0;
}

// Of tiles of clusters that run at the same time, how many lie beside one another along m and along n: as many as near
// a square (schedule.h).
template <class Real>
struct Beside {
  Real m, n;
};
template <class Real>
XGEMM_INLINE Beside<Real> beside(const Real& height, const Real& width, const Real& tiles_m, const Real& tiles_n,
                                 const Real& together) {
  const Real one = all_lanes<Real>(1), square = together * width / height;
  const Real side = least_of(most_of(cost::root(square), one), most_of(one, tiles_m));
  return {side, least_of(most_of(one, together / side), tiles_n)};
}

}  // namespace

double cluster_tiles(const WgmmaTmaConfig& c, const ClusterShape& cluster, const CostProblem& p) {
  return cost::tiles(p.m, c.cta_m * cluster.m) * cost::tiles(p.n, c.cta_n * cluster.n) * double(p.batch_count);
}

double split_bytes(const WgmmaTmaConfig& c, const ClusterShape& cluster, const CostProblem& p, const CostSplit& split) {
  if (split.parts == 1) return 0;
  return (cluster_tiles(c, cluster, p) - split.whole_tiles) * split.parts * cluster.size() * (4.0 * c.cta_m * c.cta_n);
}

ProductWork::ProductWork(const CostProblem& p, const CostDevice& d, const CostConstants& x)
    : problem(p), device(d), constants(x) {
  const double m = double(p.m), n = double(p.n), k = double(p.k), batch = double(p.batch_count);
  slices = ceil(k / CostProblem::kSlice);
  unaligned_a = unaligned(p.align_a, x), unaligned_b = unaligned(p.align_b, x);
  const double element_bytes = (p.reads_c ? 1 + x.old_c : 1.0) * p.bytes_c / 2;
  element_cycles = x.element * element_bytes + p.finishing;
  us_per_cycle = 1e-3 / d.rates.sm_ghz;
  us_per_byte = 1e-6 / d.rates.memory_tbs;
  us_per_l2_byte = 1e-6 / d.rates.l2_tbs;
  power_us = 2 * m * n * k * batch * 1e-6 / d.rates.tensor_tflops;
  inputs = 2 * k * batch * (m + n);
  c_bytes = m * n * batch * p.bytes_c * (p.reads_c ? 2 : 1);
  l2_reach = x.l2_reach * d.l2_bytes;
}

TileWork::TileWork(const WgmmaTmaConfig& c, const ProductWork& of, int chunks)
    : config(c), product(of), exchange_chunks(chunks) {
  const CostConstants& x = product.constants;
  const int rows = c.tile_rows(), columns = c.tile_columns();
  const double area = double(rows) * columns;
  ctas_m = cost::tiles(product.problem.m, c.cta_m);
  ctas_n = cost::tiles(product.problem.n, c.cta_n);
  const double reads = double(rows / 64) * (64 + columns);
  slice_fourth = fourth(area / 32 * x.tensor) + fourth((rows + columns) * x.write + reads * x.read) +
                 fourth(c.x_through_registers() ? kRegistersSlice : x.slice);
  unaligned_shared = x.unaligned_shared * (product.unaligned_a * c.cta_m + product.unaligned_b * c.cta_n);
  epilogue_us = (x.epilogue + area * product.element_cycles) * product.us_per_cycle;
  in_flight_us = (product.inputs + product.c_bytes) / (c.stages * (c.cta_m + c.cta_n) * 128.0) * x.latency;
}

// The terms of TileCost: of whole tiles, or of parts of K that keep all SMs busy all the time.
double TileWork::least_us() const {
  const CostConstants& x = product.constants;
  const int sms = product.device.sms;
  const double tiles = ctas_m * ctas_n * double(product.problem.batch_count) / sms, slices = product.slices;
  const double slice_us = fourth_root(slice_fourth) * product.us_per_cycle;
  const double memory_us = (product.inputs + product.c_bytes) * product.us_per_byte;
  const double others = fourth(in_flight_us / sms) + fourth(memory_us) + fourth(product.power_us);
  const auto joined_us = [&](double rounds, double all_slices) {
    return fourth_root(fourth(all_slices * slice_us + epilogue_us * (config.ping_pong ? 1.0 : rounds)) + others);
  };
  const double rounds = ceil(tiles / ctas_per_sm) * slowed(), whole_us = joined_us(rounds, rounds * slices);
  if (slices < 2 * CostSplit::kLeastSlices) return x.launch + whole_us;
  const double parts_us = joined_us(std::max(tiles, 1.0), std::max(tiles * slices, double{CostSplit::kLeastSlices}));
  return x.launch + std::min(whole_us, std::min(x.sum, x.cluster) + parts_us);
}

double TileWork::shared_us(const CostTerms& alone, double corrected_us) const {
  if (ctas_per_sm == 1) return corrected_us;
  const double launch = product.constants.launch;
  const double others = fourth(alone.us - launch) - fourth(alone.mainloop + alone.epilogue);
  const double own = std::max(0.0, fourth(corrected_us - launch) - others);
  const double rounds = ceil(alone.rounds / ctas_per_sm) * slowed() / alone.rounds;
  return std::min(corrected_us, launch + fourth_root(others + own * fourth(rounds)));
}

namespace {

XGEMM_INLINE ClusterWork<double> cluster_work(const TileWork& work, const ClusterShape& cluster) {
  const WgmmaTmaConfig& c = work.config;
  const ProductWork& product = work.product;
  const CostConstants& x = product.constants;
  const int size = cluster.size();
  const int ctas_per_sm = size == 1 ? work.ctas_per_sm : 1;
  const double slowed = ctas_per_sm > 1 ? work.slowed() : 1.0;
  double epilogue_us = work.epilogue_us * slowed;
  if (cluster.k > 1) {  // a CTA gets so many chunks of sums, and so often
    const int all = work.exchange_chunks, of_one = (all + cluster.k - 1) / cluster.k;
    const double received = double(c.cta_m) * c.cta_n * of_one / all;
    epilogue_us += (x.exchange + received * (cluster.k - 1) * x.exchange_element) * product.us_per_cycle;
  }
  return {.cta_m = double(c.cta_m),
          .cta_n = double(c.cta_n),
          .ctas_m = work.ctas_m,
          .ctas_n = work.ctas_n,
          .slice_fourth = work.slice_fourth * fourth(slowed),
          .unaligned_shared = work.unaligned_shared,
          .epilogue_us = epilogue_us,
          .in_flight_us = work.in_flight_us,
          .m = double(cluster.m),
          .n = double(cluster.n),
          .inverse_m = one_over(cluster.m),
          .inverse_n = one_over(cluster.n),
          .inverse_k = one_over(cluster.k),
          .size = double(size),
          .clusters = double(product.device.clusters_of(size)) * ctas_per_sm,
          .fixed_us = x.launch + (size > 1 ? x.cluster : 0.0),
          .is_ping_pong = c.ping_pong ? 1.0 : 0.0};
}

}  // namespace

template <class Real>
XGEMM_INLINE TileCostOf<Real>::TileCostOf(const ProductWork& product, const ClusterWork<Real>& w)
    : constants_(&product.constants),
      clusters_(w.clusters),
      tile_slices_(ceil(product.slices * w.inverse_k)),
      epilogue_us_(w.epilogue_us),
      sum_bytes_(4.0 * w.cta_m * w.cta_n * w.size),
      fixed_us_(w.fixed_us),
      is_ping_pong_(w.is_ping_pong),
      inverse_k_(w.inverse_k),
      common_{} {
  const CostProblem& p = product.problem;
  const CostConstants& x = product.constants;
  const double m = double(p.m), n = double(p.n), k = double(p.k), batch = double(p.batch_count);
  const Real tiles_m = ceil(w.ctas_m * w.inverse_m), tiles_n = ceil(w.ctas_n * w.inverse_n);
  tiles_ = tiles_m * tiles_n * batch;

  const Real own_a = w.cta_m * w.inverse_n, own_b = w.cta_n * w.inverse_m;
  const Real off = w.unaligned_shared + x.unaligned * (product.unaligned_a * own_a + product.unaligned_b * own_b);
  const Real slice = fourth_root(w.slice_fourth + fourth((own_a + own_b) * x.ingest) + fourth(off));
  slice_us_ = slice * product.us_per_cycle;

  const Real together = least_of(tiles_, clusters_);
  CostTermsOf<Real>& t = common_;
  t.l2 = (2 * k * batch * (m * tiles_n + n * tiles_m) + product.c_bytes) * product.us_per_l2_byte;
  t.power = all_lanes<Real>(product.power_us);
  t.memory = all_lanes<Real>(product.inputs * product.us_per_byte);
  t.memory_c = all_lanes<Real>(product.c_bytes * product.us_per_byte);
  const Real height = w.cta_m * w.m, width = w.cta_n * w.n;
  const auto [along_m, along_n] = beside(height, width, tiles_m, tiles_n, together);
  t.wave_panel = 2 * k * (along_m * height + along_n * width);
  t.along_m = along_m;
  t.along_n = along_n;
  t.waves = most_of(Real{}, tiles_ / together * t.wave_panel - product.inputs) * product.us_per_byte;
  const Real beyond = t.wave_panel / product.l2_reach;
  const Real again = beyond * beyond / (1 + beyond * beyond);
  in_flight_us_ = w.in_flight_us / w.size;
  least_cycles_us_ = tiles_ / clusters_ * tile_slices_ * slice_us_ + epilogue_us_;
  common_fourth_ = fourth(t.l2) + fourth(t.power) + fourth(t.memory + t.memory_c + again * t.waves);
}

// Inline: of what best_split() does not look at, nothing is worked out.
template <class Real>
XGEMM_INLINE CostTermsOf<Real> TileCostOf<Real>::terms(const Real& whole_tiles, const Real& parts) const {
  const CostConstants& x = *constants_;
  const auto is_split = parts > all_lanes<Real>(1);
  const Real none{};
  const Real split_tiles = pick(is_split, tiles_ - whole_tiles, none);
  const Real units = tiles_ + split_tiles * (parts - 1);
  CostTermsOf<Real> t = common_;

  // What the busiest CTA goes through.
  const Real whole_rounds = ceil((tiles_ - split_tiles) / clusters_);
  const Real part_rounds = ceil(split_tiles * parts / clusters_);
  t.rounds = whole_rounds + part_rounds;
  t.slices = whole_rounds * tile_slices_ + part_rounds * ceil(tile_slices_ / parts);
  t.fill = units / (clusters_ * t.rounds);
  t.busy = least_of(all_lanes<Real>(1), units / clusters_);
  t.mainloop = t.slices * slice_us_;
  t.epilogue = t.rounds * epilogue_us_;
  t.in_flight = in_flight_us_ / least_of(units, clusters_);
  // Ping-pong consumers: the epilogue of one runs under the mainloop of the other.
  const Real one_after_the_other = t.mainloop + t.epilogue;
  const Real in_turn = fourth_root(fourth(t.mainloop) + fourth(one_after_the_other / 2 * x.ping_pong)) + epilogue_us_;
  const Real cycles = pick(is_ping_pong_ > none, in_turn, one_after_the_other);
  t.sums = pick(is_split, x.sum + split_tiles * parts * sum_bytes_ * 1e-6 / x.sum_bytes, none);
  t.us = fixed_us_ + t.sums + fourth_root(common_fourth_ + fourth(cycles) + fourth(t.in_flight));
  return t;
}

template <class Real>
XGEMM_INLINE typename TileCostOf<Real>::Best TileCostOf<Real>::best_split(double workspace_limit) const {
  constexpr int kMaxParts = 1024, kMostRounds = 3;
  const Real one = all_lanes<Real>(1), two = one + one;
  const CostTermsOf<Real> unsplit = terms(tiles_, one);
  Best best = {unsplit.us, unsplit.rounds, tiles_, one};

  const Real whole = floor(tiles_ / clusters_) * clusters_, rest = tiles_ - whole;
  const Real most = least_of(floor(tile_slices_ / CostSplit::kLeastSlices), all_lanes<Real>(kMaxParts));
  // Whether with all clusters busy all the time it would take less.
  const Real to_beat_us = best.us - constants_->sum - fixed_us_;
  const auto may_pay = (to_beat_us > Real{}) & (common_fourth_ + fourth(least_cycles_us_) < fourth(to_beat_us));
  auto goes_on = may_pay & (inverse_k_ == one) & (tiles_ < all_lanes<Real>(0x1p31)) & (rest > Real{}) & (most >= two);
  if (!cost::any(goes_on)) return best;
  for (int rounds = 1; rounds <= kMostRounds; ++rounds) {
    const Real parts = least_of(most, floor(rounds * clusters_ / rest));
    const auto is_split = goes_on & (parts >= two);
    const auto fits = rest * parts * sum_bytes_ <= all_lanes<Real>(workspace_limit);
    const CostTermsOf<Real> t = terms(whole, parts);
    const auto is_better = is_split & fits & (t.us < best.us);
    best = {pick(is_better, t.us, best.us), pick(is_better, t.rounds, best.rounds),
            pick(is_better, whole, best.whole_tiles), pick(is_better, parts, best.parts)};
    goes_on = goes_on & (parts < most) & (fits | (parts < two));
  }
  return best;
}

TileCost::TileCost(const TileWork& work, const ClusterShape& cluster)
    : cost_(work.product, cluster_work(work, cluster)) {}

CostTerms TileCost::operator()(const CostSplit& split) const {
  return cost_.terms(split.whole_tiles, split.parts);
}

TileCost::Best TileCost::best_split(double workspace_limit) const {
  const auto best = cost_.best_split(workspace_limit);
  return {best.us, best.rounds, {best.whole_tiles, static_cast<int>(best.parts)}};
}

void TileCosts::add(const TileWork& work, const ClusterShape& cluster) {
  const ClusterWork<double> own = cluster_work(work, cluster);
  const double* const from = reinterpret_cast<const double*>(&own);
  double* const to = reinterpret_cast<double*>(&work_) + count_++;
  for (std::size_t i = 0; i < sizeof own / sizeof(double); ++i) to[i * kMost] = from[i];
}

namespace {

// Structures of one number after the other, with as many in each as a Real holds, from the `first` of `all` on.
template <class Real, class Numbers, class All>
XGEMM_INLINE void load(const All& all, int first, Numbers* numbers) {
  for (std::size_t i = 0; i < sizeof(Numbers) / sizeof(Real); ++i)
    std::memcpy(reinterpret_cast<Real*>(numbers) + i,
                reinterpret_cast<const double*>(&all) + i * TileCosts::kMost + static_cast<std::size_t>(first),
                sizeof(Real));
}

template <class Real>
XGEMM_INLINE void best_splits_of(const ProductWork& product, const TileCosts::Work& all, int first,
                                 double workspace_limit, TileCost::Best* best) {
  ClusterWork<Real> work;
  load<Real>(all, first, &work);
  const auto found = TileCostOf<Real>(product, work).best_split(workspace_limit);
  for (int i = 0; i < cost::kLanes<Real>; ++i)
    best[first + i] = {found.us[i], found.rounds[i], {found.whole_tiles[i], static_cast<int>(found.parts[i])}};
}

template <class Real>
XGEMM_INLINE void terms_of(const ProductWork& product, const TileCosts::Work& all, int first, const CostSplit* splits,
                           CostTerms* terms) {
  ClusterWork<Real> work;
  load<Real>(all, first, &work);
  Real whole_tiles{}, parts{};
  for (int i = 0; i < cost::kLanes<Real>; ++i) {
    whole_tiles[i] = splits[first + i].whole_tiles;
    parts[i] = splits[first + i].parts;
  }
  const CostTermsOf<Real> found = TileCostOf<Real>(product, work).terms(whole_tiles, parts);
  double numbers[sizeof found / sizeof(double)];
  std::memcpy(numbers, &found, sizeof found);
  for (int i = 0; i < cost::kLanes<Real>; ++i) {
    double* const own = reinterpret_cast<double*>(terms + first + i);
    for (std::size_t j = 0; j < sizeof(CostTerms) / sizeof(double); ++j)
      own[j] = numbers[j * cost::kLanes<Real> + static_cast<std::size_t>(i)];
  }
}

#if XGEMM_WITH_AVX2
[[gnu::target("avx2")]] void best_splits_avx2(const ProductWork& product, const TileCosts::Work& all,
                                              double workspace_limit, TileCost::Best* best) {
  best_splits_of<cost::FourReals>(product, all, 0, workspace_limit, best);
}
[[gnu::target("avx2")]] void terms_avx2(const ProductWork& product, const TileCosts::Work& all, const CostSplit* splits,
                                        CostTerms* terms) {
  terms_of<cost::FourReals>(product, all, 0, splits, terms);
}
#endif

}  // namespace

bool TileCosts::may_be_wide() {
#if XGEMM_WITH_AVX2
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  return has_avx2;
#else
  return false;
#endif
}

void TileCosts::best_splits(double workspace_limit, TileCost::Best* best) {
  TileCost::Best all[kMost];
  const int count = std::exchange(count_, 0);
#if XGEMM_WITH_AVX2
  if (wide_) {
    best_splits_avx2(product_, work_, workspace_limit, all);
    std::copy_n(all, count, best);
    return;
  }
#endif
  for (int first = 0; first < count; first += cost::kLanes<cost::TwoReals>)
    best_splits_of<cost::TwoReals>(product_, work_, first, workspace_limit, all);
  std::copy_n(all, count, best);
}

void TileCosts::terms(const CostSplit* splits, CostTerms* terms) {
  CostSplit of_all[kMost];
  CostTerms all[kMost];
  const int count = std::exchange(count_, 0);
  std::copy_n(splits, count, of_all);
#if XGEMM_WITH_AVX2
  if (wide_) {
    terms_avx2(product_, work_, of_all, all);
    std::copy_n(all, count, terms);
    return;
  }
#endif
  for (int first = 0; first < count; first += cost::kLanes<cost::TwoReals>)
    terms_of<cost::TwoReals>(product_, work_, first, of_all, all);
  std::copy_n(all, count, terms);
}

}  // namespace xgemm::kernels
