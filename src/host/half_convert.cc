// fp16 conversions: integer arithmetic, and F16C chosen at run time. See half_convert.h.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/half_convert.h"

#include <bit>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#define XGEMM_HAVE_F16C_PATH 1
#endif

namespace xgemm::host {
namespace {

using std::uint16_t;
using std::uint32_t;

// Exponent biases: 127 in fp32, 15 in fp16; fractions: 23 and 10 bits.
constexpr uint32_t kRebias = uint32_t{127 - 15} << 23;
constexpr uint32_t kFloatInfinity = 0x7f800000;
constexpr uint32_t kHalfInfinity = 0x7c00;
constexpr uint32_t kHalfQuietBit = 0x0200;

inline float to_float(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  uint32_t bits;
  if (magnitude >= kHalfInfinity) {
    const uint32_t quiet = magnitude > kHalfInfinity ? kHalfQuietBit : 0;
    bits = kFloatInfinity | (magnitude | quiet) << 13;
  } else if (magnitude >= 0x0400) {
    bits = (magnitude << 13) + kRebias;
  } else {  // a multiple of 2^-24, which is a normal number in fp32
    bits = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
  }
  return std::bit_cast<float>(sign | bits);
}

inline uint16_t to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t half;
  if (magnitude > kFloatInfinity) {
    half = kHalfInfinity | kHalfQuietBit | (magnitude >> 13 & 0x3ffu);
  } else if (magnitude >= 0x477ff000) {  // 65520 and above: half an ulp past the largest half
    half = kHalfInfinity;
  } else if (magnitude >= 0x38800000) {  // 2^-14 and above: normal
    const uint32_t odd = magnitude >> 13 & 1u;
    half = (magnitude - kRebias + 0x0fff + odd) >> 13;
  } else {  // the fraction in units of 2^-24
    const uint32_t shift = 126 - (magnitude >> 23);
    if (shift > 24) {
      half = 0;
    } else {
      const uint32_t fraction = (magnitude & 0x007fffffu) | 0x00800000u;
      const uint32_t odd = fraction >> shift & 1u;
      half = (fraction + (1u << (shift - 1)) - 1 + odd) >> shift;
    }
  }
  return static_cast<uint16_t>(sign | half);
}

#if defined(XGEMM_HAVE_F16C_PATH)

[[gnu::target("avx,f16c")]] void f16c_half_to_float(const uint16_t* from, float* to, std::int64_t count) noexcept {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  for (; i < count; ++i) to[i] = _cvtsh_ss(from[i]);
}

[[gnu::target("avx,f16c")]] void f16c_float_to_half(const float* from, uint16_t* to, std::int64_t count) noexcept {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT;
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), kNearest));
  for (; i < count; ++i) to[i] = _cvtss_sh(from[i], kNearest);
}

// F16C needs the operating system to save the AVX registers, which the compiler's "avx" test includes.
bool has_f16c() {
  unsigned eax, ebx, ecx, edx;
  return __builtin_cpu_supports("avx") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
}

#endif

struct Conversions {
  void (*to_float)(const uint16_t*, float*, std::int64_t) noexcept = portable::half_to_float;
  void (*to_half)(const float*, uint16_t*, std::int64_t) noexcept = portable::float_to_half;
};

const Conversions& conversions() noexcept {
  static const Conversions chosen = [] {
#if defined(XGEMM_HAVE_F16C_PATH)
    if (has_f16c()) return Conversions{f16c_half_to_float, f16c_float_to_half};
#endif
    return Conversions{};
  }();
  return chosen;
}

}  // namespace

float half_to_float(std::uint16_t half) noexcept {
  return to_float(half);
}
std::uint16_t float_to_half(float value) noexcept {
  return to_half(value);
}

void portable::half_to_float(const std::uint16_t* from, float* to, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}

void portable::float_to_half(const float* from, std::uint16_t* to, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) to[i] = to_half(from[i]);
}

void half_to_float(const std::uint16_t* from, float* to, std::int64_t count) noexcept {
  conversions().to_float(from, to, count);
}

void float_to_half(const float* from, std::uint16_t* to, std::int64_t count) noexcept {
  conversions().to_half(from, to, count);
}

}  // namespace xgemm::host
