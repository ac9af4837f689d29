// Element types of kernels: float, double, gpu::half (fp16) and gpu::bfloat16 (the upper half of an fp32), sixteen bits
// with exact conversions on both targets.
//
// Sixteen bits are storage, arithmetic is fp32: the types have no operators on purpose, a kernel says to_float(x) where
// it leaves storage and from_float<T>(x) where it rounds, once, to nearest even (overflow gives Inf, NaN stays NaN,
// subnormals are exact).
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
struct bfloat16 {
  std::uint16_t bits;
};
static_assert(sizeof(half) == 2 && std::is_trivial_v<half>);
static_assert(sizeof(bfloat16) == 2 && std::is_trivial_v<bfloat16>);

namespace detail {
template <DType kType>
struct ElementOf;
template <>
struct ElementOf<DType::f32> {
  using Type = float;
};
template <>
struct ElementOf<DType::f64> {
  using Type = double;
};
template <>
struct ElementOf<DType::f16> {
  using Type = half;
};
template <>
struct ElementOf<DType::bf16> {
  using Type = bfloat16;
};
}  // namespace detail

// The C++ type of the elements, and that of their sums.
template <DType kType>
using ElementOf = typename detail::ElementOf<kType>::Type;
template <DType kType>
using SumOf = ElementOf<sums_of(kType)>;

XGEMM_DEVICE float to_float(float x) {
  return x;
}

XGEMM_DEVICE float to_float(half x) {
#if defined(XGEMM_SIM)
  return half_to_float(x.bits);
#else
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
#endif
}

XGEMM_DEVICE half to_half(float x) {
#if defined(XGEMM_SIM)
  return half{x == x ? float_to_half(x) : std::uint16_t{0x7fff}};  // NaN, as the GPU has it
#else
  half y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
#endif
}

XGEMM_DEVICE float to_float(bfloat16 x) {
  return detail::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

// By integers: the conversion instruction came with sm_80, and this runs where there is none.
XGEMM_DEVICE bfloat16 to_bfloat16(float x) {
  const std::uint32_t bits = detail::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return bfloat16{0x7fff};  // NaN, as the GPU's instruction has it
  return bfloat16{static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16)};
}

template <class T>
XGEMM_DEVICE T from_float(float x) {
  if constexpr (std::is_same_v<T, half>) {
    return to_half(x);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return to_bfloat16(x);
  } else {
    static_assert(std::is_same_v<T, float>);
    return x;
  }
}

// The same for any type of elements: a double is its own sum.
template <class T>
XGEMM_DEVICE auto to_sum(std::type_identity_t<T> x) {
  if constexpr (std::is_same_v<T, double>) {
    return x;
  } else {
    return to_float(x);
  }
}
template <class T, class Sum>
XGEMM_DEVICE T from_sum(Sum x) {
  if constexpr (std::is_same_v<T, double>) {
    return x;
  } else {
    return from_float<T>(x);
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
