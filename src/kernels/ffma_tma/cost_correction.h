// What the cost model of ffma_tma misses, learnt from measurements: a factor for each plan of a problem.
//
// A network with one hidden layer looks at what the estimate is made of, at how the operands come, at how K is shared
// out and at the instance. perf/tune/fit_fp32.py trains it for the choice between plans, as fit.py does for wgmma_tma
// (kernels/wgmma_tma/cost_correction.h), and writes its weights to cost_correction_fit.inc, with how well they do on
// shapes that were left out.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "kernels/ffma_tma/cost.h"

namespace xgemm::kernels {

inline constexpr int kFfmaTmaFeatures = 30;
std::array<float, kFfmaTmaFeatures> ffma_tma_features(const FfmaTmaConfig& c, const FfmaTmaCostProblem& p,
                                                      const FfmaTmaEstimate& estimate);

// By what to multiply the estimate of a plan with an instance, by its number: from kFfmaTmaLeastCorrection to 1.4.
inline constexpr double kFfmaTmaLeastCorrection = 0.75;
double ffma_tma_correction(int instance, const FfmaTmaCostProblem& p, const FfmaTmaEstimate& estimate);

}  // namespace xgemm::kernels
