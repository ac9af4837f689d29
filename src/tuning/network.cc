// The loops, once for any processor and once for those with AVX2. No fused multiply-adds: both give the same bits.
#include "tuning/network.h"

#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#define XGEMM_WITH_AVX2 1
#else
#define XGEMM_WITH_AVX2 0
#endif

namespace xgemm::tuning::detail {
namespace {

// Two of 16 bytes where there is no AVX. Not passed to functions: how depends on the processor.
typedef float Vector __attribute__((vector_size(32)));
typedef Vector InMemory __attribute__((aligned(alignof(float)), may_alias));
constexpr std::size_t kWidth = sizeof(Vector) / sizeof(float);

// All sums of a layer at once, in registers: one after another would each wait for its own additions.
template <std::size_t kHidden>
[[gnu::always_inline]] inline void add_weighted_loops(const float* features, std::size_t count, const float* weights,
                                                      float* sums) {
  constexpr std::size_t kVectors = kHidden / kWidth;
  InMemory* const out = reinterpret_cast<InMemory*>(sums);
  Vector own[kVectors];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < kVectors; ++j) own[j] = out[j];
  for (std::size_t i = 0; i < count; ++i) {
    const InMemory* const row = reinterpret_cast<const InMemory*>(weights + i * kHidden);
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kVectors; ++j) own[j] += features[i] * row[j];
  }
#pragma GCC unroll 8
  for (std::size_t j = 0; j < kVectors; ++j) out[j] = own[j];
}

// As ln() of one number.
[[gnu::always_inline]] inline void ln_loops(float* x, std::size_t count) {
  typedef std::int32_t Bits __attribute__((vector_size(sizeof(Vector))));
  constexpr float kLn2 = 0.693147181f;
  constexpr std::int32_t kRootOfHalf = 0x3f3504f3;
  for (InMemory* at = reinterpret_cast<InMemory*>(x); count != 0; ++at, count -= kWidth) {
    const Bits bits = (Bits)*at, exponent = (bits - kRootOfHalf) >> 23;
    const Vector m = (Vector)(bits - (exponent << 23));
    const Vector s = (m - 1) / (m + 1), z = s * s;
    *at = __builtin_convertvector(exponent, Vector) * kLn2 +
          2 * s * (1 + z * (1.0f / 3 + z * (1.0f / 5 + z * (1.0f / 7))));
  }
}

[[gnu::always_inline]] inline float weighted_loops(const float* x, const float* y, std::size_t count) {
  const InMemory* const of_x = reinterpret_cast<const InMemory*>(x);
  const InMemory* const of_y = reinterpret_cast<const InMemory*>(y);
  const std::size_t vectors = count / kWidth;
  Vector own = {};
  for (std::size_t i = 0; i < vectors; ++i) own += of_x[i] * of_y[i];
  float rest = 0;
  for (std::size_t i = vectors * kWidth; i < count; ++i) rest += x[i] * y[i];
  float sum = 0;
  for (std::size_t i = 0; i < kWidth; ++i) sum += own[i];
  return sum + rest;
}

template <std::size_t kHidden>
[[gnu::always_inline]] inline float weighted_positive_loops(const float* hidden, const float* weights) {
  const InMemory* const x = reinterpret_cast<const InMemory*>(hidden);
  const InMemory* const y = reinterpret_cast<const InMemory*>(weights);
  Vector own = {};
  for (std::size_t j = 0; j < kHidden / kWidth; ++j) own += (x[j] > 0.0f ? x[j] : Vector{}) * y[j];
  float sum = 0;
  for (std::size_t j = 0; j < kWidth; ++j) sum += own[j];
  return sum;
}

#if XGEMM_WITH_AVX2
#if defined(__clang__)  // which turns loops into vectors by -O2 as well
#define XGEMM_AVX2 gnu::target("avx2")
#else
#define XGEMM_AVX2 gnu::target("avx2"), gnu::optimize("O3")
#endif
[[XGEMM_AVX2]] void ln_avx2(float* x, std::size_t count) {
  ln_loops(x, count);
}
[[XGEMM_AVX2]] float weighted_avx2(const float* x, const float* y, std::size_t count) {
  return weighted_loops(x, y, count);
}
template <std::size_t kHidden>
[[XGEMM_AVX2]] void add_weighted_avx2(const float* features, std::size_t count, const float* weights, float* sums) {
  add_weighted_loops<kHidden>(features, count, weights, sums);
}
template <std::size_t kHidden>
[[XGEMM_AVX2]] float weighted_positive_avx2(const float* hidden, const float* weights) {
  return weighted_positive_loops<kHidden>(hidden, weights);
}
const bool has_avx2 = __builtin_cpu_supports("avx2");
#endif

}  // namespace

void ln(float* x, std::size_t count) {
#if XGEMM_WITH_AVX2
  if (has_avx2) return ln_avx2(x, count);
#endif
  ln_loops(x, count);
}

float weighted(const float* x, const float* y, std::size_t count) {
#if XGEMM_WITH_AVX2
  if (has_avx2) return weighted_avx2(x, y, count);
#endif
  return weighted_loops(x, y, count);
}

template <std::size_t kHidden>
void add_weighted(const float* features, std::size_t count, const float* weights, float* sums) {
#if XGEMM_WITH_AVX2
  if (has_avx2) return add_weighted_avx2<kHidden>(features, count, weights, sums);
#endif
  add_weighted_loops<kHidden>(features, count, weights, sums);
}

template <std::size_t kHidden>
float weighted_positive(const float* hidden, const float* weights) {
#if XGEMM_WITH_AVX2
  if (has_avx2) return weighted_positive_avx2<kHidden>(hidden, weights);
#endif
  return weighted_positive_loops<kHidden>(hidden, weights);
}

template void add_weighted<24>(const float*, std::size_t, const float*, float*);
template void add_weighted<48>(const float*, std::size_t, const float*, float*);
template float weighted_positive<24>(const float*, const float*);
template float weighted_positive<48>(const float*, const float*);

}  // namespace xgemm::tuning::detail
