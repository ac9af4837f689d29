// The loops, once for any processor and once for those with AVX2. No fused multiply-adds: both give the same bits.
#include "tuning/network.h"

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
template <std::size_t kHidden>
[[gnu::target("avx2"), gnu::optimize("O3")]] void add_weighted_avx2(const float* features, std::size_t count,
                                                                    const float* weights, float* sums) {
  add_weighted_loops<kHidden>(features, count, weights, sums);
}
template <std::size_t kHidden>
[[gnu::target("avx2"), gnu::optimize("O3")]] float weighted_positive_avx2(const float* hidden, const float* weights) {
  return weighted_positive_loops<kHidden>(hidden, weights);
}
const bool has_avx2 = __builtin_cpu_supports("avx2");
#endif

}  // namespace

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
