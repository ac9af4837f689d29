// Where operands live: every mix of device, managed, pageable and page-locked memory through the C ABI, and what
// happens when the device has no memory left.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "call.h"
#include "hog.h"

namespace xgemm::gpu_test {
namespace {

constexpr Memory kMemories[] = {Memory::device, Memory::managed, Memory::pageable, Memory::page_locked,
                                Memory::registered};

template <class T>
class PlacementSmall : public EveryType<T> {};
TYPED_TEST_SUITE(PlacementSmall, CallTypes);

template <class T>
class Placement : public EveryType<T> {};
TYPED_TEST_SUITE(Placement, CallTypes);

// C is ready on return as soon as an operand is host memory: nothing is waited for then.
template <class T>
testing::AssertionResult serve_mix(CallSpec spec, Memory a, Memory b, Memory c, xgemm_context* ctx, cudaStream_t stream,
                                   int period = 1) {
  spec.a = a;
  spec.b = b;
  spec.c = c;
  Call<T> call(spec);
  if (const int status = call.enqueue(ctx); status != 0)
    return testing::AssertionFailure() << spec << "\nstatus " << status << ": " << xgemm_last_error();
  const auto on_device = [](Memory m) { return m == Memory::device || m == Memory::managed; };
  if (on_device(a) && on_device(b) && on_device(c)) {
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(stream));
  } else if (stream != nullptr && cudaStreamQuery(stream) != cudaSuccess) {  // other threads may use the default stream
    return testing::AssertionFailure() << spec << "\nreturned before C was ready";
  }
  return call.check(period);
}

TYPED_TEST(PlacementSmall, EveryMix) {
  Context ctx;
  for (Memory a : kMemories)
    for (Memory b : kMemories)
      for (Memory c : kMemories)
        for (float beta : {0.0f, 2.0f})
          ASSERT_TRUE(serve_mix<TypeParam>(
              {.transa = 'T', .m = 65, .n = 43, .k = 37, .beta = beta, .pad_a = 3, .pad_b = 1, .pad_c = 5}, a, b, c,
              ctx, ctx.stream()));
}

TYPED_TEST(Placement, EveryMixThatIsWorthTheTrip) {
  Context ctx;
  for (char transa : {'N', 'T'})
    for (char transb : {'N', 'T'})
      for (Memory a : kMemories)
        for (Memory b : kMemories)
          for (Memory c : kMemories)
            ASSERT_TRUE(serve_mix<TypeParam>({.transa = transa,
                                              .transb = transb,
                                              .m = 400,
                                              .n = 300,
                                              .k = 350,
                                              .alpha = -1,
                                              .beta = a == b ? 0.0f : 1.0f,
                                              .pad_a = 3,
                                              .pad_c = 1},
                                             a, b, c, ctx, ctx.stream(), 17));
}

TYPED_TEST(Placement, LargeHostProducts) {
  for (auto [m, n, k] :
       {std::array<std::int64_t, 3>{3000, 3500, 700}, {3500, 3000, 700}, {1500, 1500, 64}, {100, 80, 20000}})
    for (Memory memory : {Memory::pageable, Memory::page_locked})
      for (std::int64_t pad : {0, 5})
        ASSERT_TRUE(serve_mix<TypeParam>(
            {.m = m, .n = n, .k = k, .beta = pad ? 1.0f : 0.0f, .pad_a = pad, .pad_b = pad, .pad_c = pad}, memory,
            memory, memory, nullptr, nullptr, 1009));
}

TYPED_TEST(Placement, Batches) {
  for (Memory a : {Memory::device, Memory::pageable, Memory::page_locked})
    for (int shared = 0; shared < 4; ++shared) {
      CallSpec spec{.transb = 'T',
                    .m = 60,
                    .n = 50,
                    .k = 70,
                    .beta = 1,
                    .pad_c = 2,
                    .batch = 600,
                    .gap = 3,
                    .shares_a = (shared & 1) != 0,
                    .shares_b = (shared & 2) != 0};
      ASSERT_TRUE(serve_mix<TypeParam>(spec, a, Memory::pageable, Memory::pageable, nullptr, nullptr));
      spec.batch = 3;
      spec.m = spec.n = 1100;
      ASSERT_TRUE(serve_mix<TypeParam>(spec, a, Memory::pageable, Memory::device, nullptr, nullptr, 63));
    }
}

// Host operands are read when what the stream held before has written them.
TYPED_TEST(Placement, WaitsForTheStream) {
  Context ctx;
  for (Memory memory : {Memory::page_locked, Memory::pageable}) {
    Call<TypeParam> call({.m = 500, .n = 400, .k = 300, .a = memory, .c = Memory::device});
    Operand<typename Types<TypeParam>::Input> source(call.a.layout(), call.a.contents());
    std::memset(static_cast<void*>(call.a.storage()), 0xff, call.a.bytes());
    BusyStream busy(ctx.stream());
    // Asynchronous from page-locked memory alone; a copy to pageable memory waits for the kernel.
    if (memory == Memory::pageable) busy.release();
    XGEMM_CHECK_CUDA(
        cudaMemcpyAsync(call.a.storage(), source.storage(), source.bytes(), cudaMemcpyDefault, ctx.stream()));
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      busy.release();
    });
    ASSERT_EQ(call.enqueue(ctx), 0) << xgemm_last_error();
    later.join();
    EXPECT_TRUE(call.check(17));
  }
}

