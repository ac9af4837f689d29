// Matrices on the GPU: calls only enqueue, so they can run on a stream of one's own and be captured in a CUDA graph,
// which then replays them with one launch. SPDX-License-Identifier: BSD-3-Clause
#include <cuda_runtime.h>
#include <xgemm.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void must(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

static void must(int status, const char* what) {
  if (status == XGEMM_SUCCESS) return;
  std::fprintf(stderr, "%s: %s: %s\n", what, xgemm_status_string(status), xgemm_last_error());
  std::exit(1);
}

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("There is no GPU here: skipped.\n");
    return 77;
  }

  constexpr int64_t n = 256;
  constexpr int replays = 10;
  const size_t bytes = n * n * sizeof(float);
  const std::vector<float> ones(n * n, 1.0f);
  float *a, *b, *c;
  must(cudaMalloc(&a, bytes), "cudaMalloc");
  must(cudaMalloc(&b, bytes), "cudaMalloc");
  must(cudaMalloc(&c, bytes), "cudaMalloc");
  must(cudaMemcpy(a, ones.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  must(cudaMemcpy(b, ones.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  must(cudaMemset(c, 0, bytes), "cudaMemset");

  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  xgemm_context* ctx;
  must(xgemm_create(&ctx), "xgemm_create");
  must(xgemm_set_stream(ctx, stream), "xgemm_set_stream");

  const float alpha = 1.0f, beta = 1.0f;
  xgemm_args args = XGEMM_ARGS_INIT;
  args.m = args.n = args.k = args.lda = args.ldb = args.ldc = n;
  args.alpha = &alpha;
  args.a = a;
  args.b = b;
  args.beta = &beta;  // C += A * B
  args.c = c;

  cudaGraph_t graph;
  cudaGraphExec_t replay;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  must(xgemm_gemm(ctx, &args), "xgemm_gemm");
  must(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  must(cudaGraphInstantiate(&replay, graph, 0), "cudaGraphInstantiate");
  for (int i = 0; i < replays; ++i) must(cudaGraphLaunch(replay, stream), "cudaGraphLaunch");
  must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");

  std::vector<float> result(n * n);
  must(cudaMemcpy(result.data(), c, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  for (float x : result) {
    if (x != replays * n) {
      std::fprintf(stderr, "%g instead of %g\n", x, static_cast<double>(replays * n));
      return 1;
    }
  }
  std::printf("%d replays of one captured product: right.\n", replays);

  must(cudaGraphExecDestroy(replay), "cudaGraphExecDestroy");
  must(cudaGraphDestroy(graph), "cudaGraphDestroy");
  must(xgemm_destroy(ctx), "xgemm_destroy");
  must(cudaStreamDestroy(stream), "cudaStreamDestroy");
  must(cudaFree(a), "cudaFree");
  must(cudaFree(b), "cudaFree");
  must(cudaFree(c), "cudaFree");
  return 0;
}
