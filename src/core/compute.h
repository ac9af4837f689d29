// How products may be computed.
#pragma once

#include <cstdint>

namespace xgemm {

// The values are those of enum xgemm_math_mode.
enum class Compute : std::uint8_t {
  strict,         // in the type in which sums are kept
  fp32_emulated,  // of fp32: by products of a smaller type, with errors no larger (docs/numerics.md)
  tf32            // of fp32: operands rounded to TF32, 11 significant bits
};

constexpr const char* name_of(Compute compute) {
  switch (compute) {
    case Compute::strict:
      return "strict";
    case Compute::fp32_emulated:
      return "fp32_emulated";
    case Compute::tf32:
      return "tf32";
  }
  return "?";
}

}  // namespace xgemm
