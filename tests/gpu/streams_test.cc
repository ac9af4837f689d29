// Streams, graphs and threads: calls on device memory only enqueue, can be captured from any thread in any mode, and do
// not disturb one another.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <latch>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "call.h"

namespace xgemm::gpu_test {
namespace {

template <class T>
class StreamsSmall : public EveryType<T> {};
TYPED_TEST_SUITE(StreamsSmall, ElementTypes);

template <class T>
class Streams : public EveryType<T> {};
TYPED_TEST_SUITE(Streams, ElementTypes);

std::vector<CallSpec> varied_specs() {
  return {{.m = 100, .n = 90, .k = 80, .pad_a = 1},
          {.transa = 'T', .m = 512, .n = 256, .k = 300, .beta = 1},
          {.transb = 'T', .m = 33, .n = 700, .k = 65, .alpha = -1},
          {.m = 64, .n = 64, .k = 8000},
          {.transa = 'T', .transb = 'T', .m = 120, .n = 130, .k = 50, .beta = 2, .batch = 6},
          {.m = 1, .n = 1000, .k = 1000},
          {.transa = 'T', .m = 777, .n = 515, .k = 701, .beta = 1, .pad_c = 3, .shift_b = 1},  // 16 bits: in copies
          {.m = 300, .n = 300, .k = 0, .beta = 3},
          {.m = 1024, .n = 1024, .k = 256}};
}

// The stream is still busy with what it held before when the call is back. Once before, so that nothing is loaded then.
TYPED_TEST(StreamsSmall, CallsOnlyEnqueue) {
  for (const CallSpec& spec : varied_specs()) {
    Context ctx;
    Call<TypeParam> call(spec);
    ASSERT_EQ(call.enqueue(ctx), 0) << xgemm_last_error();
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
    call.c.refill();
    BusyStream busy(ctx.stream());
    ASSERT_EQ(call.enqueue(ctx), 0) << xgemm_last_error();
    EXPECT_EQ(cudaStreamQuery(ctx.stream()), cudaErrorNotReady) << spec;
    busy.release();
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
    ASSERT_TRUE(call.check(7));
  }
  cudaGetLastError();
}

TYPED_TEST(StreamsSmall, DefaultStreamKeepsItsOrder) {
  // The legacy stream, without a context and with one; and the thread's own stream.
  Call<TypeParam> call({.m = 200, .n = 200, .k = 64, .beta = 1});
  XGEMM_CHECK_CUDA(cudaMemsetAsync(call.c.storage(), 0xff, call.c.bytes(), nullptr));
  const Operand<TypeParam> fresh(call.c.layout(), call.c.contents());
  XGEMM_CHECK_CUDA(cudaMemcpyAsync(call.c.storage(), fresh.storage(), fresh.bytes(), cudaMemcpyDefault, nullptr));
  ASSERT_EQ(call.enqueue(nullptr), 0);
  Operand<TypeParam> copy(call.c.layout(), call.c.contents());
  XGEMM_CHECK_CUDA(cudaMemcpyAsync(copy.storage(), call.c.storage(), copy.bytes(), cudaMemcpyDefault, nullptr));
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
  EXPECT_TRUE(call.check());
  EXPECT_TRUE(same_bits(copy, call.c));

  xgemm_context* ctx = nullptr;
  ASSERT_EQ(xgemm_create(&ctx), 0);
  EXPECT_TRUE(serve<TypeParam>({.m = 50, .n = 60, .k = 70}, ctx, nullptr));
  ASSERT_EQ(xgemm_set_stream(ctx, cudaStreamPerThread), 0);
  EXPECT_TRUE(serve<TypeParam>({.m = 50, .n = 60, .k = 70}, ctx, cudaStreamPerThread));
  ASSERT_EQ(xgemm_set_stream(nullptr, cudaStreamPerThread), 0);
  EXPECT_TRUE(serve<TypeParam>({.m = 50, .n = 60, .k = 70}, nullptr, cudaStreamPerThread));
  ASSERT_EQ(xgemm_set_stream(nullptr, nullptr), 0);
  ASSERT_EQ(xgemm_destroy(ctx), 0);
}

// Captures the call, replays it with other inputs, and compares with the call itself, bit by bit.
template <class T>
void capture_and_replay(const CallSpec& spec, cudaStreamCaptureMode mode) {
  Context ctx;
  Call<T> call(spec);
  XGEMM_CHECK_CUDA(cudaStreamBeginCapture(ctx.stream(), mode));
  const int status = call.enqueue(ctx);
  cudaGraph_t graph = nullptr;
  XGEMM_CHECK_CUDA(cudaStreamEndCapture(ctx.stream(), &graph));
  ASSERT_EQ(status, 0) << xgemm_last_error();
  ASSERT_NE(graph, nullptr);
  cudaGraphExec_t executable = nullptr;
  XGEMM_CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  for (int replay = 0; replay < 3; ++replay) {
    Contents contents = call.a.contents();
    contents.seed += 100;
    call.a.refill(contents);
    call.c.refill();
    XGEMM_CHECK_CUDA(cudaGraphLaunch(executable, ctx.stream()));
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
    EXPECT_TRUE(call.check(7));
    Call<T> eager(spec);
    eager.a.refill(contents);
    ASSERT_EQ(eager.enqueue(ctx), 0);
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
    EXPECT_TRUE(same_bits(call.c, eager.c)) << spec;
  }
  XGEMM_CHECK_CUDA(cudaGraphExecDestroy(executable));
  XGEMM_CHECK_CUDA(cudaGraphDestroy(graph));
}

TYPED_TEST(StreamsSmall, GraphsInEveryMode) {
  for (const CallSpec& spec : varied_specs())
    for (cudaStreamCaptureMode mode :
         {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed})
      capture_and_replay<TypeParam>(spec, mode);
}

// The first call of a process may be one that is captured: each runs in a process of its own.
TYPED_TEST(Streams, FirstCallIsCaptured) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const CallSpec whole{.m = 256, .n = 256, .k = 256}, split{.transb = 'T', .m = 752, .n = 176, .k = 2592};
  for (const CallSpec& spec : {whole, split})
    for (cudaStreamCaptureMode mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal})
      EXPECT_EXIT(
          {
            capture_and_replay<TypeParam>(spec, mode);
            std::_Exit(testing::Test::HasFailure());
          },
          testing::ExitedWithCode(0), "")
          << spec << " in mode " << mode;
}

