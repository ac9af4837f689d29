// The loops, once for any processor and once for those with AVX2. No fused multiply-adds: both give the same bits.
#include "tuning/network.h"

#include <algorithm>

#if defined(__x86_64__) && defined(__GNUC__)
#define XGEMM_WITH_AVX2 1
#else
#define XGEMM_WITH_AVX2 0
#endif

namespace xgemm::tuning::detail {
namespace {

constexpr std::size_t kWidth = 8;  // of a vector

[[gnu::always_inline]] inline void add_weighted_loops(const float* features, std::size_t count, const float* weights,
                                                      float* sums, std::size_t hidden) {
  for (std::size_t first = 0; first < hidden; first += kWidth) {
    float own[kWidth];
    std::copy_n(sums + first, kWidth, own);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < kWidth; ++j) own[j] += features[i] * weights[i * hidden + first + j];
    std::copy_n(own, kWidth, sums + first);
  }
}

[[gnu::always_inline]] inline float weighted_positive_loops(const float* hidden, const float* weights,
                                                            std::size_t count) {
  float own[kWidth] = {};
  for (std::size_t first = 0; first < count; first += kWidth)
    for (std::size_t j = 0; j < kWidth; ++j) {
      const float x = hidden[first + j];
      own[j] += (x > 0 ? x : 0.0f) * weights[first + j];
    }
  float sum = 0;
  for (const float x : own) sum += x;
  return sum;
}

#if XGEMM_WITH_AVX2
[[gnu::target("avx2"), gnu::optimize("O3")]] void add_weighted_avx2(const float* features, std::size_t count,
                                                                    const float* weights, float* sums,
                                                                    std::size_t hidden) {
  add_weighted_loops(features, count, weights, sums, hidden);
}
[[gnu::target("avx2"), gnu::optimize("O3")]] float weighted_positive_avx2(const float* hidden, const float* weights,
                                                                          std::size_t count) {
  return weighted_positive_loops(hidden, weights, count);
}
const bool has_avx2 = __builtin_cpu_supports("avx2");
#endif

}  // namespace

void add_weighted(const float* features, std::size_t count, const float* weights, float* sums, std::size_t hidden) {
#if XGEMM_WITH_AVX2
  if (has_avx2) return add_weighted_avx2(features, count, weights, sums, hidden);
#endif
  add_weighted_loops(features, count, weights, sums, hidden);
}

float weighted_positive(const float* hidden, const float* weights, std::size_t count) {
#if XGEMM_WITH_AVX2
  if (has_avx2) return weighted_positive_avx2(hidden, weights, count);
#endif
  return weighted_positive_loops(hidden, weights, count);
}

}  // namespace xgemm::tuning::detail
