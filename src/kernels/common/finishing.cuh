// What becomes of results before they are rounded: the same in every kernel that finishes any, so that results agree to
// the bit where sums do.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

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

// GELU by the normal distribution function, likewise. Below 0 that is e^(-x^2 / 2) times a function that falls slowly,
// here a polynomial of 1 / (1 + 0.368 |x|) with a relative error of 1.3e-6; so no tail is lost to cancellation.
struct ShortNormal {
  XGEMM_DEVICE float operator()(float x) const {
    constexpr float kHalfPerE = -0.72134752044448170f;  // e^(-x^2 / 2) is 2^(x^2 kHalfPerE)
    const float u = gpu::reciprocal_approximately(gpu::fma(0.368f, fabsf(x), 1.0f));
    float slow = gpu::fma(0.0480704307f, u, -0.172397148f);
    slow = gpu::fma(slow, u, 0.1533083f);
    slow = gpu::fma(slow, u, 0.0419276378f);
    slow = gpu::fma(slow, u, 0.136450707f);
    slow = gpu::fma(slow, u, 0.145785995f);
    slow = gpu::fma(slow, u, 0.146854321f);
    const float tail = gpu::multiply(slow * u, gpu::exp2_approximately(kHalfPerE * x * x));
    return x * (x < 0 ? tail : 1.0f - tail);
  }
};

// A Sigmoid<float> without the call that a division has for what is not normal: to it, a kernel would lend registers
// everywhere. Its quotient is within one unit in the last place.
struct LongSigmoid {
  Sigmoid<float> exact;

  XGEMM_DEVICE float operator()(float x) const {
    const float d = 1.0f + expf(-x * gpu::fma(exact.cubic, Sigmoid<float>::square(x), exact.linear));
    const float scale = d > 0x1p64f ? 0x1p-64f : 1.0f;  // reciprocals stay normal
    const float scaled = gpu::multiply(d, scale), r = gpu::reciprocal_approximately(scaled);
    const float q = gpu::multiply(x, r), rest = gpu::fma(-scaled, q, x);
    // What is infinite has no rest, and zeros keep their sign.
    const bool corrected = fabsf(rest) > 0.0f && fabsf(rest) < std::numeric_limits<float>::infinity();
    return gpu::multiply(corrected ? gpu::fma(rest, r, q) : q, scale);
  }
};

// Calls f with the activation as a function of a result, if there is one: it is looked up once for many results. Here
// of results of 16 bits.
template <class F>
XGEMM_DEVICE void with_short_activation(Activation activation, const F& f) {
  if (activation == Activation::none) return;
  if (activation == Activation::relu) {
    f([](float x) { return gpu::larger(x, 0.0f); });
  } else if (activation == Activation::gelu) {
    f(ShortNormal{});
  } else {
    f(ShortSigmoid::of(activation));
  }
}

// Element: of C.
template <class Element, class Sum, class F>
XGEMM_DEVICE void with_activation(Activation activation, const F& f) {
  if constexpr (sizeof(Element) == 2) {
    with_short_activation(activation, f);
  } else if (activation == Activation::gelu) {
    f([](Sum x) { return activated(Activation::gelu, x); });
  } else if (activation == Activation::relu) {
    f([](Sum x) { return activated(Activation::relu, x); });
  } else if (activation != Activation::none) {
    if constexpr (sizeof(Sum) == 4) {
      f(LongSigmoid{Sigmoid<float>::of(activation)});
    } else {
      f(Sigmoid<Sum>::of(activation));
    }
  }
}

// The bias of element (i, j) of C.
template <class Element>
XGEMM_DEVICE float bias_of(const Finishing& f, int i, int j, Loc loc = Loc::current()) {
  return gpu::to_float(
      gpu::read<gpu::Space::global>(static_cast<const Element*>(f.bias) + (f.bias_of_rows ? i : j), loc));
}

// A result for element (i, j) of C, times the scales of its row and its column.
XGEMM_DEVICE float scaled(const Finishing& f, float x, int i, int j, Loc loc = Loc::current()) {
  if (f.row_scales != nullptr) x = gpu::multiply(x, gpu::read<gpu::Space::global>(f.row_scales + i, loc));
  if (f.column_scales != nullptr) x = gpu::multiply(x, gpu::read<gpu::Space::global>(f.column_scales + j, loc));
  return x;
}

}  // namespace xgemm::kernels
