// Staging on a GPU whose memory is said to be small, so that products of a few MiB are cut into many pieces, and
// whatever the route would rather do with them.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

#include "call.h"
#include "core/canonicalize.h"
#include "runtime/pointer_location.h"
#include "transfer/staging.h"

namespace xgemm::gpu_test {
namespace {

template <class T>
class StagingSmall : public EveryType<T> {};
TYPED_TEST_SUITE(StagingSmall, CallTypes);

template <class T>
class Staging : public EveryType<T> {};
TYPED_TEST_SUITE(Staging, CallTypes);

template <class T>
testing::AssertionResult stage(transfer::StagerHandle& stager, const CallSpec& spec, std::size_t memory,
                               int period = 1) {
  device::DeviceInfo device = *device::device_info(device::current_device());
  device.memory_bytes = memory;
  Call<T> call(spec);
  const Problem problem = canonicalize(call.args(), false);
  transfer::Unfinished unfinished;
  const Status status = transfer::staged_gemm(stager, problem, runtime::locate(problem), device, nullptr, &unfinished);
  if (!status.ok()) return testing::AssertionFailure() << spec << "\nstatus " << status.code << ": " << last_error();
  return call.check(period);
}

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr Memory kHost[] = {Memory::pageable, Memory::page_locked, Memory::registered};

TYPED_TEST(StagingSmall, EveryMix) {
  transfer::StagerHandle stager;
  for (Memory a : {Memory::device, Memory::managed, Memory::pageable, Memory::page_locked})
    for (Memory b : {Memory::device, Memory::managed, Memory::pageable, Memory::page_locked})
      for (Memory c : {Memory::device, Memory::managed, Memory::pageable, Memory::page_locked})
        for (float beta : {0.0f, -1.0f})
          ASSERT_TRUE(stage<TypeParam>(stager,
                                       {.transb = 'T',
                                        .m = 200,
                                        .n = 190,
                                        .k = 70,
                                        .beta = beta,
                                        .pad_a = 3,
                                        .pad_b = 1,
                                        .pad_c = 5,
                                        .a = a,
                                        .b = b,
                                        .c = c},
                                       kMiB));
}

TYPED_TEST(Staging, TrianglesInPieces) {
  transfer::StagerHandle stager;
  std::uint64_t seed = 1;
  for (Fill fill : {Fill::lower, Fill::upper})
    for (char trans : {'N', 'T'})
      for (Memory memory : kHost)
        for (std::size_t bytes : {256 * kMiB, 16 * kMiB, 2 * kMiB})
          for (std::int64_t n : {300, 1700})
            ASSERT_TRUE(stage<TypeParam>(stager,
                                         {.transa = trans,
                                          .transb = trans == 'N' ? 'T' : 'N',
                                          .m = n,
                                          .n = n,
                                          .k = 300,
                                          .beta = seed % 2 == 0 ? 1.0f : 0.0f,
                                          .pad_c = 1,
                                          .fill = fill,
                                          .batch = n == 300 ? 3 : 1,
                                          .a = memory,
                                          .b = seed % 3 == 0 ? Memory::device : memory,
                                          .c = seed % 5 == 0 ? Memory::device : memory,
                                          .seed = seed++},
                                         bytes, 3));
}

TYPED_TEST(Staging, ManyPieces) {
  transfer::StagerHandle stager;
  for (char transa : {'N', 'T'})
    for (char transb : {'N', 'T'})
      for (Memory memory : kHost)
        for (std::size_t bytes : {256 * kMiB, 16 * kMiB, 2 * kMiB})
          for (auto [m, n, k] : {std::array<std::int64_t, 3>{1500, 1300, 400}, {300, 2500, 500}, {2500, 300, 500}})
            ASSERT_TRUE(stage<TypeParam>(stager,
                                         {.transa = transa,
                                          .transb = transb,
                                          .m = m,
                                          .n = n,
                                          .k = k,
                                          .beta = bytes == 16 * kMiB ? 1.0f : 0.0f,
                                          .pad_a = 2,
                                          .pad_c = 1,
                                          .a = memory,
                                          .b = memory,
                                          .c = memory},
                                         bytes, 37));
}

TYPED_TEST(Staging, ThinMatricesAndLongPitches) {
  transfer::StagerHandle stager;
  for (Memory memory : kHost)
    for (auto [m, n, k] :
         {std::array<std::int64_t, 3>{1, 1, 1}, {1, 20000, 30}, {20000, 1, 30}, {3, 5, 100000}, {129, 127, 0}})
      for (std::int64_t pad : {0, 1})
        ASSERT_TRUE(stage<TypeParam>(stager,
                                     {.m = m,
                                      .n = n,
                                      .k = k,
                                      .beta = 1,
                                      .pad_a = pad,
                                      .pad_b = pad,
                                      .pad_c = pad,
                                      .a = memory,
                                      .b = memory,
                                      .c = memory},
                                     64 * kMiB));
}

TYPED_TEST(Staging, Batches) {
  transfer::StagerHandle stager;
  for (Memory memory : kHost)
    for (int shared = 0; shared < 4; ++shared)
      for (std::size_t bytes : {1024 * kMiB, 2 * kMiB}) {
        CallSpec spec{.transa = 'T',
                      .m = 33,
                      .n = 47,
                      .k = 20,
                      .beta = 1,
                      .pad_a = 1,
                      .batch = 1000,
                      .gap = 5,
                      .shares_a = (shared & 1) != 0,
                      .shares_b = (shared & 2) != 0,
                      .a = memory,
                      .b = memory,
                      .c = memory};
        ASSERT_TRUE(stage<TypeParam>(stager, spec, bytes));
        spec.m = 600;
        spec.n = 500;
        spec.batch = 3;
        ASSERT_TRUE(stage<TypeParam>(stager, spec, bytes, 17));
      }
}

TYPED_TEST(Staging, SameCallSameBits) {
  transfer::StagerHandle stager;
  const device::DeviceInfo& device = *device::device_info(device::current_device());
  const CallSpec spec{
      .m = 2300, .n = 2200, .k = 900, .beta = 1, .a = Memory::pageable, .b = Memory::pageable, .c = Memory::pageable};
  Call<TypeParam> first(spec), second(spec);
  transfer::Unfinished unfinished;
  for (Call<TypeParam>* call : {&first, &second}) {
    const Problem problem = canonicalize(call->args(), false);
    ASSERT_TRUE(transfer::staged_gemm(stager, problem, runtime::locate(problem), device, nullptr, &unfinished).ok())
        << last_error();
  }
  EXPECT_TRUE(same_bits(first.c, second.c));
}

// However little memory is free: with less than one piece and its sums need, nothing is computed (and the CPU does it,
// dispatch/staged_or_cpu.h); with that much, the bits are those of plenty.
TYPED_TEST(Staging, SameBitsWithLittleFreeMemory) {
  const device::DeviceInfo& device = *device::device_info(device::current_device());
  const CallSpec spec{
      .m = 4000, .n = 4100, .k = 1500, .beta = 1, .a = Memory::pageable, .b = Memory::pageable, .c = Memory::pageable};
  const auto stage_one = [&](const Call<TypeParam>& call) {
    transfer::StagerHandle stager;
    transfer::Unfinished unfinished;
    const Problem problem = canonicalize(call.args(), false);
    return transfer::staged_gemm(stager, problem, runtime::locate(problem), device, nullptr, &unfinished);
  };
  Call<TypeParam> plenty(spec);
  ASSERT_TRUE(stage_one(plenty).ok()) << last_error();
  const Problem problem = canonicalize(plenty.args(), false);
  const auto plan =
      transfer::plan_staging_on(problem, {true, true, true}, static_cast<std::int64_t>(device.memory_bytes));
  ASSERT_GT(plan.pieces, 2);
  // Operands are made of device memory, too, while there is some; the default pool gives back what they leave to it.
  const Call<TypeParam> scarce(spec);
  XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
  cudaMemPool_t pool = nullptr;
  XGEMM_CHECK_CUDA(cudaDeviceGetDefaultMemPool(&pool, device::current_device()));
  XGEMM_CHECK_CUDA(cudaMemPoolTrimTo(pool, 0));
  // From half of what the plan would like to have, in the steps in which CUDA takes memory for pools.
  constexpr std::int64_t kStep = std::int64_t{32} << 20;
  bool done = false;
  for (std::int64_t bytes = plan.device_bytes / 2; !done && bytes <= plan.device_bytes + 4 * kStep; bytes += kStep) {
    std::vector<void*> held;
    void* leave = nullptr;
    XGEMM_CHECK_CUDA(cudaMalloc(&leave, static_cast<std::size_t>(bytes)));
    for (std::size_t size = std::size_t{64} << 30; size >= (std::size_t{2} << 20); size /= 2) {
      void* memory = nullptr;
      while (cudaMalloc(&memory, size) == cudaSuccess) held.push_back(memory);
      cudaGetLastError();
    }
    XGEMM_CHECK_CUDA(cudaFree(leave));
    const Status status = stage_one(scarce);
    for (void* memory : held) cudaFree(memory);
    done = status.ok();
    if (done) {
      EXPECT_TRUE(same_bits(plenty.c, scarce.c)) << "with " << bytes << " bytes";
    } else {
      ASSERT_EQ(status.code, XGEMM_OUT_OF_DEVICE_MEMORY) << last_error();
    }
  }
  EXPECT_TRUE(done) << "not even with more than the plan would like to have";
}

// Not a test: what a staged square product takes, to be looked at. --gtest_also_run_disabled_tests
// --gtest_filter=*Times*
TYPED_TEST(Staging, DISABLED_Times) {
  transfer::Unfinished unfinished;
  transfer::StagerHandle stager;
  const device::DeviceInfo& device = *device::device_info(device::current_device());
  for (Memory memory : {Memory::pageable, Memory::page_locked})
    for (std::int64_t n : {256, 512, 1024, 2048, 4096, 8192}) {
      Call<TypeParam> call({.m = n, .n = n, .k = n, .a = memory, .b = memory, .c = memory});
      const Problem problem = canonicalize(call.args(), false);
      double best = 1e9;
      for (int round = 0; round < 8; ++round) {
        const auto start = std::chrono::steady_clock::now();
        ASSERT_TRUE(transfer::staged_gemm(stager, problem, runtime::locate(problem), device, nullptr, &unfinished).ok())
            << last_error();
        best =
            std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
      }
      std::printf("%s %s n=%lld: %.3f ms\n", sizeof(typename Types<TypeParam>::Input) == 4 ? "f32" : "f16",
                  name_of(memory), static_cast<long long>(n), best);
    }
}

}  // namespace
}  // namespace xgemm::gpu_test
