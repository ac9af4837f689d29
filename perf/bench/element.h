// The element types of matrices, and of products, in two tables. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "xgemm/float16.hpp"

namespace xgemm::perf {

struct Element {
  char letter;
  std::int64_t size;
  double unit;                  // half an ulp of 1
  double sum_unit;              // the same of the type in which sums are kept
  double tiny;                  // half of the distance of two subnormals
  double overflow;              // what is this large rounds to infinity
  std::uint64_t infinity_bits;  // larger ones, the sign left out, are NaN
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);
};

inline constexpr std::array<Element, 4> kElements{{
    {'s', 4, 0x1p-24, 0x1p-24, 0x1p-150, std::numeric_limits<double>::infinity(), 0x7f800000u, nullptr, nullptr},
    {'h', 2, 0x1p-11, 0x1p-24, 0x1p-25, 65520, 0x7c00u, half_to_float, float_to_half},
    {'b', 2, 0x1p-8, 0x1p-24, 0x1p-134, 0x1.ffp127, 0x7f80u, bfloat16_to_float, float_to_bfloat16},
    {'d', 8, 0x1p-53, 0x1p-53, 0, std::numeric_limits<double>::infinity(), 0x7ff0000000000000u, nullptr, nullptr},
}};

/// letter: one of the table.
constexpr const Element& element_of(char letter) {
  for (const Element& element : kElements)
    if (element.letter == letter) return element;
  return kElements[0];
}

struct ProductType {
  char letter;       // in shapes and results
  const char* name;  // for people
  char input;        // the element of A and B
  char output;       // that of C
};

inline constexpr std::array<ProductType, 6> kTypes{{
    {'s', "fp32", 's', 's'},
    {'h', "fp16", 'h', 'h'},
    {'b', "bf16", 'b', 'b'},
    {'H', "fp16-fp32", 'h', 's'},
    {'B', "bf16-fp32", 'b', 's'},
    {'d', "fp64", 'd', 'd'},
}};

/// Null for a letter that names no type.
constexpr const ProductType* find_type(char letter) {
  for (const ProductType& type : kTypes)
    if (type.letter == letter) return &type;
  return nullptr;
}

/// letter: one of the table.
constexpr const ProductType& type_of(char letter) {
  return *find_type(letter);
}

/// "s, h, b, H, B, d", or with the names "s (fp32), h (fp16), ..."
inline std::string list_of_types(bool with_names) {
  std::string list;
  for (const ProductType& type : kTypes) {
    list += (list.empty() ? "" : ", ") + std::string(1, type.letter);
    if (with_names) list += " (" + std::string(type.name) + ")";
  }
  return list;
}

}  // namespace xgemm::perf