TYPED_TEST(Streams, CapturesInSeveralThreadsAtOnce) {
  for (const CallSpec& spec : varied_specs()) {  // loaded before threads capture
    Context ctx;
    ASSERT_TRUE(serve<TypeParam>(spec, ctx, ctx.stream(), 7));
  }
  // Contexts and operands are made first: what makes them is not allowed while another thread captures in global mode.
  struct Job {
    Context ctx;
    std::unique_ptr<Call<TypeParam>> call;
    cudaGraph_t graph = nullptr;
    cudaError_t begun = cudaErrorUnknown, ended = cudaErrorUnknown;
    int status = -1;
  };
  for (cudaStreamCaptureMode mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    const std::vector<CallSpec> specs = varied_specs();
    std::vector<Job> jobs(specs.size());
    for (std::size_t t = 0; t < jobs.size(); ++t) jobs[t].call = std::make_unique<Call<TypeParam>>(specs[t]);
    std::vector<std::thread> threads;
    for (Job& job : jobs)
      threads.emplace_back([&job, mode] {
        job.begun = cudaStreamBeginCapture(job.ctx.stream(), mode);
        job.status = job.call->enqueue(job.ctx);
        job.ended = cudaStreamEndCapture(job.ctx.stream(), &job.graph);
      });
    for (std::thread& thread : threads) thread.join();
    for (Job& job : jobs) {
      ASSERT_EQ(job.begun, cudaSuccess);
      ASSERT_EQ(job.status, 0) << job.call->spec();
      ASSERT_EQ(job.ended, cudaSuccess) << job.call->spec();
      cudaGraphExec_t executable = nullptr;
      XGEMM_CHECK_CUDA(cudaGraphInstantiate(&executable, job.graph, 0));
      XGEMM_CHECK_CUDA(cudaGraphLaunch(executable, job.ctx.stream()));
      XGEMM_CHECK_CUDA(cudaStreamSynchronize(job.ctx.stream()));
      EXPECT_TRUE(job.call->check(7));
      XGEMM_CHECK_CUDA(cudaGraphExecDestroy(executable));
      XGEMM_CHECK_CUDA(cudaGraphDestroy(job.graph));
    }
  }
}

