// fp16 <-> fp32 on the host. To fp32 is exact; to fp16 rounds to nearest, ties to even, with subnormal numbers,
// infinities and NaNs (made quiet, payload cut) as the hardware conversions do: both paths give the same bits.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace xgemm::host {

float half_to_float(std::uint16_t half) noexcept;
std::uint16_t float_to_half(float value) noexcept;

// Arrays, by the processor's conversion instructions where it has them (F16C).
void half_to_float(const std::uint16_t* from, float* to, std::int64_t count) noexcept;
void float_to_half(const float* from, std::uint16_t* to, std::int64_t count) noexcept;

// The same by integer arithmetic alone, on any processor.
namespace portable {
void half_to_float(const std::uint16_t* from, float* to, std::int64_t count) noexcept;
void float_to_half(const float* from, std::uint16_t* to, std::int64_t count) noexcept;
}  // namespace portable

}  // namespace xgemm::host
