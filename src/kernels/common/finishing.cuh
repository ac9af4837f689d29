// What becomes of results before they are rounded: the same in every kernel that finishes any, so that results agree to
// the bit where sums do.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/activation.h"
#include "kernels/common/dtype.cuh"
#include "kernels/common/params.h"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

// A Sigmoid for results of 16 bits: in instructions whose errors are far below half a unit in the last place.
struct ShortSigmoid {
  float linear, cubic;  // e^-y is 2^(x (linear + cubic x^2))

  XGEMM_DEVICE static ShortSigmoid of(Activation activation) {
    constexpr float kPerE = -1.4426950408889634f;
    const auto y = Sigmoid<float>::of(activation);
    return {kPerE * y.linear, kPerE * y.cubic};
  }
  XGEMM_DEVICE float operator()(float x) const {
    const float y = x * gpu::fma(cubic, Sigmoid<float>::square(x), linear);
    return x * gpu::reciprocal_approximately(1.0f + gpu::exp2_approximately(y));
  }
};

// Calls f with the activation as a function of a result, if there is one: it is looked up once for many results. Here
// of results of 16 bits, and all activations but erf's GELU.
template <class F>
XGEMM_DEVICE void with_short_activation(Activation activation, const F& f) {
  if (activation == Activation::none) return;
  if (activation == Activation::relu) {
    f([](float x) { return gpu::larger(x, 0.0f); });
  } else {
    f(ShortSigmoid::of(activation));
  }
}

// Element: of C.
template <class Element, class Sum, class F>
XGEMM_DEVICE void with_activation(Activation activation, const F& f) {
  if (activation == Activation::gelu) {
    f([](Sum x) { return activated(Activation::gelu, x); });
  } else if constexpr (sizeof(Element) == 2) {
    with_short_activation(activation, f);
  } else if (activation == Activation::relu) {
    f([](Sum x) { return activated(Activation::relu, x); });
  } else if (activation != Activation::none) {
    f(Sigmoid<Sum>::of(activation));
  }
}

// What becomes of a sum, whose factor is alpha, for element (i, j) of C, of 16 bits.
template <class Element>
XGEMM_DEVICE float finished(const Finishing& f, float alpha, float sum, int i, int j, Loc loc = Loc::current()) {
  float bias = 0;
  if (f.bias != nullptr)
    bias = gpu::to_float(
        gpu::read<gpu::Space::global>(static_cast<const Element*>(f.bias) + (f.bias_of_rows ? i : j), loc));
  float x = gpu::fma(alpha, sum, bias);
  with_short_activation(f.activation, [&](const auto& function) { x = function(x); });
  return x;
}

}  // namespace xgemm::kernels