// Calls in one thread, each the first of its kind, while another one captures; whether all went well.
template <class T>
bool first_calls_beside_a_capture() {
  Context captured, eager;
  std::vector<std::unique_ptr<Call<T>>> calls;
  for (const CallSpec& spec : varied_specs()) calls.push_back(std::make_unique<Call<T>>(spec));
  const Call<T> own({.m = 64, .n = 64, .k = 8000});
  XGEMM_CHECK_CUDA(cudaStreamBeginCapture(captured.stream(), cudaStreamCaptureModeGlobal));
  std::thread([&] {
    for (const auto& call : calls) EXPECT_EQ(call->enqueue(eager), 0) << call->spec() << xgemm_last_error();
  }).join();
  EXPECT_EQ(own.enqueue(captured), 0) << xgemm_last_error();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(captured.stream(), &graph), cudaSuccess);
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(eager.stream()));
  for (const auto& call : calls) EXPECT_TRUE(call->check(7));
  return !testing::Test::HasFailure();
}

// Kernels may be loaded, and pools made, by the calls beside a capture, which is none the worse for it.
TYPED_TEST(Streams, FirstCallsBesideACapture) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(first_calls_beside_a_capture<TypeParam>() ? 0 : 1), testing::ExitedWithCode(0), "");
}

// What fails for another reason than memory is not called a lack of it, and C is as it was.
TYPED_TEST(Streams, AnInvalidCaptureIsAnErrorOfCudas) {
  Context ctx;
  Call<TypeParam> call({.m = 64, .n = 64, .k = 8000, .beta = 1});
  XGEMM_CHECK_CUDA(cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeGlobal));
  EXPECT_NE(cudaStreamSynchronize(ctx.stream()), cudaSuccess);  // which makes it invalid
  EXPECT_EQ(call.enqueue(ctx), XGEMM_CUDA_ERROR) << xgemm_last_error();
  EXPECT_NE(std::string(xgemm_last_error()).find("cudaErrorStreamCaptureInvalidated"), std::string::npos)
      << xgemm_last_error();
  cudaGraph_t graph = nullptr;
  EXPECT_NE(cudaStreamEndCapture(ctx.stream(), &graph), cudaSuccess);
  cudaGetLastError();
  XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
  EXPECT_TRUE(call.c.unchanged());
}

// CUDA must not be called from a callback of a stream: a call there says so, and later ones are as ever.
TYPED_TEST(Streams, CallsFromACallback) {
  struct Both {
    Call<TypeParam> on_device, split;
    Context other;
    int status[2] = {0, 0};
  };
  Context ctx;
  Both both{Call<TypeParam>({.m = 100, .n = 90, .k = 80}), Call<TypeParam>({.m = 64, .n = 64, .k = 8000}), {}, {}};
  XGEMM_CHECK_CUDA(cudaLaunchHostFunc(
      ctx.stream(),
      [](void* data) {
        auto& b = *static_cast<Both*>(data);
        b.status[0] = b.on_device.enqueue(b.other);
        b.status[1] = b.split.enqueue(b.other);
      },
      &both));
  XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(both.status[i], XGEMM_CUDA_ERROR);
  EXPECT_TRUE(both.on_device.c.unchanged() && both.split.c.unchanged());
  ASSERT_EQ(both.split.enqueue(ctx), 0) << xgemm_last_error();
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
  EXPECT_TRUE(both.split.check());
}

