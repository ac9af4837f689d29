// The element types of products in one table. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "xgemm/float16.hpp"

namespace xgemm::perf {

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
