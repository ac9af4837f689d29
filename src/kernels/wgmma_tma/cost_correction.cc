// Features, and the network.
#include "kernels/wgmma_tma/cost_correction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "kernels/common/cost_math.h"
#include "kernels/wgmma_tma/instances.h"
#include "tuning/network.h"

namespace xgemm::kernels {
namespace {

// The fit: constants of the model, names of tiles, and the weights of the network.
#include "kernels/wgmma_tma/cost_fit.inc"

constexpr int kTiles = sizeof(kFittedTiles) / sizeof(kFittedTiles[0]);

float ln(double x) {
  return tuning::ln(static_cast<float>(x));
}

float flag(bool x) {
  return x ? 1.0f : 0.0f;
}

// Of the extents of clusters, which are powers of two.
float ln_of_power(int x) {
  constexpr float kLn2 = 0.693147181f;
  return kLn2 * static_cast<float>(std::countr_zero(static_cast<unsigned>(x)));
}

constexpr int kSector = 32, kLine = 128;  // bytes, of the L2

// How much of the tiles' extent lies inside of the matrix.
float share_inside(double extent, int tile) {
  return static_cast<float>(extent / (cost::tiles(extent, tile) * tile));
}

// The same of the CTAs of a cluster.
float share_inside(double extent, int tile, int cluster) {
  return cluster == 1 ? 1.0f : share_inside(cost::tiles(extent, tile), cluster);
}

}  // namespace

const CostConstants kCostConstants = kFittedConstants;

std::array<float, kProblemFeatures> problem_features(const CostProblem& p, const CostDevice& device) {
  const double operands = 2.0 * double(p.batch_count) * (double(p.m) * double(p.k) + double(p.k) * double(p.n));
  // Between the GPUs that were measured, with some room: what lies beyond is not known to matter.
  const double balance = std::clamp(1e3 * device.rates.memory_tbs / device.rates.tensor_tflops, 2.0, 6.0);
  return {ln(1 + operands / device.l2_bytes),
          ln(double((std::max<std::int64_t>(p.k, 1) + 63) / 64)),
          flag(p.a_transposed),
          flag(p.b_transposed),
          flag(p.reads_c),
          flag(p.align_a >= kLine),
          flag(p.align_b >= kLine),
          flag(p.align_a >= kSector),
          flag(p.align_b >= kSector),
          ln(double(p.batch_count)),
          ln(balance),
          static_cast<float>(p.m / double(p.m + p.n))};
}

std::array<float, kTileFeatures> tile_features(const WgmmaTmaConfig& c) {
  return {ln(c.cta_m * c.cta_n / 16384.0),
          ln(double(c.cta_m) / c.cta_n),
          flag(c.ping_pong),
          flag(c.transposed),
          ln(c.stages / 6.0),
          flag(c.consumers() == 1),
          flag(c.consumers() == 3)};
}

std::array<float, kPlanFeatures> plan_features(const WgmmaTmaConfig& c, const ClusterShape& cluster,
                                               const CostProblem& p, const CostDevice& device, const CostSplit& split,
                                               const CostTerms& t) {
  const int size = cluster.size();
  // Of what a CTA needs, the share that it fetches itself.
  const double own_a = double(c.cta_m) / cluster.n, own_b = double(c.cta_n) / cluster.m, own = own_a + own_b;
  const double slot = c.cta_m + c.cta_n;
  const bool off_a = p.align_a < kSector, off_b = p.align_b < kSector;
  const auto share = [&](double us, double most) { return static_cast<float>(std::min(most, us / t.us)); };
  const double m = double(p.m), n = double(p.n), of_a = m / (m + n);
  std::array<float, 16> logarithms = {static_cast<float>(t.us),
                                      static_cast<float>(t.mainloop / t.us + 1e-3),
                                      static_cast<float>(1 + t.wave_panel / device.l2_bytes),
                                      static_cast<float>(t.rounds),
                                      static_cast<float>(std::max(t.slices, 1.0)),
                                      static_cast<float>(split.parts),
                                      share_inside(m, c.cta_m),
                                      share_inside(n, c.cta_n),
                                      share_inside(m, c.cta_m, cluster.m),
                                      share_inside(n, c.cta_n, cluster.n),
                                      static_cast<float>(own / slot),
                                      static_cast<float>(double(device.clusters_of(size)) * size / device.sms),
                                      static_cast<float>(t.along_m),
                                      static_cast<float>(t.along_n),
                                      1,
                                      1};
  tuning::ln(&logarithms);
  const auto [ln_us, ln_mainloop, ln_wave, ln_rounds, ln_slices, ln_parts, ln_inside_m, ln_inside_n, ln_cluster_m,
              ln_cluster_n, ln_own, ln_clusters, ln_along_m, ln_along_n, unused_1, unused_2] = logarithms;
  return {ln_us,
          ln_mainloop,
          share(t.epilogue, 2),
          share(t.l2, 2),
          share(t.power, 2),
          share(t.memory, 2),
          share(t.memory_c, 2),
          share(t.in_flight, 3),
          share(t.waves, 4),
          ln_wave,
          ln_rounds,
          static_cast<float>(1 / t.rounds),
          static_cast<float>(t.fill),
          static_cast<float>(t.busy),
          ln_slices,
          ln_parts,
          flag(split.parts > 1),
          share(t.sums, 2),
          ln_inside_m,
          ln_inside_n,
          ln_cluster_m,
          ln_cluster_n,
          ln_of_power(cluster.m),
          ln_of_power(cluster.n),
          ln_of_power(cluster.k),
          flag(cluster.k > 1),
          ln_own,
          flag(size > 1),
          flag(size > 2),
          flag(size > 4),
          ln_clusters,
          flag(c.transposed && p.a_transposed),
          flag(c.transposed && p.b_transposed),
          flag(c.transposed && p.align_a < kLine),
          flag(c.transposed && p.align_b < kLine),
          flag(c.transposed && off_a),
          flag(c.transposed && off_b),
          off_a ? ln_of_power(cluster.n) : 0.0f,
          off_b ? ln_of_power(cluster.m) : 0.0f,
          static_cast<float>(((off_a ? own_a : 0.0) + (off_b ? own_b : 0.0)) / own),
          static_cast<float>(((off_a ? c.cta_m : 0.0) + (off_b ? c.cta_n : 0.0)) / slot),
          c.ping_pong ? static_cast<float>(1 / t.rounds) : 0.0f,
          ln_along_m,
          ln_along_n,
          static_cast<float>(of_a / t.along_n),
          static_cast<float>((1 - of_a) / t.along_m)};
}

std::string fitted_name(const WgmmaTmaConfig& c) {
  WgmmaTmaConfig measured = c;
  if (c.element == DType::f32) measured.element = DType::f16;
  InstanceName name;
  Instances<Family::wgmma_tma>::describe(name, measured);
  if (c.type_c == DType::f32 && c.element != DType::f32) name << "_c32";
  return name.c_str() + 1;
}

int fitted_tile(const WgmmaTmaConfig& c) {
  const std::string name = fitted_name(c);
  const auto* found = std::find(std::begin(kFittedTiles), std::end(kFittedTiles), name);
  return found == std::end(kFittedTiles) ? -1 : static_cast<int>(found - std::begin(kFittedTiles));
}

CostCorrection::CostCorrection(const CostProblem& p, const CostDevice& device)
    : problem_(p), device_(device), hidden_(kHiddenBias) {
  const std::array<float, kProblemFeatures> features = problem_features(p, device);
  tuning::add_weighted(features, kProblemWeights, &hidden_);
  direct_ = kDirectBias + tuning::weighted(features, kProblemDirect);
}

unsigned fitted_clusters(int tile) {
  return tile < 0 ? ~0u : kFittedClusters[tile];
}

double CostCorrection::operator()(const WgmmaTmaConfig& c, int tile, const ClusterShape& cluster,
                                  const CostSplit& split, const CostTerms& terms) const {
  Layer hidden = hidden_;
  const std::array<float, kPlanFeatures> features = plan_features(c, cluster, problem_, device_, split, terms);
  tuning::add_weighted(features, kPlanWeights, &hidden);
  float sum = direct_ + tuning::weighted(features, kPlanDirect);
  if (tile >= 0 && tile < kTiles) {
    for (std::size_t j = 0; j < kHidden; ++j) hidden[j] += kTileHidden[tile][j];
    sum += kTileDirect[tile];
  } else {
    const std::array<float, kTileFeatures> of_tile = tile_features(c);
    tuning::add_weighted(of_tile, kTileWeights, &hidden);
    sum += tuning::weighted(of_tile, kTileFeaturesDirect);
  }
  sum += tuning::weighted_positive(hidden, kOutputWeights);
  return std::clamp(double(std::exp(sum)), kLeast, kMost);
}

}  // namespace xgemm::kernels