TYPED_TEST(Streams, DeviceScalarsChangeBetweenReplays) {
  Context ctx;
  ASSERT_EQ(xgemm_set_scalar_location(ctx, XGEMM_SCALARS_ON_DEVICE), 0);
  using Scalar = typename Call<TypeParam>::Scalar;
  Operand<Scalar> scalars({2, 1, 2}, {});
  const auto set = [&](Scalar alpha, Scalar beta) {
    const Scalar values[] = {alpha, beta};
    XGEMM_CHECK_CUDA(cudaMemcpy(scalars.data(), values, sizeof values, cudaMemcpyDefault));
  };
  set(1, 0);
  Call<TypeParam> call({.m = 150, .n = 140, .k = 130});
  xgemm_args args = call.args();
  args.alpha = scalars.data();
  args.beta = scalars.data() + 1;
  ASSERT_EQ(xgemm_gemm(ctx, &args), 0) << xgemm_last_error();
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  XGEMM_CHECK_CUDA(cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeGlobal));
  ASSERT_EQ(xgemm_gemm(ctx, &args), 0) << xgemm_last_error();
  XGEMM_CHECK_CUDA(cudaStreamEndCapture(ctx.stream(), &graph));
  XGEMM_CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  for (auto [alpha, beta] : {std::pair{2.0f, 0.0f}, {0.0f, 0.0f}, {-1.0f, 0.5f}, {0.0f, 2.0f}}) {
    set(alpha, beta);
    Contents contents{9, beta == 0};
    call.c.refill(contents);
    XGEMM_CHECK_CUDA(cudaGraphLaunch(executable, ctx.stream()));
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
    EXPECT_TRUE(judge<TypeParam>({'N', 'N', 150, 140, 130, alpha, beta, 1}, call.a, call.b, call.c));
  }
  XGEMM_CHECK_CUDA(cudaGraphExecDestroy(executable));
  XGEMM_CHECK_CUDA(cudaGraphDestroy(graph));
}

// One thread, many streams, no waiting in between.
TYPED_TEST(Streams, ManyStreamsAtOnce) {
  std::vector<std::unique_ptr<Context>> contexts;
  for (int i = 0; i < 8; ++i) contexts.push_back(std::make_unique<Context>());
  const std::vector<CallSpec> specs = varied_specs();
  std::vector<std::unique_ptr<Call<TypeParam>>> calls;
  for (std::size_t i = 0; i < 64; ++i) {
    CallSpec spec = specs[i % specs.size()];
    spec.seed = i + 1;
    calls.push_back(std::make_unique<Call<TypeParam>>(spec));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) ASSERT_EQ(calls[i]->enqueue(*contexts[i * 5 % 8]), 0);
  XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
  for (const auto& call : calls) ASSERT_TRUE(call->check(7));
}