TYPED_TEST(Placement, ThreadsWithTheirDefaultContexts) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 6; ++i)
        EXPECT_TRUE(serve_mix<TypeParam>({.m = 600 + 50 * t, .n = 700 + i, .k = 500, .beta = 1, .pad_a = t},
                                         Memory::pageable, i % 2 ? Memory::device : Memory::pageable, Memory::pageable,
                                         nullptr, nullptr, 101));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(PlacementCapture, HostOperandsAreRefusedInACapture) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  Context ctx;
  Call<float> warm_up({.m = 200, .n = 300, .k = 400}), host({.m = 200, .n = 300, .k = 400, .a = Memory::pageable});
  ASSERT_EQ(warm_up.enqueue(ctx), 0);
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
  XGEMM_CHECK_CUDA(cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeGlobal));
  EXPECT_EQ(host.enqueue(ctx), XGEMM_UNSUPPORTED);
  EXPECT_NE(std::string(xgemm_last_error()).find("captur"), std::string::npos) << xgemm_last_error();
  EXPECT_EQ(warm_up.enqueue(ctx), 0) << xgemm_last_error();
  cudaGraph_t graph = nullptr;
  XGEMM_CHECK_CUDA(cudaStreamEndCapture(ctx.stream(), &graph));  // the capture is intact
  XGEMM_CHECK_CUDA(cudaGraphDestroy(graph));
  EXPECT_TRUE(host.c.unchanged());
}

TEST(PlacementCapture, ACaptureElsewhereIsNotBroken) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  Context capturing, staging;
  Call<float> call({.m = 64, .n = 64, .k = 64});
  Call<float> mixed({.m = 600, .n = 500, .k = 400, .beta = 1, .a = Memory::pageable, .b = Memory::page_locked});
  ASSERT_EQ(call.enqueue(capturing), 0);
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(capturing.stream()));
  XGEMM_CHECK_CUDA(cudaStreamBeginCapture(capturing.stream(), cudaStreamCaptureModeGlobal));
  EXPECT_EQ(call.enqueue(capturing), 0) << xgemm_last_error();
  // Another thread stages for the first time: it allocates, creates streams, synchronises its own.
  int status = -1;
  std::string error;
  std::thread([&] {
    status = mixed.enqueue(staging);
    error = xgemm_last_error();
  }).join();
  cudaGraph_t graph = nullptr;
  XGEMM_CHECK_CUDA(cudaStreamEndCapture(capturing.stream(), &graph));
  ASSERT_NE(graph, nullptr);
  XGEMM_CHECK_CUDA(cudaGraphDestroy(graph));
  EXPECT_EQ(status, 0) << error;
  EXPECT_TRUE(mixed.check(7));
}

TEST(PlacementSmallAddresses, MisalignedOnesAreNamedAsTheCallHasThem) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  for (const bool row_major : {false, true}) {
    const Call<float> call({.m = 20, .n = 30, .k = 40, .row_major = row_major});
    const auto status_of = [&](auto xgemm_args::*pointer) {
      xgemm_args args = call.args();
      args.*pointer = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(args.*pointer) + 2);
      return xgemm_gemm(nullptr, &args);
    };
    EXPECT_EQ(status_of(&xgemm_args::a), -XGEMM_ARG_A) << xgemm_last_error();
    EXPECT_EQ(status_of(&xgemm_args::b), -XGEMM_ARG_B) << xgemm_last_error();
    EXPECT_EQ(status_of(&xgemm_args::c), -XGEMM_ARG_C) << xgemm_last_error();
    // Of two products by pointers on the host, the second: before the first is computed.
    xgemm_args args = call.args();
    const void* a[] = {args.a, args.a};
    const void* b[] = {args.b, static_cast<const char*>(args.b) + 2};
    void* c[] = {args.c, args.c};
    args.a = a, args.b = b, args.c = c;
    args.batch_count = 2;
    args.batch_kind = XGEMM_BATCH_POINTERS;
    EXPECT_EQ(xgemm_gemm(nullptr, &args), -XGEMM_ARG_B) << xgemm_last_error();
    XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
    EXPECT_TRUE(call.c.unchanged());
  }
}

