// The cost model of wgmma_tma as a library for fit.py, so that it exists once.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <string>

#include "kernels/wgmma_tma/cost_correction.h"
#include "kernels/wgmma_tma/instances.h"

using namespace xgemm::kernels;

namespace {

constexpr int kFeatures = kProblemFeatures + kTileFeatures + kPlanFeatures;
constexpr int kConstants = sizeof(CostConstants) / sizeof(double);

}  // namespace

extern "C" {

int xgemm_cost_features(int* of_problem, int* of_tile, int* of_plan) {
  *of_problem = kProblemFeatures;
  *of_tile = kTileFeatures;
  *of_plan = kPlanFeatures;
  return kConstants;
}

// The names of the tiles that there are fp16 instances of, with spaces between.
const char* xgemm_cost_tiles() {
  static const std::string names = [] {
    std::string all;
    for (const WgmmaTmaConfig& config : kConfigs<Family::wgmma_tma>) {
      if (config.type_c != xgemm::DType::f16) continue;
      const std::string name = tile_name(config) + " ";
      if ((" " + all).find(" " + name) == std::string::npos) all += name;
    }
    return all;
  }();
  return names.c_str();
}

// rows: 20 numbers each, in the order of the reader below. device: sms, clusters of 1, 2, 4 and 8, bytes of L2; rates:
// 4 numbers. features may be null.
void xgemm_cost(const double* constants, const double* device_numbers, const double* rates, std::ptrdiff_t count,
                const double* rows, double* us, float* features) {
  CostConstants x;
  std::copy_n(constants, kConstants, reinterpret_cast<double*>(&x));
  CostDevice device;
  device.rates = {rates[0], rates[1], rates[2], rates[3]};
  device.sms = static_cast<int>(device_numbers[0]);
  for (int i = 0; i < 4; ++i) device.clusters[i] = static_cast<int>(device_numbers[1 + i]);
  device.l2_bytes = device_numbers[5];
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const double* r = rows + 20 * i;
    const auto number = [&] { return static_cast<int>(*r++); };
    WgmmaTmaConfig c;
    c.cta_m = number();
    c.cta_n = number();
    c.stages = number();
    c.transposed = number() != 0;
    c.groups_rows = number();
    c.ping_pong = number() != 0;
    c.cluster_m = number();
    c.cluster_n = number();
    c.cluster_k = number();
    CostProblem p;
    p.m = number();
    p.n = number();
    p.k = number();
    p.batch_count = number();
    p.a_transposed = number() != 0;
    p.b_transposed = number() != 0;
    p.reads_c = number() != 0;
    p.lines_a = number() != 0;
    p.lines_b = number() != 0;
    CostSplit split;
    split.whole_tiles = *r++;
    split.parts = number();
    const CostTerms terms = TileCost(c, p, device, x)(split);
    us[i] = terms.us;
    if (features == nullptr) continue;
    float* out = features + kFeatures * i;
    out = std::ranges::copy(problem_features(p, device), out).out;
    out = std::ranges::copy(tile_features(c), out).out;
    std::ranges::copy(plan_features(c, p, device, split, terms), out);
  }
}
}