TYPED_TEST(Streams, ThreadsWithContextsOfTheirOwn) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t] {
      Context ctx;
      const std::vector<CallSpec> specs = varied_specs();
      for (std::size_t i = 0; i < 24; ++i) {
        CallSpec spec = specs[(i + static_cast<std::size_t>(t)) % specs.size()];
        spec.seed = i + 100 * static_cast<std::size_t>(t) + 1;
        EXPECT_TRUE(serve<TypeParam>(spec, ctx, ctx.stream(), 7));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// No thread ends before all are done: with CUDA 13.0, a thread that ends, and with it its own stream, while others use
// the legacy stream can leave the process hanging, without any library (six threads that only fill memory in both
// streams).
TYPED_TEST(Streams, ThreadsWithTheirDefaultContexts) {
  constexpr int kCount = 6;
  std::latch done(kCount);
  std::vector<std::thread> threads;
  for (int t = 0; t < kCount; ++t)
    threads.emplace_back([t, &done] {
      for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(serve<TypeParam>(
            {.m = 60 + 9 * t, .n = 70 + i, .k = 80, .seed = static_cast<std::uint64_t>(t * 50 + i + 1)}));
      done.arrive_and_wait();
    });
  for (std::thread& thread : threads) thread.join();
}

// Destroying a context waits for the work that it enqueued.
TYPED_TEST(Streams, ContextsEndWithTheirWork) {
  for (int i = 0; i < 10; ++i) {
    cudaStream_t stream = nullptr;
    XGEMM_CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    xgemm_context* ctx = nullptr;
    ASSERT_EQ(xgemm_create(&ctx), 0);
    ASSERT_EQ(xgemm_set_stream(ctx, stream), 0);
    Call<TypeParam> call({.m = 700, .n = 700, .k = 700});
    ASSERT_EQ(call.enqueue(ctx), 0);
    ASSERT_EQ(xgemm_destroy(ctx), 0);
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(stream));
    EXPECT_TRUE(call.check(101));
    XGEMM_CHECK_CUDA(cudaStreamDestroy(stream));
  }
}

// With a workspace lent by the user, and without again.
TYPED_TEST(Streams, LentWorkspace) {
  Context ctx;
  const std::size_t bytes = std::size_t{32} << 20;
  void* workspace = nullptr;
  XGEMM_CHECK_CUDA(cudaMalloc(&workspace, bytes));
  ASSERT_EQ(xgemm_set_workspace(ctx, workspace, bytes), 0) << xgemm_last_error();
  for (const CallSpec& spec : varied_specs()) EXPECT_TRUE(serve<TypeParam>(spec, ctx, ctx.stream(), 7));
  ASSERT_EQ(xgemm_set_workspace(ctx, nullptr, 0), 0);
  for (const CallSpec& spec : varied_specs()) EXPECT_TRUE(serve<TypeParam>(spec, ctx, ctx.stream(), 7));
  XGEMM_CHECK_CUDA(cudaFree(workspace));
}

// ---- Calls of all types beside and after one another -------------------------------------------------------------

// A call of any type.
class AnyCall {
 public:
  virtual ~AnyCall() = default;
  virtual int enqueue(xgemm_context* ctx) const = 0;
  virtual void refill(std::uint64_t seed) = 0;  // A by the seed, and C as it was
  virtual bool same_result(const AnyCall& other) const = 0;
  virtual testing::AssertionResult check() const = 0;
  virtual const CallSpec& spec() const = 0;
};

template <class T>
class CallOf final : public AnyCall {
 public:
  explicit CallOf(const CallSpec& spec) : call_(spec) {}
  int enqueue(xgemm_context* ctx) const override { return call_.enqueue(ctx); }
  void refill(std::uint64_t seed) override {
    Contents contents = call_.a.contents();
    contents.seed = seed;
    call_.a.refill(contents);
    call_.c.refill();
  }
  bool same_result(const AnyCall& other) const override {
    return same_bits(call_.c, static_cast<const CallOf&>(other).call_.c);
  }
  testing::AssertionResult check() const override { return call_.check(101); }
  const CallSpec& spec() const override { return call_.spec(); }

 private:
  Call<T> call_;
};

using Calls = std::vector<std::unique_ptr<AnyCall>>;

// All types: shapes for tensor cores, splits of K, edges, operands that no vector fits, batches.
Calls mixed_calls() {
  const CallSpec specs[] = {{.m = 256, .n = 256, .k = 1024},
                            {.m = 64, .n = 64, .k = 16384},
                            {.transa = 'T', .m = 128, .n = 128, .k = 8192, .beta = 1},
                            {.m = 1024, .n = 1024, .k = 512, .alpha = 0.5f, .beta = 2},
                            {.transa = 'T', .m = 4096, .n = 16, .k = 2048},
                            {.transb = 'T', .m = 33, .n = 65, .k = 129, .pad_a = 1, .pad_c = 3},
                            {.m = 1000, .n = 1000, .k = 1000, .row_major = true},
                            {.transa = 'T', .transb = 'T', .m = 200, .n = 120, .k = 64, .batch = 5}};
  Calls calls;
  for (const CallSpec& spec : specs) {
    calls.push_back(std::make_unique<CallOf<float>>(spec));
    calls.push_back(std::make_unique<CallOf<Half>>(spec));
    calls.push_back(std::make_unique<CallOf<Bfloat16>>(spec));
    calls.push_back(std::make_unique<CallOf<WideC<Half>>>(spec));
    calls.push_back(std::make_unique<CallOf<WideC<Bfloat16>>>(spec));
  }
  return calls;
}

// One after the other, each waited for.
void run_serially(const Calls& calls, const Context& ctx) {
  for (const auto& call : calls) {
    ASSERT_EQ(call->enqueue(ctx), 0) << xgemm_last_error();
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
  }
}

class StreamsTogether : public testing::Test {
 protected:
  void SetUp() override { XGEMM_SKIP_WITHOUT_DEVICE(); }
};

TEST_F(StreamsTogether, RacingThreadsGetTheBitsOfASerialRun) {
  const Calls expected = mixed_calls();
  Context serial;
  ASSERT_NO_FATAL_FAILURE(run_serially(expected, serial));
  for (const auto& call : expected) ASSERT_TRUE(call->check());
  // Each thread goes through the calls in steps of its own, which have no divisor in common with their number.
  constexpr std::size_t kSteps[] = {1, 3, 7, 11, 13, 17};
  const auto order = [&](std::size_t i, std::size_t t, std::size_t round) {
    return (i * kSteps[t] + round) % expected.size();
  };
  for (const std::size_t step : kSteps) ASSERT_EQ(std::gcd(step, expected.size()), 1u);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < std::size(kSteps); ++t)
    threads.emplace_back([&expected, &order, t] {
      Context ctx;
      const Calls calls = mixed_calls();
      for (std::size_t round = 0; round < 5; ++round) {
        if (round > 0)
          for (const auto& call : calls) call->refill(call->spec().seed * 3 + 1);
        for (std::size_t i = 0; i < calls.size(); ++i)
          EXPECT_EQ(calls[order(i, t, round)]->enqueue(ctx), 0) << xgemm_last_error();
        XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
        for (std::size_t i = 0; i < calls.size(); ++i)
          EXPECT_TRUE(calls[i]->same_result(*expected[i]))
              << calls[i]->spec() << ", type " << i % 5 << ", thread " << t << ", round " << round;
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// A context goes from stream to stream without waiting: what it holds must not be handed on too early.
TEST_F(StreamsTogether, OneContextOnTwoStreamsInTurn) {
  const Calls expected = mixed_calls();
  Context first, second;
  ASSERT_NO_FATAL_FAILURE(run_serially(expected, first));
  xgemm_context* shared = nullptr;
  ASSERT_EQ(xgemm_create(&shared), 0);
  const Calls calls = mixed_calls();
  for (int round = 0; round < 5; ++round) {
    for (const auto& call : calls) call->refill(call->spec().seed * 3 + 1);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      ASSERT_EQ(xgemm_set_stream(shared, (i % 2 == 0 ? first : second).stream()), 0);
      ASSERT_EQ(calls[i]->enqueue(shared), 0) << xgemm_last_error();
    }
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(first.stream()));
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(second.stream()));
    for (std::size_t i = 0; i < calls.size(); ++i)
      EXPECT_TRUE(calls[i]->same_result(*expected[i])) << calls[i]->spec() << " round " << round;
  }
  ASSERT_EQ(xgemm_destroy(shared), 0);
}

// Many calls in one graph, replayed over and over with other data.
TEST_F(StreamsTogether, OneGraphOfManyCalls) {
  for (const cudaStreamCaptureMode mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeRelaxed}) {
    Context ctx;
    const Calls calls = mixed_calls(), eager = mixed_calls();
    ASSERT_NO_FATAL_FAILURE(run_serially(calls, ctx));  // loads the kernels
    cudaGraph_t graph = nullptr;
    XGEMM_CHECK_CUDA(cudaStreamBeginCapture(ctx.stream(), mode));
    std::vector<int> statuses;
    for (const auto& call : calls) statuses.push_back(call->enqueue(ctx));
    XGEMM_CHECK_CUDA(cudaStreamEndCapture(ctx.stream(), &graph));
    for (std::size_t i = 0; i < calls.size(); ++i) ASSERT_EQ(statuses[i], 0) << calls[i]->spec();
    ASSERT_NE(graph, nullptr);
    cudaGraphExec_t executable = nullptr;
    XGEMM_CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (std::uint64_t replay = 1; replay <= 20; ++replay) {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        calls[i]->refill(1000 * replay + i);
        eager[i]->refill(1000 * replay + i);
      }
      XGEMM_CHECK_CUDA(cudaGraphLaunch(executable, ctx.stream()));
      XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
      ASSERT_NO_FATAL_FAILURE(run_serially(eager, ctx));
      for (std::size_t i = 0; i < calls.size(); ++i)
        ASSERT_TRUE(calls[i]->same_result(*eager[i])) << calls[i]->spec() << " replay " << replay;
    }
    for (const auto& call : calls) EXPECT_TRUE(call->check());
    XGEMM_CHECK_CUDA(cudaGraphExecDestroy(executable));
    XGEMM_CHECK_CUDA(cudaGraphDestroy(graph));
  }
}

