// From fp32 sums to C: out = alpha * acc + beta * c, rounded to the element type once.
//
// The letter of the reference BLAS:
//   beta = 0            C is never read, so a NaN in it does not spread;
//   alpha = 0 or k = 0  A and B are never read, C becomes beta * C (signed zeros as the product gives them);
//   otherwise           fma(alpha, acc, beta * c): the product beta * c is rounded, then one fused multiply-add. The
//   same
//                       expression in every kernel and on both targets, so that kernels differ in summation order
//                       alone.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/dtype.cuh"
#include "kernels/common/matrix_view.cuh"
#include "kernels/common/params.h"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

template <class T>
struct Epilogue {
  float alpha;
  float beta;
  bool has_product;  // false: alpha or k is 0

  // Scalars on the device are read here, by every thread.
  XGEMM_DEVICE static Epilogue make(const GemmParams& p, Loc loc = Loc::current()) {
    const float alpha = p.alpha_device != nullptr ? gpu::read_constant(p.alpha_device, loc) : p.alpha;
    const float beta = p.beta_device != nullptr ? gpu::read_constant(p.beta_device, loc) : p.beta;
    return {alpha, beta, alpha != 0.0f && p.k > 0};
  }

  // How far the mainloop has to run: k, or 0 when A and B must not be read.
  XGEMM_DEVICE std::int64_t effective_k(const GemmParams& p) const { return has_product ? p.k : 0; }

  XGEMM_DEVICE bool reads_c() const { return beta != 0.0f; }

  // `c` is the old element, and anything where reads_c() is false.
  XGEMM_DEVICE T combine(float acc, T c) const {
    if (!reads_c()) return gpu::from_float<T>(has_product ? gpu::multiply(alpha, acc) : 0.0f);
    const float scaled = gpu::multiply(beta, gpu::to_float(c));
    return gpu::from_float<T>(has_product ? gpu::fma(alpha, acc, scaled) : scaled);
  }

  // Writes one element of a view of C; outside the view it does nothing.
  template <class View, class I, class J>
  XGEMM_DEVICE void store(const View& c, I i, J j, float acc, Loc loc = Loc::current()) const {
    if (c.contains(i, j)) {
      const T old = reads_c() ? c.get(i, j, loc) : T{};
      c(i, j, loc) = combine(acc, old);
    } else {
      if (reads_c()) gpu::skip_load<View::kSpace>(loc);
      gpu::skip_store<View::kSpace>(loc);
    }
  }

  // kWidth elements down a column of C, as one access where they all lie inside. (i, j) is aligned for the vector.
  template <int kWidth, class View>
  XGEMM_DEVICE void store(const View& c, int i, int j, const float (&acc)[kWidth], Loc loc = Loc::current()) const {
    gpu::Vector<T, kWidth> value{};
    if (reads_c()) value = c.template load_or_zero<kWidth>(i, j, loc);
    XGEMM_UNROLL
    for (int e = 0; e < kWidth; ++e) value[e] = combine(acc[e], value[e]);
    c.template store_inside<kWidth>(i, j, value, loc);
  }
};

}  // namespace xgemm::kernels
