// Copy bandwidth and multiply-add rate of the host, with all its hardware threads. SPDX-License-Identifier:
// BSD-3-Clause
#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bench/ceilings.h"

namespace xgemm::perf {
namespace {

constexpr int kRepeats = 3;
constexpr int kChains = 12;  // independent sums: enough to cover the latency of two multiply-add units
constexpr std::int64_t kSteps = 20'000'000;

/// Seconds for `work(thread)` on all threads together, the best of some tries.
double best_seconds(const Device& device, int threads, const std::function<void(int)>& work) {
  double best = 1e30;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const double start = device.now();
    std::vector<std::thread> pool;
    for (int i = 1; i < threads; ++i) pool.emplace_back(work, i);
    work(0);
    for (std::thread& thread : pool) thread.join();
    best = std::min(best, device.now() - start);
  }
  return best;
}

double copy_gbs(const Device& device, int threads) {
  // Far beyond the cache, read and written once each.
  const std::size_t bytes = static_cast<std::size_t>(
      std::clamp<std::int64_t>(4 * device.facts().host_cache_bytes, std::int64_t{64} << 20, std::int64_t{512} << 20));
  std::vector<char> from(bytes, 1);
  std::vector<char> to(bytes, 2);
  const std::size_t share = bytes / static_cast<std::size_t>(threads);
  const double seconds = best_seconds(device, threads, [&](int thread) {
    const std::size_t start = share * static_cast<std::size_t>(thread);
    std::memcpy(to.data() + start, from.data() + start, share);
  });
  return 2e-9 * static_cast<double>(share) * threads / seconds;
}

/// A loop of kChains independent multiply-adds on vectors of `lanes`; the result only keeps the compiler from dropping
/// it.
struct Arithmetic {
  int lanes;
  float (*run)(std::int64_t steps);
};

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] float run_avx2(std::int64_t steps) {
  const __m256 factor = _mm256_set1_ps(0.999999f);
  const __m256 term = _mm256_set1_ps(1e-6f);
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  for (std::int64_t step = 0; step < steps; ++step)
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, term);
  __m256 total = sums[0];
  for (int i = 1; i < kChains; ++i) total = _mm256_add_ps(total, sums[i]);
  return _mm256_cvtss_f32(total);
}

[[gnu::target("avx512f")]] float run_avx512(std::int64_t steps) {
  const __m512 factor = _mm512_set1_ps(0.999999f);
  const __m512 term = _mm512_set1_ps(1e-6f);
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  for (std::int64_t step = 0; step < steps; ++step)
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, term);
  __m512 total = sums[0];
  for (int i = 1; i < kChains; ++i) total = _mm512_add_ps(total, sums[i]);
  return _mm512_cvtss_f32(total);
}
#endif

float run_portably(std::int64_t steps) {
  constexpr int kLanes = 4;
  float sums[kChains][kLanes] = {};
  for (std::int64_t step = 0; step < steps; ++step)
    for (auto& sum : sums)
      for (float& lane : sum) lane = lane * 0.999999f + 1e-6f;
  float total = 0;
  for (const auto& sum : sums) total += sum[0];
  return total;
}

Arithmetic widest_arithmetic() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {16, run_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {8, run_avx2};
#endif
  return {4, run_portably};
}

double fp32_tflops(const Device& device, int threads) {
  const Arithmetic arithmetic = widest_arithmetic();
  std::atomic<float> sink{0};
  const double seconds = best_seconds(device, threads, [&](int) { sink = arithmetic.run(kSteps); });
  return 2e-12 * static_cast<double>(kSteps) * kChains * arithmetic.lanes * threads / seconds;
}

}  // namespace

Ceilings measure_host_ceilings(const Device& device) {
  const int threads = host_thread_count();
  return {copy_gbs(device, threads), fp32_tflops(device, threads), 0};
}

#if !XGEMM_HAVE_CUDA
Ceilings measure_cuda_ceilings(Device&) {
  return {};
}
#endif

Ceilings measure_ceilings(Device& device) {
  return device.facts().is_gpu ? measure_cuda_ceilings(device) : measure_host_ceilings(device);
}

}  // namespace xgemm::perf