// ---- Products of products ----------------------------------------------------------------------------------------

// X[1] := s A X[0], X[0] := s X[1] A + X[0] / 4, and so on: each product reads what the one before has written, and
// overwrites what it has read. s keeps the size of the elements.
template <class T>
class Chain {
 public:
  Chain(std::int64_t n, std::int64_t pad)
      : n_(n), a_(layout(n, pad), {1}), x_{Operand<T>(layout(n, pad), {2}), Operand<T>(layout(n, pad), {3})} {}

  void refill() {
    for (Operand<T>& x : x_) x.refill();
  }

  // Of `links` products.
  int enqueue(const Context& ctx, int links, bool waits) const {
    using Scalar = typename Call<T>::Scalar;
    const Scalar alpha = std::sqrt(3 / static_cast<Scalar>(n_)), zero = 0, quarter = 0.25;
    for (int link = 0; link < links; ++link) {
      const Operand<T>&from = x_[link % 2], &to = x_[(link + 1) % 2];
      const bool from_left = link % 2 == 1;
      xgemm_args args = XGEMM_ARGS_INIT;
      args.type = kTypeOf<T>;
      args.transa = link % 3 == 1 ? 'T' : 'N';
      args.transb = link % 4 == 2 ? 'T' : 'N';
      args.m = args.n = args.k = n_;
      args.alpha = &alpha;
      args.beta = link % 2 == 1 ? &quarter : &zero;
      args.a = from_left ? from.data() : a_.data();
      args.b = from_left ? a_.data() : from.data();
      args.c = to.data();
      args.lda = args.ldb = args.ldc = a_.layout().ld;
      if (const int status = xgemm_gemm(ctx, &args); status != 0) return status;
      if (waits) XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
    }
    return 0;
  }

