// The element types in tests: float, double, Half (fp16) and Bfloat16, with conversions by arithmetic on double instead
// of on bits, so that they share nothing with the library's own.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace xgemm::test {

// The bits of an IEEE 754 binary16 number, as xgemm_half in xgemm.h.
using Half = std::uint16_t;

// The bits of a bfloat16 number, as xgemm_bfloat16 in xgemm.h; a type of its own, for overloads and templates.
struct Bfloat16 {
  std::uint16_t bits;

  friend bool operator==(Bfloat16 a, Bfloat16 b) { return a.bits == b.bits; }
};
static_assert(sizeof(Bfloat16) == 2);

// An fp32 that TF32 holds as well, with its 11 significant bits.
struct Tf32 {
  float value;
};

// What tests ask of a type: its name; the bits of a significand, hidden one included; the largest number, and the
// exponents of the least normal and the least subnormal one.
template <class T>
struct ElementTraits;
template <>
struct ElementTraits<float> {
  static constexpr const char* kName = "f32";
  static constexpr int kPrecision = 24, kMinExponent = -126;
  static constexpr double kMax = std::numeric_limits<float>::max();
};
template <>
struct ElementTraits<double> {
  static constexpr const char* kName = "f64";
  static constexpr int kPrecision = 53, kMinExponent = -1022;
  static constexpr double kMax = std::numeric_limits<double>::max();
};
template <>
struct ElementTraits<Half> {
  static constexpr const char* kName = "f16";
  static constexpr int kPrecision = 11, kMinExponent = -14;
  static constexpr double kMax = 65504.0;
};
template <>
struct ElementTraits<Bfloat16> {
  static constexpr const char* kName = "bf16";
  static constexpr int kPrecision = 8, kMinExponent = -126;
  static constexpr double kMax = 0x1.fep127;
};

template <>
struct ElementTraits<Tf32> {
  static constexpr const char* kName = "tf32";
  static constexpr int kPrecision = 11, kMinExponent = -126;
  static constexpr double kMax = 0x1.ffcp127;
};

// What tests compute in: wide enough to judge sums of doubles, and of the others.
template <class T>
using WideOf = std::conditional_t<std::is_same_v<T, double>, long double, double>;

// What alpha and beta are.
template <class T>
using ScalarOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

// The unit roundoff of the sums of products of a type.
template <class T>
inline constexpr double kSumRoundoff = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;

// Half an ulp at x: what one rounding to T may cost.
template <class T>
double half_ulp(double x) {
  using Traits = ElementTraits<T>;
  return std::max(std::ldexp(std::fabs(x), -Traits::kPrecision),
                  std::ldexp(1.0, Traits::kMinExponent - Traits::kPrecision));
}

namespace detail {

// Sixteen bits: sign, exponent, and kFraction bits of fraction.
template <int kFraction>
struct Format {
  static constexpr int kExponents = 1 << (15 - kFraction);  // so many values of the exponent
  static constexpr int kBias = kExponents / 2 - 1;
  static constexpr std::uint16_t kInfinity = static_cast<std::uint16_t>((kExponents - 1) << kFraction);
  static constexpr std::uint16_t kQuietNan = kInfinity | 1 << (kFraction - 1);

  // Exact.
  static double widen(std::uint16_t bits) {
    const int exponent = bits >> kFraction & (kExponents - 1);
    const int fraction = bits & ((1 << kFraction) - 1);
    double magnitude;
    if (exponent == kExponents - 1) {
      magnitude = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    } else if (exponent == 0) {
      magnitude = std::ldexp(fraction, 1 - kBias - kFraction);
    } else {
      magnitude = std::ldexp(fraction + (1 << kFraction), exponent - kBias - kFraction);
    }
    return bits & 0x8000 ? -magnitude : magnitude;
  }

  // Rounded to nearest, ties to even, once. Every NaN becomes the quiet NaN.
  static std::uint16_t round(double value) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(value);
    if (std::isnan(value)) return kQuietNan;
    if (std::isinf(value)) return sign | kInfinity;
    if (magnitude == 0) return sign;
    // The distance of two neighbours at this magnitude; subnormal numbers have the least one.
    const int exponent = std::max(std::ilogb(magnitude), 1 - kBias) - kFraction;
    const double scaled = std::ldexp(magnitude, -exponent);  // exact, unless it is far below the smallest number
    double steps = std::floor(scaled);
    const double rest = scaled - steps;
    if (rest > 0.5 || (rest == 0.5 && std::fmod(steps, 2.0) == 1.0)) steps += 1;
    const double rounded = std::ldexp(steps, exponent);
    if (rounded >= std::ldexp(1.0, kBias + 1)) return sign | kInfinity;
    if (rounded < std::ldexp(1.0, 1 - kBias))
      return sign | static_cast<std::uint16_t>(std::ldexp(rounded, kBias - 1 + kFraction));
    const int e = std::ilogb(rounded);
    return sign | static_cast<std::uint16_t>((e + kBias) << kFraction |
                                             (static_cast<int>(std::ldexp(rounded, kFraction - e)) - (1 << kFraction)));
  }

  static bool is_nan(std::uint16_t bits) { return (bits & 0x7fff) > kInfinity; }
};

using HalfFormat = Format<10>;
using Bfloat16Format = Format<7>;

}  // namespace detail

inline constexpr Half kHalfQuietNan = detail::HalfFormat::kQuietNan;
inline constexpr Half kHalfInfinity = detail::HalfFormat::kInfinity;
inline constexpr Bfloat16 kBfloat16QuietNan{detail::Bfloat16Format::kQuietNan};
inline constexpr Bfloat16 kBfloat16Infinity{detail::Bfloat16Format::kInfinity};

inline double half_to_double(Half bits) {
  return detail::HalfFormat::widen(bits);
}
inline Half double_to_half(double value) {
  return detail::HalfFormat::round(value);
}
inline bool is_nan(Half bits) {
  return detail::HalfFormat::is_nan(bits);
}
inline bool is_nan(Bfloat16 value) {
  return detail::Bfloat16Format::is_nan(value.bits);
}

// One name for all element types, by which templates read and write elements.
inline double to_double(float value) {
  return value;
}
inline double to_double(double value) {
  return value;
}
inline double to_double(Tf32 value) {
  return value.value;
}
inline double to_double(Half value) {
  return half_to_double(value);
}
inline double to_double(Bfloat16 value) {
  return detail::Bfloat16Format::widen(value.bits);
}

template <class T>
T from_double(double value);
template <>
inline double from_double<double>(double value) {
  return value;
}
template <>
inline float from_double<float>(double value) {
  return static_cast<float>(value);
}
// As fp16 rounds: within its range, to as many bits.
template <>
inline Tf32 from_double<Tf32>(double value) {
  return {static_cast<float>(half_to_double(double_to_half(value)))};
}
template <>
inline Half from_double<Half>(double value) {
  return double_to_half(value);
}
template <>
inline Bfloat16 from_double<Bfloat16>(double value) {
  return {detail::Bfloat16Format::round(value)};
}

}  // namespace xgemm::test
