// fp16 conversions for tests, by arithmetic on double instead of on bits, so that they share nothing with the library's
// own.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace xgemm::test {

// The bits of an IEEE 754 binary16 number, as xgemm_half in xgemm.h.
using Half = std::uint16_t;

inline constexpr double kHalfMax = 65504.0;
inline constexpr Half kHalfQuietNan = 0x7e00;
inline constexpr Half kHalfInfinity = 0x7c00;

// Exact.
inline double half_to_double(Half bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude;
  if (exponent == 0x1f) {
    magnitude = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else {
    magnitude = std::ldexp(fraction + 1024, exponent - 25);
  }
  return bits & 0x8000 ? -magnitude : magnitude;
}

// Rounded to nearest, ties to even, once. Every NaN becomes the quiet NaN.
inline Half double_to_half(double value) {
  const Half sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return kHalfQuietNan;
  if (std::isinf(value)) return sign | kHalfInfinity;
  if (magnitude == 0) return sign;
  // The distance of two neighbouring halves at this magnitude: 2^-24 for subnormal numbers.
  const int exponent = std::max(std::ilogb(magnitude), -14) - 10;
  const double scaled = std::ldexp(magnitude, -exponent);  // exact, unless it is far below a half's smallest number
  double steps = std::floor(scaled);
  const double rest = scaled - steps;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(steps, 2.0) == 1.0)) steps += 1;
  const double rounded = std::ldexp(steps, exponent);
  if (rounded > kHalfMax) return sign | kHalfInfinity;
  if (rounded < std::ldexp(1.0, -14)) return sign | static_cast<Half>(std::ldexp(rounded, 24));
  const int e = std::ilogb(rounded);
  return sign | static_cast<Half>((e + 15) << 10 | (static_cast<int>(std::ldexp(rounded, 10 - e)) - 1024));
}

inline bool is_nan(Half bits) {
  return (bits & 0x7fff) > kHalfInfinity;
}

// One name for both element types, by which templates read and write elements.
inline double to_double(float value) {
  return value;
}
inline double to_double(Half value) {
  return half_to_double(value);
}

template <class T>
T from_double(double value);
template <>
inline float from_double<float>(double value) {
  return static_cast<float>(value);
}
template <>
inline Half from_double<Half>(double value) {
  return double_to_half(value);
}

}  // namespace xgemm::test
