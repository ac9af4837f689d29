// What the cost model of wgmma_tma misses, learnt from measurements: a factor for each plan of a problem.
//
// A network with one hidden layer looks at what the estimate is made of (which share is mainloop, epilogue, memory; how
// full the rounds are; how much of the tiles lies outside of C), at the tile and at the problem, and says by which
// factor the plan takes longer than the model thinks, relative to other plans of the problem. perf/tune/fit.py trains
// it for the choice, not for the time: what counts is how much slower the chosen plan is than the best measured one.
// Its weights, and the constants of the model, are in cost_fit.inc, which fit.py writes with how well they do on shapes
// that were left out.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string>

#include "kernels/wgmma_tma/cost.h"

namespace xgemm::kernels {

// What the network looks at, in three parts: what is the same for all plans of a problem or all uses of a tile is
// multiplied by its weights once.
inline constexpr int kProblemFeatures = 12, kTileFeatures = 7, kPlanFeatures = 46;
std::array<float, kProblemFeatures> problem_features(const CostProblem& p, const CostDevice& device);
std::array<float, kTileFeatures> tile_features(const WgmmaTmaConfig& c);
std::array<float, kPlanFeatures> plan_features(const WgmmaTmaConfig& c, const ClusterShape& cluster,
                                               const CostProblem& p, const CostDevice& device, const CostSplit& split,
                                               const CostTerms& terms);

// "128x256x64_s4": the name of an instance without its types and flags; "128x256x64_s4_c32" of operands of 16 bits with
// C in fp32, which is fitted by itself. A tile of TF32 is used as the same tile of elements half as large.
std::string fitted_name(const WgmmaTmaConfig& c);

// The tile's column in the fitted table; -1 for a tile that was not measured. By name: not for the path of a call.
int fitted_tile(const WgmmaTmaConfig& c);

// Of a fitted tile (-1: of any), the shapes of clusters that are ever worth weighing: bit i is kClusterShapes[i].
unsigned fitted_clusters(int tile);

class CostCorrection {
 public:
  static constexpr double kLeast = 0.8, kMost = 2.5;

  CostCorrection(const CostProblem& p, const CostDevice& device);

  // From kLeast to kMost: by what to multiply the estimate of a plan.
  double operator()(const WgmmaTmaConfig& c, int tile, const ClusterShape& cluster, const CostSplit& split,
                    const CostTerms& terms) const;

 private:
  static constexpr int kHidden = 48;
  using Layer = std::array<float, kHidden>;

  const CostProblem& problem_;
  const CostDevice& device_;
  Layer hidden_;  // from the problem's features
  float direct_;
};

}  // namespace xgemm::kernels
