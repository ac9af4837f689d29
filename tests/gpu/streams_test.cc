// Streams, graphs and threads: calls on device memory only enqueue, can be captured from any thread in any mode, and do
// not disturb one another.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <thread>
#include <vector>

#include "call.h"

namespace xgemm::gpu_test {
namespace {

template <class T>
class StreamsSmall : public BothTypes<T> {};
TYPED_TEST_SUITE(StreamsSmall, ElementTypes);

template <class T>
class Streams : public BothTypes<T> {};
TYPED_TEST_SUITE(Streams, ElementTypes);

std::vector<CallSpec> varied_specs() {
  return {{.m = 100, .n = 90, .k = 80, .pad_a = 1},
          {.transa = 'T', .m = 512, .n = 256, .k = 300, .beta = 1},
          {.transb = 'T', .m = 33, .n = 700, .k = 65, .alpha = -1},
          {.m = 64, .n = 64, .k = 8000},
          {.transa = 'T', .transb = 'T', .m = 120, .n = 130, .k = 50, .beta = 2, .batch = 6},
          {.m = 1, .n = 1000, .k = 1000},
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
  // Once before: the capture must not be the call that loads the kernel, in the modes in which that is forbidden.
  ASSERT_EQ(call.enqueue(ctx), 0) << xgemm_last_error();
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
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

TYPED_TEST(Streams, DeviceScalarsChangeBetweenReplays) {
  Context ctx;
  ASSERT_EQ(xgemm_set_scalar_location(ctx, XGEMM_SCALARS_ON_DEVICE), 0);
  Operand<float> scalars({2, 1, 2}, {});
  const auto set = [&](float alpha, float beta) {
    const float values[] = {alpha, beta};
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

TYPED_TEST(Streams, ThreadsWithTheirDefaultContexts) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(serve<TypeParam>(
            {.m = 60 + 9 * t, .n = 70 + i, .k = 80, .seed = static_cast<std::uint64_t>(t * 50 + i + 1)}));
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

}  // namespace
}  // namespace xgemm::gpu_test
