// Element types of kernels: float, and gpu::half, sixteen bits with exact conversions on both targets.
//
// Storage is fp16, arithmetic is fp32: half has no operators on purpose, a kernel says to_float(x) where it leaves
// storage and from_float<T>(x) where it rounds, once, to nearest even (overflow gives Inf, NaN stays NaN, subnormals
// are exact).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/dtype.h"
#include "kernels/common/target.cuh"

namespace xgemm::gpu {

struct half {
  std::uint16_t bits;
};
static_assert(sizeof(half) == 2 && std::is_trivial_v<half>);

namespace detail {
template <DType kType>
struct ElementOf;
template <>
struct ElementOf<DType::f32> {
  using Type = float;
};
template <>
struct ElementOf<DType::f16> {
  using Type = half;
};
}  // namespace detail

// The C++ type of the elements: float or half.
template <DType kType>
using ElementOf = typename detail::ElementOf<kType>::Type;

XGEMM_DEVICE float to_float(float x) {
  return x;
}

XGEMM_DEVICE float to_float(half x) {
#if defined(XGEMM_SIM)
  return sim_half_to_float(x.bits);
#else
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
#endif
}

XGEMM_DEVICE half to_half(float x) {
#if defined(XGEMM_SIM)
  return half{sim_float_to_half(x)};
#else
  half y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
#endif
}

template <class T>
XGEMM_DEVICE T from_float(float x) {
  if constexpr (std::is_same_v<T, half>) {
    return to_half(x);
  } else {
    static_assert(std::is_same_v<T, float>);
    return x;
  }
}

// kWidth neighbouring elements that move in one access; naturally aligned.
template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth) Vector {
  static_assert(sizeof(T) * kWidth <= 16 && (kWidth & (kWidth - 1)) == 0, "an access moves 1, 2, 4, 8 or 16 bytes");
  T data[kWidth];

  XGEMM_DEVICE T& operator[](int i) { return data[i]; }
  XGEMM_DEVICE const T& operator[](int i) const { return data[i]; }
};

}  // namespace xgemm::gpu
