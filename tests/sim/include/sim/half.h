// fp16 conversions on bits: exact to fp32; to nearest even, once, from fp32.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>

namespace xgemm::gpu {

constexpr float sim_half_to_float(std::uint16_t bits) {
  // Placed in the exponent range of fp32 by a multiplication, which is exact and brings subnormals along.
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fff) << 13;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  if (magnitude >= (0x7c00u << 13)) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x7fffffu));
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f));
}

constexpr std::uint16_t sim_float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint16_t sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;          // NaN, as the GPU has it
  if (magnitude >= 0x477ff000u) return sign | 0x7c00;  // from 65520 on
  if (magnitude < 0x38800000u) {                       // below 2^-14: a subnormal half
    // Added to 0.5, the last bit of fp32 is worth 2^-24 and the addition rounds.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) - 0x3f000000u);
  }
  const std::uint32_t even = magnitude >> 13 & 1;
  return sign | static_cast<std::uint16_t>((magnitude - 0x38000000u + 0xfff + even) >> 13);
}

}  // namespace xgemm::gpu
