// Conversions by integer arithmetic, and by F16C and AVX2 chosen at run time. See conversion.h.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/conversion.h"

#include "core/once.h"
#include "xgemm/float16.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#define XGEMM_HAVE_X86_PATHS 1
#endif

namespace xgemm::host {
namespace {

using std::uint16_t;

template <float (*kWiden)(uint16_t)>
void widen_each(const uint16_t* from, float* to, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) to[i] = kWiden(from[i]);
}

template <uint16_t (*kNarrow)(float)>
void narrow_each(const float* from, uint16_t* to, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) to[i] = kNarrow(from[i]);
}

constexpr Conversion kPortableHalf{widen_each<half_to_float>, narrow_each<float_to_half>};
constexpr Conversion kPortableBfloat16{widen_each<bfloat16_to_float>, narrow_each<float_to_bfloat16>};

#if defined(XGEMM_HAVE_X86_PATHS)

[[gnu::target("avx,f16c")]] void f16c_widen(const uint16_t* from, float* to, std::int64_t count) noexcept {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  for (; i < count; ++i) to[i] = _cvtsh_ss(from[i]);
}

[[gnu::target("avx,f16c")]] void f16c_narrow(const float* from, uint16_t* to, std::int64_t count) noexcept {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT;
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), kNearest));
  for (; i < count; ++i) to[i] = _cvtss_sh(from[i], kNearest);
}

[[gnu::target("avx2")]] void avx2_widen_bfloat16(const uint16_t* from, float* to, std::int64_t count) noexcept {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256i low = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    _mm256_storeu_ps(to + i, _mm256_castsi256_ps(_mm256_slli_epi32(low, 16)));
  }
  for (; i < count; ++i) to[i] = bfloat16_to_float(from[i]);
}

// float_to_bfloat16 in each of eight lanes, the results in their lower halves.
[[gnu::target("avx2")]] inline __m256i avx2_narrow_lanes(__m256 values) {
  const __m256i bits = _mm256_castps_si256(values);
  const __m256i upper = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  const __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x0040));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(_mm256_srli_epi32(rounded, 16), quiet, is_nan);
}

[[gnu::target("avx2")]] void avx2_narrow_bfloat16(const float* from, uint16_t* to, std::int64_t count) noexcept {
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    // Packing works within each half of the registers: the quarters come out as 0 2 1 3.
    const __m256i packed = _mm256_packus_epi32(avx2_narrow_lanes(_mm256_loadu_ps(from + i)),
                                               avx2_narrow_lanes(_mm256_loadu_ps(from + i + 8)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_permute4x64_epi64(packed, 0xd8));
  }
  for (; i < count; ++i) to[i] = float_to_bfloat16(from[i]);
}

// F16C needs the operating system to save the AVX registers, which the compiler's "avx" test includes.
bool has_f16c() {
  unsigned eax, ebx, ecx, edx;
  return __builtin_cpu_supports("avx") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
}

#endif

}  // namespace

const Conversion& portable_conversion(DType type) noexcept {
  return type == DType::bf16 ? kPortableBfloat16 : kPortableHalf;
}

const Conversion& conversion(DType type) {
#if defined(XGEMM_HAVE_X86_PATHS)
  static constexpr Conversion half = {f16c_widen, f16c_narrow};
  static constexpr Conversion bfloat16 = {avx2_widen_bfloat16, avx2_narrow_bfloat16};
  static Once<bool> f16c;
  if (type == DType::bf16) return __builtin_cpu_supports("avx2") ? bfloat16 : kPortableBfloat16;
  return f16c.get(has_f16c) ? half : kPortableHalf;
#else
  return portable_conversion(type);
#endif
}

}  // namespace xgemm::host
