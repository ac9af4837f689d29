// Element types of the matrices. Sums are fp32 whatever the type.
#pragma once

#include <cstdint>

namespace xgemm {

enum class DType : std::uint8_t { f32, f16, bf16 };

constexpr int size_of(DType type) {
  return type == DType::f32 ? 4 : 2;
}

// The letter that BLAS names carry: sgemm, hgemm, bgemm.
constexpr char letter_of(DType type) {
  return type == DType::f32 ? 's' : type == DType::f16 ? 'h' : 'b';
}

constexpr const char* name_of(DType type) {
  return type == DType::f32 ? "f32" : type == DType::f16 ? "f16" : "bf16";
}

}  // namespace xgemm