// A thread's default context goes when the thread ends, before what the thread made earlier.
TEST(PlacementThreads, ProductsOfWhatOutlivesTheDefaultContext) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  const CallSpec spec{.m = 600, .n = 500, .k = 400, .a = Memory::pageable};
  const Call<float> first(spec), last(spec);
  int status = -1;
  std::thread([&] {
    struct AtTheEnd {
      const Call<float>& call;
      int& status;
      ~AtTheEnd() { status = call.enqueue(nullptr); }
    };
    thread_local const AtTheEnd multiplies{last, status};
    static_cast<void>(multiplies);
    EXPECT_EQ(first.enqueue(nullptr), 0) << xgemm_last_error();
  }).join();
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(first.check(7));
  EXPECT_TRUE(last.check(7));
}

// Products of host operands go to the CPU; those of which an operand is on the device cannot.
TEST(PlacementMemory, AFullDeviceCostsNoHostProduct) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  Context ctx;
  Call<float> host({.m = 1500,
                    .n = 1500,
                    .k = 1500,
                    .beta = 1,
                    .a = Memory::pageable,
                    .b = Memory::pageable,
                    .c = Memory::pageable});
  Call<float> mixed({.m = 4096, .n = 4096, .k = 4096, .a = Memory::pageable, .b = Memory::pageable});
  {
    Call<float> warm_up({.m = 512, .n = 512, .k = 512, .a = Memory::pageable});
    Context other;
    ASSERT_EQ(warm_up.enqueue(other), 0) << xgemm_last_error();
  }
  {
    const Hog hog;
    EXPECT_EQ(host.enqueue(ctx), 0) << xgemm_last_error();
    EXPECT_STREQ(xgemm_last_error(), "");
    EXPECT_EQ(mixed.enqueue(ctx), XGEMM_OUT_OF_DEVICE_MEMORY) << xgemm_last_error();
    EXPECT_NE(std::string(xgemm_last_error()).find("memory"), std::string::npos) << xgemm_last_error();
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_TRUE(host.check(401));
  EXPECT_EQ(mixed.enqueue(ctx), 0) << xgemm_last_error();
  EXPECT_TRUE(mixed.check(4001));
}

TEST(PlacementMemory, StagingLeavesTheCallersDeviceAndErrors) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  int before = -1, after = -2;
  XGEMM_CHECK_CUDA(cudaGetDevice(&before));
  EXPECT_TRUE(serve<float>({.m = 500, .n = 500, .k = 500, .a = Memory::pageable}));
  XGEMM_CHECK_CUDA(cudaGetDevice(&after));
  EXPECT_EQ(before, after);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// Memory of another device than the one that computes, where there are two.
TEST(PlacementDevices, FollowsTheOperands) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  int count = 0;
  XGEMM_CHECK_CUDA(cudaGetDeviceCount(&count));
  if (count < 2) GTEST_SKIP() << "one GPU";
  XGEMM_CHECK_CUDA(cudaSetDevice(1));
  {
    Context ctx;
    Call<float> call({.m = 300, .n = 200, .k = 100, .beta = 1});
    XGEMM_CHECK_CUDA(cudaSetDevice(0));
    EXPECT_EQ(call.enqueue(ctx), 0) << xgemm_last_error();
    int device = -1;
    XGEMM_CHECK_CUDA(cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
    XGEMM_CHECK_CUDA(cudaSetDevice(1));
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
    EXPECT_TRUE(call.check());
  }
  XGEMM_CHECK_CUDA(cudaSetDevice(0));
}

// Operands on two GPUs: the call returns before the work that its stream holds is done.
TEST(PlacementDevices, OperandsOnTwoGpusAreOnlyEnqueued) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  int count = 0;
  XGEMM_CHECK_CUDA(cudaGetDeviceCount(&count));
  if (count < 2) GTEST_SKIP() << "one GPU";
  const CallSpec spec{.transb = 'T', .m = 500, .n = 400, .k = 300, .beta = 1, .pad_a = 3, .batch = 2};
  XGEMM_CHECK_CUDA(cudaSetDevice(1));
  {
    const Call<float> far(spec);  // the same values as near
    XGEMM_CHECK_CUDA(cudaSetDevice(0));
    Context ctx;
    for (const bool warm : {false, true}) {
      Call<float> near(spec);
      xgemm_args args = near.args();
      args.a = far.a.data();
      if (warm) {
        BusyStream busy(ctx.stream());
        ASSERT_EQ(xgemm_gemm(ctx, &args), 0) << xgemm_last_error();
        EXPECT_EQ(cudaStreamQuery(ctx.stream()), cudaErrorNotReady) << "the call has waited";
        cudaGetLastError();
        busy.release();
      } else {
        ASSERT_EQ(xgemm_gemm(ctx, &args), 0) << xgemm_last_error();
      }
      XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
      EXPECT_TRUE(near.check());
    }
    XGEMM_CHECK_CUDA(cudaSetDevice(1));
  }
  XGEMM_CHECK_CUDA(cudaSetDevice(0));
}

}  // namespace
}  // namespace xgemm::gpu_test
