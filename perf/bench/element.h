// The element types of products in one table, and the 16-bit ones to and from fp32, rounding to nearest even. Portable:
// no processor has to have F16C. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>

namespace xgemm::perf {

inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  // Subnormal: an integer multiple of 2^-24, which fp32 holds exactly.
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return sign != 0 ? -value : value;
}

inline std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and above round to infinity
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 2^-1 leaves exactly the subnormal's bits in the mantissa, rounded by the adder.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t odd = magnitude >> 13 & 1u;
  return static_cast<std::uint16_t>(sign | (magnitude - (112u << 23) + 0xfffu + odd) >> 13);
}

inline float bfloat16_to_float(std::uint16_t bfloat16) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bfloat16) << 16);
}

inline std::uint16_t float_to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return static_cast<std::uint16_t>(is_nan ? bits >> 16 | 0x40u : rounded);
}

struct Element {
  char letter;       // in shapes, results and the lines of XGEMM_VERBOSE
  const char* name;  // for people
  std::int64_t size;
  double unit;                  // half an ulp of 1
  double tiny;                  // half of the distance of two subnormals
  double overflow;              // what is this large rounds to infinity
  std::uint32_t infinity_bits;  // larger ones, the sign left out, are NaN
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);
};

inline constexpr std::array<Element, 3> kElements{{
    {'s', "fp32", 4, 0x1p-24, 0x1p-150, std::numeric_limits<double>::infinity(), 0x7f800000u, nullptr, nullptr},
    {'h', "fp16", 2, 0x1p-11, 0x1p-25, 65520, 0x7c00u, half_to_float, float_to_half},
    {'b', "bf16", 2, 0x1p-8, 0x1p-134, 0x1.ffp127, 0x7f80u, bfloat16_to_float, float_to_bfloat16},
}};

/// Null for a letter that names no type.
constexpr const Element* find_element(char letter) {
  for (const Element& element : kElements)
    if (element.letter == letter) return &element;
  return nullptr;
}

/// letter: one of the table.
constexpr const Element& element_of(char letter) {
  return *find_element(letter);
}

/// "shb"
inline std::string element_letters() {
  std::string letters;
  for (const Element& element : kElements) letters += element.letter;
  return letters;
}

}  // namespace xgemm::perf
