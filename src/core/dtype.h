// Element types of the matrices: one table, from which everything that depends on a type alone is read.
#pragma once

#include <cstdint>
#include <iterator>

namespace xgemm {

// The values are those of enum xgemm_type, and the rows of the table below.
enum class DType : std::uint8_t { f32, f16, bf16, f64 };

struct TypeInfo {
  DType type;
  char letter;       // that BLAS names carry: sgemm, hgemm, bgemm
  const char* name;  // in names of kernels and in messages
  int size;          // bytes of an element
  DType sums;        // what sums of products are kept in
};

inline constexpr TypeInfo kTypes[] = {
    {DType::f32, 's', "f32", 4, DType::f32},
    {DType::f16, 'h', "f16", 2, DType::f32},
    {DType::bf16, 'b', "bf16", 2, DType::f32},
    {DType::f64, 'd', "f64", 8, DType::f64},
};

static_assert(
    [] {
      for (int i = 0; i < static_cast<int>(std::size(kTypes)); ++i)
        if (static_cast<int>(kTypes[i].type) != i) return false;
      return true;
    }(),
    "a type's row stands where its value says");

constexpr const TypeInfo& info_of(DType type) {
  return kTypes[static_cast<int>(type)];
}

constexpr DType sums_of(DType type) {
  return info_of(type).sums;
}

constexpr int size_of(DType type) {
  return info_of(type).size;
}

constexpr char letter_of(DType type) {
  return info_of(type).letter;
}

constexpr const char* name_of(DType type) {
  return info_of(type).name;
}

// The types of a product's operands.
struct ProductTypes {
  DType a = DType::f32, b = DType::f32, c = DType::f32;
  constexpr bool operator==(const ProductTypes&) const = default;
};

}  // namespace xgemm
