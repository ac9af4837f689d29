// The nearest measured problems and their ratios.
#include "tuning/wgmma_tma_measured.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace xgemm::tuning {
namespace {

constexpr std::string_view kTiles[] = {
#define XGEMM_MEASURED_TILE(name) name,
#define XGEMM_MEASURED_MEAN(...)
#define XGEMM_MEASURED_PROBLEM(...)
#include "tuning/wgmma_tma_measured.inc"
#undef XGEMM_MEASURED_TILE
#undef XGEMM_MEASURED_MEAN
#undef XGEMM_MEASURED_PROBLEM
};
constexpr int kTileCount = sizeof(kTiles) / sizeof(kTiles[0]);
constexpr int kColumns = 2 * kTileCount;  // whole and split
constexpr std::int8_t kUnmeasured = -128;

struct MeasuredProblem {
  double m, n, k, batch;
  bool a_transposed, b_transposed;
  bool lines;  // rows of A and B start on 128-byte lines
  bool reads_c;
  std::int8_t ratios[kColumns];  // 100 times the logarithm
};

constexpr std::int8_t kMean[kColumns] = {
#define XGEMM_MEASURED_TILE(name)
#define XGEMM_MEASURED_MEAN(...) __VA_ARGS__
#define XGEMM_MEASURED_PROBLEM(...)
#include "tuning/wgmma_tma_measured.inc"
#undef XGEMM_MEASURED_TILE
#undef XGEMM_MEASURED_MEAN
#undef XGEMM_MEASURED_PROBLEM
};

constexpr MeasuredProblem kProblems[] = {
#define XGEMM_MEASURED_TILE(name)
#define XGEMM_MEASURED_MEAN(...)
#define XGEMM_MEASURED_PROBLEM(m, n, k, batch, ta, tb, aligned, beta, ...) \
  {m, n, k, batch, ta != 0, tb != 0, aligned != 0, beta != 0, {__VA_ARGS__}},
#include "tuning/wgmma_tma_measured.inc"
#undef XGEMM_MEASURED_TILE
#undef XGEMM_MEASURED_MEAN
#undef XGEMM_MEASURED_PROBLEM
};
constexpr int kProblemCount = sizeof(kProblems) / sizeof(kProblems[0]);

// The constants of perf/tune/fit.py, which judges them. Distances are in octaves.
constexpr int kNeighbours = 16;
constexpr double kReach = 2.0, kNear = 0.003;  // a problem that was measured itself has most of the weight
constexpr double kMeanWeight = 1;
constexpr double kFlagsDistance = 0.15;
constexpr double kAlignmentDistance = 1.0;
constexpr double kBetaDistance = 0.1;

struct Place {
  double m, n, k, batch;
};

Place place_of(double m, double n, double k, double batch) {
  return {std::log2(m), std::log2(n), std::log2(std::max(k, 1.0)), std::log2(batch)};
}

struct Neighbour {
  double distance = std::numeric_limits<double>::infinity();
  int problem = 0;
};

std::array<Neighbour, kNeighbours> nearest(const MeasuredShape& p) {
  static const auto places = [] {
    std::array<Place, kProblemCount> all{};
    for (int i = 0; i < kProblemCount; ++i)
      all[i] = place_of(kProblems[i].m, kProblems[i].n, kProblems[i].k, kProblems[i].batch);
    return all;
  }();
  const Place here = place_of(double(p.m), double(p.n), double(p.k), double(p.batch_count));
  std::array<Neighbour, kNeighbours> best{};
  for (int i = 0; i < kProblemCount; ++i) {
    const MeasuredProblem& other = kProblems[i];
    const double distance =
        std::abs(places[i].m - here.m) + std::abs(places[i].n - here.n) + std::abs(places[i].k - here.k) +
        std::abs(places[i].batch - here.batch) +
        (other.a_transposed != p.a_transposed || other.b_transposed != p.b_transposed ? kFlagsDistance : 0) +
        (other.lines != p.lines ? kAlignmentDistance : 0) + (other.reads_c != p.reads_c ? kBetaDistance : 0);
    if (distance >= best.back().distance) continue;
    int at = kNeighbours - 1;
    for (; at > 0 && best[at - 1].distance > distance; --at) best[at] = best[at - 1];
    best[at] = {distance, i};
  }
  return best;
}

}  // namespace

WgmmaTmaCorrections::WgmmaTmaCorrections(const MeasuredShape& shape) {
  static_assert(kTileCount <= kMaxTiles);
  std::array<double, kColumns> sums;
  std::array<double, kColumns> weights;
  for (int i = 0; i < kColumns; ++i) {
    sums[i] = kMeanWeight * kMean[i];
    weights[i] = kMeanWeight;
  }
  for (const Neighbour& neighbour : nearest(shape)) {
    const double weight = std::exp(-neighbour.distance / kReach) / (neighbour.distance + kNear);
    const std::int8_t* ratios = kProblems[neighbour.problem].ratios;
    for (int i = 0; i < kColumns; ++i) {
      if (ratios[i] == kUnmeasured) continue;
      sums[i] += weight * ratios[i];
      weights[i] += weight;
    }
  }
  for (int i = 0; i < kColumns; ++i) factors_[i] = std::exp(0.01 * sums[i] / weights[i]);
}

int WgmmaTmaCorrections::tile_index(std::string_view instance) {
  // wgmma_tma_f16_128x256x64_c21_s4_nn: between the types and the flags
  constexpr std::string_view kFamily = "wgmma_tma_";
  const std::size_t types_end = instance.find('_', kFamily.size());
  if (!instance.starts_with(kFamily) || types_end == std::string_view::npos || instance.size() < types_end + 5)
    return -1;
  const std::string_view tile = instance.substr(types_end + 1, instance.size() - types_end - 4);
  const auto* found = std::find(std::begin(kTiles), std::end(kTiles), tile);
  return found == std::end(kTiles) ? -1 : static_cast<int>(found - std::begin(kTiles));
}

}  // namespace xgemm::tuning
