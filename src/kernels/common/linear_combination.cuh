// The epilogue of the sm_90 kernels: from fp32 sums to what C gets before it is rounded.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/target.cuh"

namespace xgemm::kernels {

// Called instead of `combine` of common/epilogue.cuh with the same arithmetic, but leaves rounding to the packing of
// pairs. Other epilogues (bias, activation) replace this policy.
struct LinearCombination {
  float alpha;
  float beta;
  bool has_product;

  // Params: the scalars of a launch.
  template <class Params>
  XGEMM_DEVICE static LinearCombination make(const Params& p) {
    const float alpha = p.alpha_device != nullptr ? gpu::read_constant(p.alpha_device) : p.alpha;
    const float beta = p.beta_device != nullptr ? gpu::read_constant(p.beta_device) : p.beta;
    return {alpha, beta, alpha != 0.0f && p.k > 0};
  }
  XGEMM_DEVICE bool reads_c() const { return beta != 0.0f; }
  XGEMM_DEVICE float without_c(float acc) const { return has_product ? gpu::multiply(alpha, acc) : 0.0f; }
  XGEMM_DEVICE float with_c(float acc, float c) const {
    const float scaled = gpu::multiply(beta, c);
    return has_product ? gpu::fma(alpha, acc, scaled) : scaled;
  }
};

}  // namespace xgemm::kernels