  bool same_result(const Chain& other) const { return same_bits(x_[0], other.x_[0]) && same_bits(x_[1], other.x_[1]); }

 private:
  static Layout layout(std::int64_t n, std::int64_t pad) { return {n, n, n + pad}; }

  std::int64_t n_;
  Operand<T> a_, x_[2];
};

TYPED_TEST(Streams, DependentProductsBackToBack) {
  Context ctx;
  for (auto [n, pad] : {std::pair<std::int64_t, std::int64_t>{32, 0},
                        {64, 0},
                        {128, 8},
                        {256, 0},
                        {500, 4},
                        {512, 0},
                        {777, 2},
                        {1024, 0},
                        {2048, 0}}) {
    Chain<TypeParam> waited(n, pad), flowing(n, pad);
    ASSERT_EQ(waited.enqueue(ctx, 10, true), 0) << xgemm_last_error();
    for (int round = 0; round < 8; ++round) {
      flowing.refill();
      ASSERT_EQ(flowing.enqueue(ctx, 10, false), 0) << xgemm_last_error();
      XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
      ASSERT_TRUE(flowing.same_result(waited)) << "n = " << n << ", round " << round;
    }
  }
}

TYPED_TEST(Streams, DependentProductsInAGraph) {
  Context ctx;
  for (const std::int64_t n : {128, 512, 1000}) {
    Chain<TypeParam> waited(n, 0), replayed(n, 0);
    ASSERT_EQ(waited.enqueue(ctx, 10, true), 0) << xgemm_last_error();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    XGEMM_CHECK_CUDA(cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeRelaxed));
    const int status = replayed.enqueue(ctx, 10, false);
    XGEMM_CHECK_CUDA(cudaStreamEndCapture(ctx.stream(), &graph));
    ASSERT_EQ(status, 0) << xgemm_last_error();
    ASSERT_NE(graph, nullptr);
    XGEMM_CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (int round = 0; round < 8; ++round) {
      replayed.refill();
      XGEMM_CHECK_CUDA(cudaGraphLaunch(executable, ctx.stream()));
      XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
      ASSERT_TRUE(replayed.same_result(waited)) << "n = " << n << ", round " << round;
    }
    XGEMM_CHECK_CUDA(cudaGraphExecDestroy(executable));
    XGEMM_CHECK_CUDA(cudaGraphDestroy(graph));
  }
}

}  // namespace
}  // namespace xgemm::gpu_test
