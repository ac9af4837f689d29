// What the estimates of different families miss beside one another, learnt from measurements: a factor for a plan.
//
// Families estimate their kernels by models of their own. Where several of them serve (small, thin, shallow and
// misaligned products), what counts is how these models stand to each other. A network with one hidden layer looks at
// the product, at how its operands reach the kernel, at the instance and at what its estimate is made of. Families
// whose models are themselves fitted (wgmma_tma, ffma_tma) keep their order: of them it sees the family and the way
// alone, and where operands reach them as they lie, found by strides, they are what the others are measured by. Kernels
// that are not strict are left to their own models. perf/tune/fit_families.py trains it and writes its weights to
// family_correction_fit.inc, with how well they do on shapes that were left out.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string>

#include "kernels/family.h"
#include "plan/packing.h"

namespace xgemm::plan {

// What the network looks at: what is the same for all plans of a way is multiplied by its weights once.
inline constexpr int kWayFeatures = 20, kEstimateFeatures = 10;
std::array<float, kWayFeatures> way_features(const kernels::Request& request, const Packing& packing,
                                             double packing_us);
std::array<float, kEstimateFeatures> estimate_features(const kernels::KernelInfo& kernel,
                                                       const kernels::Request& request,
                                                       const kernels::Estimate& estimate);

// "warp_tiled 2 32x32 1": what instances of one tile and element size, with any flags, have in common; "wgmma_tma"
// of a family that is corrected as a whole.
std::string corrected_name(const kernels::KernelInfo& kernel);
bool corrected_as_a_whole(kernels::Family family);
inline bool corrected_as_a_whole(const kernels::KernelInfo& kernel) {
  return corrected_as_a_whole(kernel.family);
}

class FamilyCorrection {
 public:
  static constexpr double kLeast = 0.33, kMost = 3;
  // Families differ most where products are short: what is estimated at more than the first is
  // corrected less, and beyond the second not at all.
  static constexpr double kFadesFromUs = 15, kFadesToUs = 60;

  FamilyCorrection(const kernels::Request& request, const Packing& packing, double packing_us);

  // us: of the family's plans, what is estimated at more, copies and all, no factor brings below this.
  double most_before(kernels::Family family, double us) const;

  // From kLeast to kMost: by what to multiply the estimate of a plan, copies and all. Of plans of one way in a family
  // that is corrected as a whole, the order stays.
  double operator()(const kernels::KernelInfo& kernel, const kernels::Estimate& estimate) const;

 private:
  static constexpr int kHidden = 24;
  using Layer = std::array<float, kHidden>;

  // The logarithm of the factor, before it fades.
  double output(int place, const std::array<float, kEstimateFeatures>& features) const;

  const kernels::Request& request_;
  bool corrects_wholes_;  // families that are corrected as a whole are, in this way
  double packing_us_;
  bool known_;  // whether the network has seen such a GPU, such types
  Layer hidden_;
  float direct_;
};

}  // namespace xgemm::plan
