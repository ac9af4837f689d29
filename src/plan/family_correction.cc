// Features, and the network.
#include "plan/family_correction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "kernels/common/cost_math.h"
#include "tuning/network.h"

namespace xgemm::plan {
namespace {

using kernels::Estimate;
using kernels::Family;
using kernels::KernelInfo;
using kernels::Request;

// The fit: names of what is corrected alike, and the weights of the network.
#include "plan/family_correction_fit.inc"

float ln(double x) {
  return tuning::ln(static_cast<float>(x));
}

float flag(bool x) {
  return x ? 1.0f : 0.0f;
}

// From 0 to 1, by the power of two that all lines start at.
float alignment(const layout::OperandFacts& facts) {
  return static_cast<float>(std::countr_zero(static_cast<unsigned>(std::min(facts.divisibility, 16)))) / 4;
}

// Of an extent that is less than this, how much.
float shortness(std::int64_t extent) {
  constexpr double kShort = 64;
  return std::max(0.0f, ln(kShort / double(std::max<std::int64_t>(extent, 1))));
}

// As far as measurements went: beyond, the network knows nothing.
template <std::size_t kCount>
std::array<float, kCount> within(std::array<float, kCount> features, const float (&least)[kCount],
                                 const float (&most)[kCount]) {
  for (std::size_t i = 0; i < kCount; ++i) features[i] = std::clamp(features[i], least[i], most[i]);
  return features;
}

// Of a family: its instances' places among the names of the fit, -1 of one that was not measured; and the least that
// the logarithm of a factor can be.
struct Places {
  std::vector<int> of_instances;
  double least = 0;
};
const Places& places_of(Family family) {
  static const auto places = [] {
    std::array<Places, static_cast<std::size_t>(Family::count)> of_families;
    for (int i = 0; i < kernels::count(); ++i) {
      const KernelInfo& each = kernels::info(i);
      Places& own = of_families[static_cast<std::size_t>(each.family)];
      const auto* found = std::find(std::begin(kCorrectedNames), std::end(kCorrectedNames), corrected_name(each));
      const bool is_there = found != std::end(kCorrectedNames);
      own.of_instances.push_back(is_there ? static_cast<int>(found - std::begin(kCorrectedNames)) : -1);
      if (is_there) own.least = std::min(own.least, double(kNameLeast[own.of_instances.back()]));
    }
    return of_families;
  }();
  return places[static_cast<std::size_t>(family)];
}

int place_of(const KernelInfo& kernel) {
  return places_of(kernel.family).of_instances[static_cast<std::size_t>(kernel.index)];
}

}  // namespace

std::array<float, kWayFeatures> way_features(const Request& request, const Packing& packing, double packing_us) {
  const Problem& p = request.problem;
  const layout::ProblemFacts& facts = request.facts;
  const std::int64_t k = p.reads_inputs() ? std::max<std::int64_t>(p.k, 1) : 1;
  return {ln(double(std::max<std::int64_t>(p.m, 1))),
          ln(double(std::max<std::int64_t>(p.n, 1))),
          ln(double(k)),
          ln(double(std::max<std::int64_t>(p.batch_count, 1))),
          alignment(facts.a_facts),
          alignment(facts.b_facts),
          alignment(facts.c_facts),
          flag(facts.a.col_stride == 1),
          flag(facts.b.row_stride == 1),
          flag(p.reads_c()),
          flag(size_of(p.c.type) > size_of(p.a.type)),
          flag(size_of(p.a.type) == 2),
          flag(packing.a.used),
          flag(packing.b.used),
          flag(packing.c.used),
          ln(1 + packing_us),
          flag(p.by_pointers()),
          shortness(p.m),
          shortness(p.n),
          shortness(k)};
}

std::array<float, kEstimateFeatures> estimate_features(const KernelInfo& kernel, const Request& request,
                                                       const Estimate& estimate) {
  if (corrected_as_a_whole(kernel)) return {};
  const Problem& p = request.problem;
  const kernels::TileConfig& c = kernel.config;
  const double rows = kernels::cost::tiles(p.m, c.cta_m), columns = kernels::cost::tiles(p.n, c.cta_n);
  const double parts = std::max(estimate.sharing.parts, 1);
  const double units = std::max(1.0, rows * columns * double(p.batch_count) * parts);
  const double rounds = units / request.device.sm_count;
  const auto share = [&](double us) { return static_cast<float>(std::min(1.0, us / estimate.us)); };
  return {ln(std::max(estimate.us, 0.1)),
          ln(units),
          ln(std::ceil(rounds) / rounds),
          ln(parts),
          ln(double(std::max<std::int64_t>(p.m, 1)) / (rows * c.cta_m)),
          ln(double(std::max<std::int64_t>(p.n, 1)) / (columns * c.cta_n)),
          ln(std::max(1.0, double(p.k) / (c.cta_k * parts))),
          share(estimate.memory_us),
          share(estimate.work_us),
          ln(std::max(estimate.waves, 1.0))};
}

bool corrected_as_a_whole(Family family) {
  return family == Family::wgmma_tma || family == Family::ffma_tma || family == Family::fp16x3;
}

std::string corrected_name(const KernelInfo& kernel) {
  if (corrected_as_a_whole(kernel)) return name_of(kernel.family);
  const kernels::TileConfig& c = kernel.config;
  return format("%s %d %dx%dx%d %d", name_of(kernel.family), size_of(c.type), c.cta_m, c.cta_n, c.cta_k, c.vector);
}

FamilyCorrection::FamilyCorrection(const Request& request, const Packing& packing, double packing_us)
    : request_(request),
      corrects_wholes_(packing.any() || request.problem.by_pointers()),
      packing_us_(packing_us),
      known_(request.device.compute_capability == 90 && request.problem.a.type != DType::f64) {
  if (!known_) return;
  const auto features = within(way_features(request, packing, packing_us), kWayLeast, kWayMost);
  std::copy(std::begin(kHiddenBias), std::end(kHiddenBias), hidden_.begin());
  direct_ = kDirectBias;
  tuning::add_weighted(features, kWayWeights, &hidden_);
  direct_ += tuning::weighted(features, kWayDirect);
}

double FamilyCorrection::output(int place, const std::array<float, kEstimateFeatures>& features) const {
  Layer hidden;
  float sum = direct_ + kNameDirect[place];
  for (std::size_t j = 0; j < kHidden; ++j) hidden[j] = hidden_[j] + kNameHidden[place][j];
  const auto bounded = within(features, kEstimateLeast, kEstimateMost);
  tuning::add_weighted(bounded, kEstimateWeights, &hidden);
  sum += tuning::weighted(bounded, kEstimateDirect) + tuning::weighted_positive(hidden, kOutputWeights);
  return std::clamp(sum, kNameLeast[place], kNameMost[place]);
}

double FamilyCorrection::operator()(const KernelInfo& kernel, const Estimate& estimate) const {
  const double us = estimate.us + packing_us_;
  if (!known_ || us >= kFadesToUs || kernel.config.compute != Compute::strict ||
      (corrected_as_a_whole(kernel) && !corrects_wholes_))
    return 1;
  const int place = place_of(kernel);
  if (place < 0) return 1;
  const double fading = us <= kFadesFromUs ? 1 : std::log(kFadesToUs / us) / std::log(kFadesToUs / kFadesFromUs);
  // Bounded before it fades: what is estimated at more is then corrected to more, whatever the weights are.
  static_assert(kMost < kFadesToUs / kFadesFromUs);
  return std::exp(fading * output(place, estimate_features(kernel, request_, estimate)));
}

double FamilyCorrection::most_before(Family family, double us) const {
  if (!known_) return us;
  const Places& own = places_of(family);
  double least = own.least;
  // All its instances have one factor, which is known before any of them is estimated.
  if (corrected_as_a_whole(family))
    least = !corrects_wholes_ || own.of_instances[0] < 0 ? 0.0 : output(own.of_instances[0], {});
  return std::max(us, std::min(us / std::exp(least), kFadesToUs));
}

}  // namespace xgemm::plan
