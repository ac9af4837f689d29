// The model of wgmma_tma's tiles.
#include "kernels/wgmma_tma/cost.h"

#include <algorithm>
#include <cmath>

namespace xgemm::kernels {
namespace {

double fourth(double x) {
  return x * x * x * x;
}

double fourth_root(double x) {
  return std::sqrt(std::sqrt(x));
}

double rounded_up(std::int64_t extent, int tile) {
  return double((extent + tile - 1) / tile);
}

// Tiles of clusters that run at the same time cover rows of A and columns of B: as many as near a square (schedule.h).
// The elements along m and n that they ask for.
double covered(const WgmmaTmaConfig& c, double tiles_m, double tiles_n, double together) {
  const double height = c.cta_m * c.cluster_m, width = c.cta_n * c.cluster_n;
  const double side = std::clamp(std::sqrt(together * width / height), 1.0, std::max(1.0, tiles_m));
  return side * height + std::min(std::max(1.0, together / side), tiles_n) * width;
}

}  // namespace

double cluster_tiles(const WgmmaTmaConfig& c, const CostProblem& p) {
  return rounded_up(p.m, c.cta_m * c.cluster_m) * rounded_up(p.n, c.cta_n * c.cluster_n) * double(p.batch_count);
}

double split_bytes(const WgmmaTmaConfig& c, const CostProblem& p, const CostSplit& split) {
  if (split.parts == 1) return 0;
  return (cluster_tiles(c, p) - split.whole_tiles) * split.parts * c.cluster_size() * (4.0 * c.cta_m * c.cta_n);
}

TileCost::TileCost(const WgmmaTmaConfig& c, const CostProblem& p, const CostDevice& device, const CostConstants& x)
    : config_(c), constants_(x), common_{} {
  const double m = double(p.m), n = double(p.n), k = double(p.k), batch = double(p.batch_count);
  const int rows = c.tile_rows(), columns = c.tile_columns();
  const double area = double(rows) * columns;
  const int size = c.cluster_size();
  const double tiles_m = rounded_up(p.m, c.cta_m * c.cluster_m), tiles_n = rounded_up(p.n, c.cta_n * c.cluster_n);
  tiles_ = tiles_m * tiles_n * batch;
  clusters_ = device.clusters_of(size);
  tile_slices_ = std::ceil(std::ceil(k / 64) / c.cluster_k);
  sum_bytes_ = 4.0 * area * size;

  const double own_a = double(c.cta_m) / c.cluster_n, own_b = double(c.cta_n) / c.cluster_m;
  const double reads = double(rows / 64) * (64 + columns);
  const double unaligned = (p.lines_a ? 0 : x.unaligned * own_a + x.unaligned_shared * c.cta_m) +
                           (p.lines_b ? 0 : x.unaligned * own_b + x.unaligned_shared * c.cta_n);
  const double slice = fourth_root(fourth(area / 32 * x.tensor) + fourth((rows + columns) * x.write + reads * x.read) +
                                   fourth((own_a + own_b) * x.ingest) + fourth(unaligned) + fourth(x.slice));
  const double element_bytes = (p.reads_c ? 1 + x.old_c : 1.0) * p.bytes_c / 2;
  double epilogue = x.epilogue + area * x.element * element_bytes;
  if (c.cluster_k > 1) epilogue += x.exchange + area * x.exchange_element * (c.cluster_k - 1) / c.cluster_k;
  slice_us_ = slice * 1e-3 / device.rates.sm_ghz;
  epilogue_us_ = epilogue * 1e-3 / device.rates.sm_ghz;

  const double inputs = 2 * k * batch * (m + n);
  const double c_bytes = m * n * batch * p.bytes_c * (p.reads_c ? 2 : 1);
  const double per_byte = 1e-6 / device.rates.memory_tbs;
  const double together = std::min(tiles_, clusters_);
  CostTerms& t = common_;
  t.l2 = (2 * k * batch * (m * tiles_n + n * tiles_m) + c_bytes) * 1e-6 / device.rates.l2_tbs;
  t.power = 2 * m * n * k * batch * 1e-6 / device.rates.tensor_tflops;
  t.memory = inputs * per_byte;
  t.memory_c = c_bytes * per_byte;
  t.wave_panel = 2 * k * covered(c, tiles_m, tiles_n, together);
  t.waves = std::max(0.0, tiles_ / together * t.wave_panel - inputs) * per_byte;
  const double beyond = t.wave_panel / (x.l2_reach * device.l2_bytes);
  const double again = beyond * beyond / (1 + beyond * beyond);
  const double ring = double(size) * c.stages * (rows + columns) * 128.0;
  in_flight_us_ = (inputs + c_bytes) / ring * x.latency;
  common_fourth_ = fourth(t.l2) + fourth(t.power) + fourth(t.memory + t.memory_c + again * t.waves);
}

CostTerms TileCost::operator()(const CostSplit& split) const {
  const CostConstants& x = constants_;
  const double split_tiles = split.parts == 1 ? 0 : tiles_ - split.whole_tiles;
  const double units = tiles_ + split_tiles * (split.parts - 1);
  CostTerms t = common_;

  // What the busiest CTA goes through.
  const double whole_rounds = std::ceil((tiles_ - split_tiles) / clusters_);
  const double part_rounds = std::ceil(split_tiles * split.parts / clusters_);
  t.rounds = whole_rounds + part_rounds;
  t.slices = whole_rounds * tile_slices_ + part_rounds * std::ceil(tile_slices_ / split.parts);
  t.fill = units / (clusters_ * t.rounds);
  t.busy = std::min(1.0, units / clusters_);
  t.mainloop = t.slices * slice_us_;
  t.epilogue = t.rounds * epilogue_us_;
  t.in_flight = in_flight_us_ / std::min(units, clusters_);
  // Ping-pong consumers: the epilogue of one runs under the mainloop of the other.
  const double cycles =
      config_.ping_pong
          ? fourth_root(fourth(t.mainloop) + fourth((t.mainloop + t.epilogue) / 2 * x.ping_pong)) + epilogue_us_
          : t.mainloop + t.epilogue;
  t.sums = split.parts > 1 ? x.sum + split_tiles * split.parts * sum_bytes_ * 1e-6 / x.sum_bytes : 0.0;
  const double fixed = x.launch + (config_.cluster_size() > 1 ? x.cluster : 0.0) + t.sums;
  t.us = fixed + fourth_root(common_fourth_ + fourth(cycles) + fourth(t.in_flight));
  return t;
}

CostEstimate best_split(const WgmmaTmaConfig& c, const CostProblem& p, const CostDevice& device,
                        double workspace_limit) {
  constexpr int kMinSlices = 4;  // of a part
  constexpr int kMaxParts = 1024;
  const TileCost cost(c, p, device);
  const double tiles = cost.tiles();
  CostEstimate best = {0, {tiles, 1}, cost({tiles, 1})};
  best.us = best.terms.us;
  if (c.cluster_k > 1 || tiles >= 0x1p31) return best;
  const double clusters = device.clusters_of(c.cluster_size());
  const double whole = std::floor(tiles / clusters) * clusters;
  const double rest = tiles - whole;
  const double most = std::min(std::floor(std::ceil(double(p.k) / 64) / kMinSlices), double{kMaxParts});
  if (rest == 0 || most < 2) return best;
  for (int rounds = 1; rounds <= 3; ++rounds) {
    const double parts = std::min(most, std::floor(rounds * clusters / rest));
    if (parts < 2) continue;
    const CostSplit split = {whole, static_cast<int>(parts)};
    if (split_bytes(c, p, split) > workspace_limit) break;
    const CostTerms terms = cost(split);
    if (terms.us < best.us) best = {terms.us, split, terms};
  }
  return best;
}

}  // namespace xgemm::kernels
