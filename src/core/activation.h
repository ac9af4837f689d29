// The activations of epilogues, the same on host and device.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <type_traits>

#include "core/portability.h"
#include "core/problem.h"

namespace xgemm {

// x / (1 + e^-y). No cancellation: the relative error is that of the exponential, down to where it overflows.
template <class Sum>
XGEMM_HOST_DEVICE Sum times_sigmoid(Sum x, Sum y) {
  if constexpr (std::is_same_v<Sum, float>) {
    return x / (1.0f + expf(-y));
  } else {
    return x / (1.0 + exp(-y));
  }
}

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
    case Activation::gelu_tanh:  // 0.5 x (1 + tanh y) = x / (1 + e^-2y), y = sqrt(2 / pi) (x + 0.044715 x^3)
      return times_sigmoid(
          x, x * (static_cast<Sum>(1.5957691216057307) + static_cast<Sum>(0.07135481627260025) * (x * x)));
    case Activation::silu:
      return times_sigmoid(x, x);
  }
  return x;
}

}  // namespace xgemm
