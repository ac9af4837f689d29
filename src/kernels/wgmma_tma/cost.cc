// The model of wgmma_tma's tiles.
#include "kernels/wgmma_tma/cost.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/cost_math.h"

namespace xgemm::kernels {
namespace {

using cost::ceil, cost::floor, cost::fourth;

// Cycles of a slot whose X goes through registers, at least: by NN and TT beside TN from 512^3 to 1024^3 on an H100,
// and by when NT is faster with one copy than with two.
constexpr double kRegistersSlice = 370;

double fourth_root(double x) {
  return std::sqrt(std::sqrt(x));
}

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
struct Beside {
  double m, n;
};
Beside beside(double height, double width, double tiles_m, double tiles_n, double together) {
  const double side = std::clamp(std::sqrt(together * width / height), 1.0, std::max(1.0, tiles_m));
  return {side, std::min(std::max(1.0, together / side), tiles_n)};
}

}  // namespace

double cluster_tiles(const WgmmaTmaConfig& c, const ClusterShape& cluster, const CostProblem& p) {
  return cost::tiles(p.m, c.cta_m * cluster.m) * cost::tiles(p.n, c.cta_n * cluster.n) * double(p.batch_count);
}

double split_bytes(const WgmmaTmaConfig& c, const ClusterShape& cluster, const CostProblem& p, const CostSplit& split) {
  if (split.parts == 1) return 0;
  return (cluster_tiles(c, cluster, p) - split.whole_tiles) * split.parts * cluster.size() * (4.0 * c.cta_m * c.cta_n);
}

TileWork::TileWork(const WgmmaTmaConfig& c, const CostProblem& p, const CostDevice& d, const CostConstants& x,
                   int chunks)
    : config(c), problem(p), device(d), constants(x), exchange_chunks(chunks) {
  const double m = double(p.m), n = double(p.n), k = double(p.k), batch = double(p.batch_count);
  const int rows = c.tile_rows(), columns = c.tile_columns();
  const double area = double(rows) * columns;
  ctas_m = cost::tiles(p.m, c.cta_m);
  ctas_n = cost::tiles(p.n, c.cta_n);
  slices = ceil(k / CostProblem::kSlice);

  const double reads = double(rows / 64) * (64 + columns);
  slice_fourth = fourth(area / 32 * x.tensor) + fourth((rows + columns) * x.write + reads * x.read) +
                 fourth(c.x_through_registers() ? kRegistersSlice : x.slice);
  unaligned_a = unaligned(p.align_a, x), unaligned_b = unaligned(p.align_b, x);
  unaligned_shared = x.unaligned_shared * (unaligned_a * c.cta_m + unaligned_b * c.cta_n);
  const double element_bytes = (p.reads_c ? 1 + x.old_c : 1.0) * p.bytes_c / 2;
  double epilogue = x.epilogue + area * (x.element * element_bytes + p.finishing);
  us_per_cycle = 1e-3 / d.rates.sm_ghz;
  us_per_byte = 1e-6 / d.rates.memory_tbs;
  us_per_l2_byte = 1e-6 / d.rates.l2_tbs;
  epilogue_us = epilogue * us_per_cycle;
  power_us = 2 * m * n * k * batch * 1e-6 / d.rates.tensor_tflops;
  inputs = 2 * k * batch * (m + n);
  c_bytes = m * n * batch * p.bytes_c * (p.reads_c ? 2 : 1);
  l2_reach = x.l2_reach * d.l2_bytes;
  in_flight_us = (inputs + c_bytes) / (c.stages * (c.cta_m + c.cta_n) * 128.0) * x.latency;
}

// The terms of TileCost: of whole tiles, or of parts of K that keep all SMs busy all the time.
double TileWork::least_us() const {
  const double tiles = ctas_m * ctas_n * double(problem.batch_count) / device.sms;
  const double slice_us = fourth_root(slice_fourth) * us_per_cycle;
  const double memory_us = (inputs + c_bytes) * us_per_byte;
  const double others = fourth(in_flight_us / device.sms) + fourth(memory_us) + fourth(power_us);
  const auto joined_us = [&](double rounds, double all_slices) {
    return fourth_root(fourth(all_slices * slice_us + epilogue_us * (config.ping_pong ? 1.0 : rounds)) + others);
  };
  const double rounds = ceil(tiles), whole_us = joined_us(rounds, rounds * slices);
  if (slices < 2 * CostSplit::kLeastSlices) return constants.launch + whole_us;
  const double parts_us = joined_us(std::max(tiles, 1.0), std::max(tiles * slices, double{CostSplit::kLeastSlices}));
  return constants.launch + std::min(whole_us, std::min(constants.sum, constants.cluster) + parts_us);
}

TileCost::TileCost(const TileWork& work, const ClusterShape& cluster)
    : constants_(&work.constants),
      tile_slices_(ceil(work.slices * one_over(cluster.k))),
      epilogue_us_(work.epilogue_us),
      common_{} {
  const WgmmaTmaConfig& c = work.config;
  const CostProblem& p = work.problem;
  const CostDevice& device = work.device;
  const CostConstants& x = work.constants;
  const double m = double(p.m), n = double(p.n), k = double(p.k), batch = double(p.batch_count);
  const int size = cluster.size();
  const double tiles_m = ceil(work.ctas_m * one_over(cluster.m)), tiles_n = ceil(work.ctas_n * one_over(cluster.n));
  tiles_ = tiles_m * tiles_n * batch;
  clusters_ = device.clusters_of(size);
  sum_bytes_ = 4.0 * c.cta_m * c.cta_n * size;
  fixed_us_ = x.launch + (size > 1 ? x.cluster : 0.0);
  ping_pong_ = c.ping_pong;
  can_split_ = cluster.k == 1;
  if (cluster.k > 1) {  // a CTA gets so many chunks of sums, and so often
    const int all = work.exchange_chunks, of_one = (all + cluster.k - 1) / cluster.k;
    const double received = double(c.cta_m) * c.cta_n * of_one / all;
    epilogue_us_ += (x.exchange + received * (cluster.k - 1) * x.exchange_element) * work.us_per_cycle;
  }

  const double own_a = c.cta_m * one_over(cluster.n), own_b = c.cta_n * one_over(cluster.m);
  const double off = work.unaligned_shared + x.unaligned * (work.unaligned_a * own_a + work.unaligned_b * own_b);
  const double slice = fourth_root(work.slice_fourth + fourth((own_a + own_b) * x.ingest) + fourth(off));
  slice_us_ = slice * work.us_per_cycle;

  const double together = std::min(tiles_, clusters_);
  CostTerms& t = common_;
  t.l2 = (2 * k * batch * (m * tiles_n + n * tiles_m) + work.c_bytes) * work.us_per_l2_byte;
  t.power = work.power_us;
  t.memory = work.inputs * work.us_per_byte;
  t.memory_c = work.c_bytes * work.us_per_byte;
  const double height = c.cta_m * cluster.m, width = c.cta_n * cluster.n;
  const auto [along_m, along_n] = beside(height, width, tiles_m, tiles_n, together);
  t.wave_panel = 2 * k * (along_m * height + along_n * width);
  t.along_m = along_m;
  t.along_n = along_n;
  t.waves = std::max(0.0, tiles_ / together * t.wave_panel - work.inputs) * work.us_per_byte;
  const double beyond = t.wave_panel / work.l2_reach;
  const double again = beyond * beyond / (1 + beyond * beyond);
  in_flight_us_ = work.in_flight_us * one_over(size);
  least_cycles_us_ = tiles_ / clusters_ * tile_slices_ * slice_us_ + epilogue_us_;
  common_fourth_ = fourth(t.l2) + fourth(t.power) + fourth(t.memory + t.memory_c + again * t.waves);
}

// Inline: of what best_split() does not look at, nothing is worked out.
[[gnu::always_inline]] inline CostTerms TileCost::terms(const CostSplit& split) const {
  const CostConstants& x = *constants_;
  const double split_tiles = split.parts == 1 ? 0 : tiles_ - split.whole_tiles;
  const double units = tiles_ + split_tiles * (split.parts - 1);
  CostTerms t = common_;

  // What the busiest CTA goes through.
  const double whole_rounds = ceil((tiles_ - split_tiles) / clusters_);
  const double part_rounds = split.parts == 1 ? 0 : ceil(split_tiles * split.parts / clusters_);
  t.rounds = whole_rounds + part_rounds;
  t.slices = whole_rounds * tile_slices_ + part_rounds * ceil(tile_slices_ / split.parts);
  t.fill = units / (clusters_ * t.rounds);
  t.busy = std::min(1.0, units / clusters_);
  t.mainloop = t.slices * slice_us_;
  t.epilogue = t.rounds * epilogue_us_;
  t.in_flight = in_flight_us_ / std::min(units, clusters_);
  // Ping-pong consumers: the epilogue of one runs under the mainloop of the other.
  const double cycles =
      ping_pong_ ? fourth_root(fourth(t.mainloop) + fourth((t.mainloop + t.epilogue) / 2 * x.ping_pong)) + epilogue_us_
                 : t.mainloop + t.epilogue;
  t.sums = split.parts > 1 ? x.sum + split_tiles * split.parts * sum_bytes_ * 1e-6 / x.sum_bytes : 0.0;
  t.us = fixed_us_ + t.sums + fourth_root(common_fourth_ + fourth(cycles) + fourth(t.in_flight));
  return t;
}

CostTerms TileCost::operator()(const CostSplit& split) const {
  return terms(split);
}

bool TileCost::takes(double us) const {
  return us <= fixed_us_ || common_fourth_ + fourth(least_cycles_us_) >= fourth(us - fixed_us_);
}

TileCost::Best TileCost::best_split(double workspace_limit) const {
  constexpr int kMaxParts = 1024;
  const auto weigh = [&](const CostSplit& split) -> Best {
    const CostTerms t = terms(split);
    return {t.us, t.rounds, split};
  };
  Best best = weigh({tiles_, 1});
  if (!can_split_ || tiles_ >= 0x1p31 || takes(best.us - constants_->sum)) return best;
  const double whole = floor(tiles_ / clusters_) * clusters_;
  const double rest = tiles_ - whole;
  const double most = std::min(floor(tile_slices_ / CostSplit::kLeastSlices), double{kMaxParts});
  if (rest == 0 || most < 2) return best;
  for (int rounds = 1; rounds <= 3; ++rounds) {
    const double parts = std::min(most, floor(rounds * clusters_ / rest));
    if (parts < 2) continue;
    if (rest * parts * sum_bytes_ > workspace_limit) break;
    const Best split = weigh({whole, static_cast<int>(parts)});
    if (split.us < best.us) best = split;
    if (parts == most) break;
  }
  return best;
}

}  // namespace xgemm::kernels
