// fp16 (IEEE 754 binary16) and bf16 (the upper half of a float) as bits, to and from float. The one place where these
// are computed by integers: xgemm.hpp, the library, its simulator of GPUs and its benchmark share it.
//
// To float is exact; from it rounds to nearest, ties to even, with subnormal numbers, infinities and NaNs (made quiet,
// payload cut) as the conversion instructions of x86 and ARM do. No step depends on the rounding mode, or on whether
// the processor flushes subnormal floats to zero.
//
// C++17, needs nothing else. SPDX-License-Identifier: BSD-3-Clause
#ifndef XGEMM_FLOAT16_HPP
#define XGEMM_FLOAT16_HPP

#include <cstdint>
#include <cstring>

namespace xgemm {
namespace detail {

inline std::uint32_t bits_of_float(float value) noexcept {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float float_of_bits(std::uint32_t bits) noexcept {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace detail

inline float half_to_float(std::uint16_t half) noexcept {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  std::uint32_t bits;
  if (magnitude >= 0x7c00u) {  // infinity or NaN
    bits = 0x7f800000u | (magnitude | (magnitude > 0x7c00u ? 0x0200u : 0u)) << 13;
  } else if (magnitude >= 0x0400u) {  // normal: the exponent's bias is 127 instead of 15
    bits = (magnitude << 13) + (112u << 23);
  } else {  // a multiple of 2^-24, which is a normal float
    bits = detail::bits_of_float(static_cast<float>(magnitude) * 0x1p-24f);
  }
  return detail::float_of_bits(sign | bits);
}

inline std::uint16_t float_to_half(float value) noexcept {
  const std::uint32_t bits = detail::bits_of_float(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half;
  if (magnitude > 0x7f800000u) {  // NaN
    half = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520 and above: half an ulp past the largest half
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // 2^-14 and above: normal
    half = (magnitude - (112u << 23) + 0x0fffu + (magnitude >> 13 & 1u)) >> 13;
  } else if (magnitude >= 0x33000000u) {  // 2^-25 and above: the fraction in units of 2^-24
    const std::uint32_t shift = 126 - (magnitude >> 23);
    const std::uint32_t fraction = (magnitude & 0x007fffffu) | 0x00800000u;
    half = (fraction + (1u << (shift - 1)) - 1 + (fraction >> shift & 1u)) >> shift;
  } else {
    half = 0;
  }
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | half);
}

inline float bfloat16_to_float(std::uint16_t bfloat16) noexcept {
  return detail::float_of_bits(static_cast<std::uint32_t>(bfloat16) << 16);
}

inline std::uint16_t float_to_bfloat16(float value) noexcept {
  const std::uint32_t bits = detail::bits_of_float(value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  // What rounds up past the largest number carries into infinity by itself.
  return static_cast<std::uint16_t>(is_nan ? bits >> 16 | 0x0040u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace xgemm

#endif
