// Features, and the network.
#include "kernels/ffma_tma/cost_correction.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "kernels/common/cost_math.h"
#include "kernels/ffma_tma/instances.h"
#include "tuning/network.h"

namespace xgemm::kernels {
namespace {

constexpr double kMost = 1.4;

// The fit: names of instances, and the weights of the network.
#include "kernels/ffma_tma/cost_correction_fit.inc"

constexpr int kHidden = sizeof(kHiddenBias) / sizeof(kHiddenBias[0]);

float ln(double x) {
  return tuning::ln(static_cast<float>(x));
}

float flag(bool x) {
  return x ? 1.0f : 0.0f;
}

// How much of the tiles' extent lies inside of the matrix.
float inside(double extent, int tile) {
  const double some = std::max(extent, 1.0);
  return ln(some / (cost::tiles(some, tile) * tile));
}

// An instance's place in the fit; -1 of one that was not measured.
int place_of(int instance) {
  static const auto places = [] {
    std::array<int, std::size(kInfos<Family::ffma_tma>)> all;
    std::ranges::transform(kInfos<Family::ffma_tma>, all.begin(), [](const KernelInfo& kernel) {
      const auto* found = std::ranges::find(kFittedNames, std::string_view(kernel.name));
      return found == std::end(kFittedNames) ? -1 : static_cast<int>(found - std::begin(kFittedNames));
    });
    return all;
  }();
  return places[static_cast<std::size_t>(instance)];
}

}  // namespace

std::array<float, kFfmaTmaFeatures> ffma_tma_features(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p,
                                                      const FfmaTmaEstimate& e) {
  const auto share = [&](double us) { return static_cast<float>(std::min(1.5, us / e.us)); };
  const int parts = e.split.parts;
  return {ln(std::max(p.k, 1.0)),
          ln(std::max(p.batch_count, 1.0)),
          static_cast<float>(p.m / std::max(p.m + p.n, 1.0)),
          flag(by_words(p.load_a)),
          flag(by_words(p.load_b)),
          flag(p.load_a == PanelLoad::turned),
          flag(p.load_b == PanelLoad::turned),
          flag(p.reads_c),
          ln(e.us),
          ln(e.multiply / e.us + 1e-2),
          share(e.slots),
          share(e.words),
          share(e.epilogue),
          share(e.alone),
          share(e.l2),
          share(e.memory),
          share(e.sums),
          ln(std::max(e.units, 1.0)),
          static_cast<float>(1 / std::max(e.units, 1.0)),
          static_cast<float>(e.fill),
          ln(std::max(e.slices * c.cta_k(), 1.0)),
          ln(parts),
          flag(parts > 1),
          flag(parts > 1 && e.split.whole_tiles > 0),
          flag(e.split.in_cluster),
          e.split.in_cluster ? ln(parts) : 0.0f,
          inside(p.m, c.cta_m),
          inside(p.n, c.cta_n),
          p.load_a != PanelLoad::bulk ? ln(c.cta_m / 64.0) : 0.0f,
          p.load_b != PanelLoad::bulk ? ln(c.cta_n / 64.0) : 0.0f};
}

double ffma_tma_correction(int instance, const FfmaTmaCostProblem& p, const FfmaTmaEstimate& estimate) {
  const int place = place_of(instance);
  if (place < 0) return 1;
  auto features = ffma_tma_features(kConfigs<Family::ffma_tma>[static_cast<std::size_t>(instance)], p, estimate);
  // As far as measurements went: beyond, the network knows nothing.
  for (std::size_t i = 0; i < features.size(); ++i) features[i] = std::clamp(features[i], kLeastSeen[i], kMostSeen[i]);
  std::array<float, kHidden> hidden;
  for (std::size_t j = 0; j < kHidden; ++j) hidden[j] = kHiddenBias[j] + kNameHidden[place][j];
  tuning::add_weighted(features, kWeights, &hidden);
  const float sum =
      kNameDirect[place] + tuning::weighted(features, kDirect) + tuning::weighted_positive(hidden, kOutputWeights);
  return std::clamp(double(std::exp(sum)), kFfmaTmaLeastCorrection, kMost);
}

}  // namespace xgemm::kernels
