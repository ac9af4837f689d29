// fp16 and bf16 <-> fp32 on the host. To fp32 is exact; from it rounds to nearest, ties to even, with subnormal
// numbers, infinities and NaNs (made quiet, payload cut) as the hardware conversions do: every path gives the same
// bits.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace xgemm::host {

float half_to_float(std::uint16_t half) noexcept;
std::uint16_t float_to_half(float value) noexcept;

float bfloat16_to_float(std::uint16_t bfloat16) noexcept;
std::uint16_t float_to_bfloat16(float value) noexcept;

// Of arrays of `count` elements that do not overlap.
struct Conversion {
  void (*widen)(const std::uint16_t* from, float* to, std::int64_t count) noexcept;
  void (*narrow)(const float* from, std::uint16_t* to, std::int64_t count) noexcept;
};

// type: f16 or bf16. By the processor's vector instructions where it has them: F16C, AVX2.
const Conversion& conversion(DType type) noexcept;

// The same by integer arithmetic alone, on any processor.
const Conversion& portable_conversion(DType type) noexcept;

}  // namespace xgemm::host
