// When host data go to a GPU: what is known of it, and what has to be true of any estimate.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "dispatch/host_trip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "unit/plan/problems.h"

namespace xgemm::test {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

struct Machine {
  int compute_capability = 90;
  int cores = 16;
  double gpu_tflops = 50;
};

struct Times {
  double cpu_us, staged_us;
  bool staged() const { return staged_us < cpu_us; }
};

Times times(const Problem& p, const Machine& on) {
  const transfer::StagingPlan plan = transfer::plan_staging_on(p, {true, true, true}, 80 * kGiB);
  const double kernels_us = 5 + p.flops() / on.gpu_tflops * 1e-6;
  return {dispatch::cpu_time_us(p, on.cores),
          dispatch::staged_time_us(p, plan, kernels_us, on.compute_capability, on.cores)};
}

Times of_square(std::int64_t n, const Machine& on, DType type = DType::f32) {
  return times(make_problem(type, 'N', 'N', n, n, n), on);
}

constexpr Machine kMachines[] = {{90, 16, 50}, {90, 1, 50},  {90, 4, 50},   {90, 128, 50}, {80, 16, 15}, {80, 64, 15},
                                 {75, 8, 7},   {86, 16, 25}, {100, 64, 70}, {89, 2, 60},   {90, 16, 600}};

// An H200 behind PCIe 5, 16 cores, pageable memory.
TEST(HostTrip, IsNearWhatWasMeasured) {
  const Machine h200;
  const auto near = [](double estimate, double measured) { return std::abs(std::log(estimate / measured)) < 0.5; };
  EXPECT_PRED2(near, of_square(256, h200).cpu_us, 92);
  EXPECT_PRED2(near, of_square(512, h200).cpu_us, 352);
  EXPECT_PRED2(near, of_square(1024, h200).cpu_us, 2200);
  EXPECT_PRED2(near, of_square(4096, h200).cpu_us, 97000);
  EXPECT_PRED2(near, of_square(512, h200).staged_us, 350);
  EXPECT_PRED2(near, of_square(1024, h200).staged_us, 950);
  EXPECT_PRED2(near, of_square(4096, h200).staged_us, 7000);
  EXPECT_PRED2(near, of_square(2048, {90, 16, 650}, DType::f16).staged_us, 1050);
}

TEST(HostTrip, SmallProductsStayAndLargeOnesGo) {
  const Machine h200;
  for (const std::int64_t n : {64, 128, 256}) EXPECT_FALSE(of_square(n, h200).staged()) << n;
  for (const std::int64_t n : {512, 1024, 2048, 4096, 16384}) EXPECT_TRUE(of_square(n, h200).staged()) << n;
  for (const Machine& machine : kMachines) {
    EXPECT_FALSE(of_square(64, machine).staged());
    EXPECT_TRUE(of_square(16384, machine).staged() || machine.cores > 64);
  }
}

// Nothing below the size from which on GPUs are looked for would have gone to one.
TEST(HostTrip, NoGpuIsMissedBelowTheLeastSize) {
  for (const Machine& machine : kMachines)
    for (const DType type : {DType::f32, DType::f16})
      for (std::int64_t n = 1; 2.0 * static_cast<double>(n * n * n) < dispatch::kMinFlopsForDevice; ++n)
        EXPECT_FALSE(of_square(n, machine, type).staged()) << n << " cubed with " << machine.cores << " cores";
}

TEST(HostTrip, OnceWorthItAlwaysWorthIt) {
  for (const Machine& machine : kMachines)
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      bool staged = false;
      for (double size = 64; size < 40000; size *= 1.1) {
        const bool now = of_square(static_cast<std::int64_t>(size), machine, type).staged();
        EXPECT_TRUE(now || !staged) << size << " cubed with " << machine.cores << " cores";
        staged = now;
      }
    }
}

TEST(HostTrip, MoreCoresFavourTheCpu) {
  for (const int compute_capability : {75, 80, 90})
    for (std::int64_t n = 64; n <= 16384; n *= 2) {
      bool stays = false;
      for (int cores = 1; cores <= 256; cores *= 2) {
        const Times now = of_square(n, {compute_capability, cores, 30});
        EXPECT_TRUE(!now.staged() || !stays) << n << " cubed with " << cores << " cores";
        stays = !now.staged();
      }
      EXPECT_GE(of_square(n, {compute_capability, 64, 30}).cpu_us, of_square(n, {compute_capability, 128, 30}).cpu_us);
    }
}

// Each way takes longer for more work, and a staged product for a slower GPU or link.
TEST(HostTrip, TimesGrowWithTheWork) {
  const Machine h200;
  for (const std::int64_t m : {1, 100, 3000, 20000})
    for (const std::int64_t n : {1, 100, 3000, 20000})
      for (const std::int64_t k : {1, 100, 3000, 20000}) {
        const auto at = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
          return times(make_problem(DType::f32, 'N', 'N', x, y, z), h200);
        };
        const Times small = at(m, n, k);
        ASSERT_TRUE(std::isfinite(small.cpu_us) && small.cpu_us > 0);
        ASSERT_TRUE(std::isfinite(small.staged_us) && small.staged_us > 0);
        for (const Times& large : {at(4 * m, n, k), at(m, 4 * n, k), at(m, n, 4 * k)}) {
          EXPECT_GE(large.cpu_us, small.cpu_us);
          EXPECT_GE(large.staged_us, small.staged_us);
        }
        const Problem p = make_problem(DType::f32, 'N', 'N', m, n, k);
        EXPECT_GE(times(p, {90, 16, 10}).staged_us, small.staged_us);
        EXPECT_GT(times(p, {75, 16, 50}).staged_us, small.staged_us);
      }
  const Times huge = times(make_problem(DType::f32, 'N', 'N', std::int64_t{1} << 40, 1 << 20, 1 << 20), h200);
  EXPECT_TRUE(std::isfinite(huge.cpu_us) && std::isfinite(huge.staged_us));
}

}  // namespace
}  // namespace xgemm::test
