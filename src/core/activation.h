// The activations of epilogues: functions of an element, the same on host and device.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/portability.h"

namespace xgemm {

// The values are those of enum xgemm_activation.
enum class Activation : std::uint8_t { none, relu, gelu, gelu_tanh, silu };

// Activations that are x / (1 + e^-y), y = x (linear + cubic x^2). No cancellation: the relative error is that of the
// exponential, down to where it overflows.
template <class Sum>
struct Sigmoid {
  Sum linear, cubic;

  XGEMM_HOST_DEVICE static Sigmoid of(Activation activation) {
    if (activation == Activation::silu) return {Sum{1}, Sum{0}};
    // GELU by tanh: 0.5 x (1 + tanh(y / 2)), y / 2 = sqrt(2 / pi) (x + 0.044715 x^3)
    return {static_cast<Sum>(1.5957691216057307), static_cast<Sum>(0.07135481627260025)};
  }
  // Finite for all but NaN, so that a cubic of 0 is none.
  XGEMM_HOST_DEVICE static Sum square(Sum x) {
    constexpr Sum kMost = std::numeric_limits<Sum>::max();
    return x * x > kMost ? kMost : x * x;
  }
  XGEMM_HOST_DEVICE Sum operator()(Sum x) const {
    const Sum y = x * (linear + cubic * square(x));
    if constexpr (std::is_same_v<Sum, float>) {
      return x / (1.0f + expf(-y));
    } else {
      return x / (1.0 + exp(-y));
    }
  }
};

// A NaN stays one, whatever the function.
template <class Sum>
XGEMM_HOST_DEVICE Sum activated(Activation activation, Sum x) {
  switch (activation) {
    case Activation::none:
      break;
    case Activation::relu:
      return x < Sum{0} ? Sum{0} : x;
    case Activation::gelu: {  // x times the normal distribution function: by erfc, which is exact in the tail
      const Sum y = x * static_cast<Sum>(-0.70710678118654752440);
      if constexpr (std::is_same_v<Sum, float>) {
        return 0.5f * x * erfcf(y);
      } else {
        return 0.5 * x * erfc(y);
      }
    }
    case Activation::gelu_tanh:
    case Activation::silu:
      return Sigmoid<Sum>::of(activation)(x);
  }
  return x;
}

}  // namespace xgemm
