// Calls in XGEMM_MATH_FP32_EMULATED: what they give, that they are emulated, and what is not.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include "call.h"
#include "device_matrix.h"
#include "hog.h"

namespace xgemm::gpu_test {
namespace {

constexpr char kFlags[] = {'N', 'T'};

class Emulated : public testing::Test {
 protected:
  void SetUp() override {
    XGEMM_SKIP_WITHOUT_HOPPER();
    CallSpec spec{.m = 4096, .n = 4096, .k = 4096};
    Call<float> call(spec);
    ASSERT_NE(kernel_of(call).find("fp16x3"), std::string::npos) << kernel_of(call);
  }

  static xgemm_args args_of(const Call<float>& call) {
    xgemm_args args = call.args();
    args.math_mode = XGEMM_MATH_FP32_EMULATED + 1;
    return args;
  }
  static std::string kernel_of(const Call<float>& call) {
    const xgemm_args args = args_of(call);
    std::string text(16384, '\0');
    EXPECT_EQ(xgemm_explain(nullptr, &args, text.data(), text.size()), 0) << xgemm_last_error();
    return text.substr(0, text.find('\n'));
  }
  static void run(const Call<float>& call, xgemm_context* ctx = nullptr) {
    const xgemm_args args = args_of(call);
    ASSERT_EQ(xgemm_gemm(ctx, &args), 0) << xgemm_last_error();
  }
  static void run_and_wait(const Call<float>& call) {
    run(call);
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
  }
};

TEST_F(Emulated, LargeProductsOfAllFlags) {
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (float beta : {0.0f, -0.5f}) {
        Call<float> call({.transa = transa,
                          .transb = transb,
                          .m = 2049,
                          .n = 2300,
                          .k = 2111,
                          .alpha = 1.5f,
                          .beta = beta,
                          .row_major = beta == 0,
                          .pad_a = 3,
                          .pad_b = 1,
                          .pad_c = 5,
                          .shift_a = 1,
                          .shift_c = 3});
        EXPECT_NE(kernel_of(call).find("fp16x3"), std::string::npos);
        run_and_wait(call);
        ASSERT_TRUE(call.check(61)) << transa << transb;
      }
}

// A CTA of the pass holds 1024 of K, a cluster of eight all of it; lines start anywhere or on 8 or 16 bytes.
TEST_F(Emulated, BordersOfClusters) {
  for (const std::int64_t k : {1025, 2047, 3072, 7169, 8192})
    for (char trans : kFlags)
      for (const std::int64_t pad : {0, 1, 2}) {
        Call<float> call({.transa = trans,
                          .transb = trans,
                          .m = 2047,
                          .n = 2050,
                          .k = k,
                          .pad_a = pad,
                          .pad_b = pad,
                          .shift_b = pad});
        EXPECT_NE(kernel_of(call).find("fp16x3"), std::string::npos);
        run_and_wait(call);
        ASSERT_TRUE(call.check(997)) << trans << k << pad;
      }
}

TEST_F(Emulated, MoreThanABlock) {
  Call<float> call({.m = 8300, .n = 2100, .k = 8400, .alpha = -1, .beta = 2, .pad_c = 1});
  EXPECT_NE(kernel_of(call).find("fp16x3"), std::string::npos);
  run_and_wait(call);
  EXPECT_TRUE(call.check(997));
}

TEST_F(Emulated, WhatIsNotSafeIsComputedStrictly) {
  for (const float special : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30f}) {
    Call<float> call({.transb = 'T', .m = 2048, .n = 2048, .k = 2048, .beta = 1});
    const std::int64_t before = xgemm_fp32_fallbacks();
    run_and_wait(call);
    EXPECT_EQ(xgemm_fp32_fallbacks(), before);
    Contents contents = call.b.contents();
    contents.special_i = 77;
    contents.special_j = 2047;
    contents.special = special;
    call.b.refill(contents);
    call.c.refill();
    run_and_wait(call);
    EXPECT_EQ(xgemm_fp32_fallbacks(), before + 1);
    EXPECT_TRUE(call.check(61)) << special;
  }
}

// The second time with an operand that was prepared before.
TEST_F(Emulated, IsCapturedAndGivesTheSameBits) {
  const CallSpec spec{.transa = 'T', .m = 2100, .n = 1999, .k = 2048, .beta = 0.5f};
  Call<float> plain(spec), replayed(spec);
  run_and_wait(plain);
  cudaStream_t stream = nullptr;
  XGEMM_CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  xgemm_context* ctx = nullptr;
  ASSERT_EQ(xgemm_create(&ctx), 0);
  ASSERT_EQ(xgemm_set_stream(ctx, stream), 0);
  xgemm_args args = args_of(replayed);
  xgemm_prepared* handle = nullptr;
  for (const bool prepared : {false, true}) {
    if (prepared) {
      ASSERT_EQ(xgemm_prepare(ctx, &args, XGEMM_ARG_B, &handle), 0) << xgemm_last_error();
      args.prepared_b = handle;
    }
    XGEMM_CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    ASSERT_EQ(xgemm_gemm(ctx, &args), 0) << xgemm_last_error();
    cudaGraph_t graph = nullptr;
    XGEMM_CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t executable = nullptr;
    XGEMM_CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (int run = 0; run < 3; ++run) {
      replayed.c.refill();
      XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
      XGEMM_CHECK_CUDA(cudaGraphLaunch(executable, stream));
      XGEMM_CHECK_CUDA(cudaStreamSynchronize(stream));
      EXPECT_TRUE(same_bits(plain.c, replayed.c)) << prepared;
    }
    XGEMM_CHECK_CUDA(cudaGraphExecDestroy(executable));
    XGEMM_CHECK_CUDA(cudaGraphDestroy(graph));
  }
  EXPECT_EQ(xgemm_release(handle), 0);
  xgemm_destroy(ctx);
  XGEMM_CHECK_CUDA(cudaStreamDestroy(stream));
}

TEST_F(Emulated, Batches) {
  for (const bool shares_a : {false, true})
    for (const bool shares_b : {false, true}) {
      Call<float> call({.transa = shares_a ? 'N' : 'T',
                        .m = 1100,
                        .n = 900,
                        .k = 1000,
                        .alpha = 0.5f,
                        .beta = shares_a ? 0.0f : 1.0f,
                        .pad_a = 1,
                        .batch = 5,
                        .gap = 7,
                        .shares_a = shares_a,
                        .shares_b = shares_b});
      EXPECT_NE(kernel_of(call).find("fp16x3"), std::string::npos);
      const std::int64_t before = xgemm_fp32_fallbacks();
      run_and_wait(call);
      EXPECT_EQ(xgemm_fp32_fallbacks(), before);
      ASSERT_TRUE(call.check(61)) << shares_a << shares_b;
    }
}

// Operands of more than are split at once.
TEST_F(Emulated, BatchesOfSeveralBlocks) {
  Call<float> call({.transb = 'T', .m = 600, .n = 2100, .k = 2048, .batch = 30});
  EXPECT_NE(kernel_of(call).find("fp16x3"), std::string::npos);
  run_and_wait(call);
  EXPECT_TRUE(call.check(997));
}

// The parts go to a workspace that is lent. The first call loads the kernels, which takes CUDA some memory: it has room
// for all parts; the second has none beside 5 MiB.
TEST_F(Emulated, ScarceMemoryChangesNoBits) {
  for (const bool safe : {true, false}) {
    const CallSpec spec{.m = 3000, .n = 2900, .k = 1024, .beta = 0.5f, .batch = 2};
    Call<float> plenty(spec), scarce(spec);
    EXPECT_NE(kernel_of(plenty).find("fp16x3"), std::string::npos);
    for (const bool is_scarce : {false, true}) {
      Call<float>& call = is_scarce ? scarce : plenty;
      if (!safe) {
        Contents contents = call.a.contents();
        contents.special_i = 2999;
        contents.special_j = 5;
        contents.special = 1e30f;
        call.a.refill(contents);
      }
      const std::int64_t before = xgemm_fp32_fallbacks();
      const std::size_t bytes = std::size_t{is_scarce ? 5u : 128u} << 20;
      void* lent = nullptr;
      XGEMM_CHECK_CUDA(cudaMalloc(&lent, bytes));
      {
        std::optional<Hog> hog;
        if (is_scarce) hog.emplace();
        xgemm_context* ctx = nullptr;
        ASSERT_EQ(xgemm_create(&ctx), 0);
        ASSERT_EQ(xgemm_set_workspace(ctx, lent, bytes), 0);
        run(call, ctx);
        XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
        xgemm_destroy(ctx);
      }
      XGEMM_CHECK_CUDA(cudaFree(lent));
      EXPECT_EQ(xgemm_fp32_fallbacks(), before + (safe ? 0 : 1));
    }
    EXPECT_TRUE(same_bits(plenty.c, scarce.c));
    EXPECT_TRUE(plenty.check(61));
  }
}

TEST_F(Emulated, AnOperandThatIsNotAlignedIsNotPrepared) {
  Call<float> call({.m = 256, .n = 256, .k = 600});
  xgemm_args args = call.args();
  args.a = reinterpret_cast<const char*>(args.a) + 2;
  xgemm_prepared* handle = nullptr;
  Context ctx;
  EXPECT_EQ(xgemm_prepare(ctx, &args, XGEMM_ARG_A, &handle), -XGEMM_ARG_A);
  EXPECT_NE(std::string(xgemm_last_error()).find("a multiple of 4 is required"), std::string::npos);
  EXPECT_EQ(handle, nullptr);
  XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
}

// The word that counts fallbacks is the host's, whatever becomes of the device.
TEST_F(Emulated, FallbacksAreKnownAfterAReset) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        {
          const Call<float> call({.m = 2048, .n = 2048, .k = 2048});
          xgemm_args args = call.args();
          args.math_mode = XGEMM_MATH_FP32_EMULATED + 1;
          if (xgemm_gemm(nullptr, &args) != 0) std::_Exit(1);
        }
        XGEMM_CHECK_CUDA(cudaDeviceReset());
        std::_Exit(xgemm_fp32_fallbacks() >= 0 ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
}

// One operand, the other one or both: the bits of the product without, whether it is emulated or left to fp32, in
// several blocks and in batches that share an operand.
TEST_F(Emulated, PreparedOperandsChangeNoBits) {
  const CallSpec specs[] = {
      {.transa = 'T', .m = 2100, .n = 1900, .k = 2048, .beta = 0.5f},
      {.transb = 'T', .m = 1500, .n = 2047, .k = 1999, .row_major = true, .pad_a = 3, .pad_b = 1, .shift_a = 1},
      {.m = 8400, .n = 300, .k = 8300, .pad_a = 4},
      {.m = 1000, .n = 1100, .k = 1024, .batch = 4, .shares_a = true, .shares_b = true}};
  for (const CallSpec& spec : specs)
    for (const bool safe : {true, false}) {
      Call<float> plain(spec), prepared(spec);
      if (!safe) {
        for (Call<float>* call : {&plain, &prepared}) {
          Contents contents = call->a.contents();
          contents.special_i = contents.special_j = 77;
          contents.special = 1e30f;
          call->a.refill(contents);
        }
      }
      run_and_wait(plain);
      const xgemm_args described = args_of(prepared);
      xgemm_prepared *a = nullptr, *b = nullptr;
      ASSERT_EQ(xgemm_prepare(nullptr, &described, XGEMM_ARG_A, &a), 0) << xgemm_last_error();
      ASSERT_EQ(xgemm_prepare(nullptr, &described, XGEMM_ARG_B, &b), 0) << xgemm_last_error();
      for (const bool with_a : {false, true})
        for (const bool with_b : {false, true}) {
          xgemm_args args = described;
          if (with_a) args.prepared_a = a;
          if (with_b) args.prepared_b = b;
          const std::int64_t before = xgemm_fp32_fallbacks();
          prepared.c.refill();
          ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
          XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
          EXPECT_TRUE(same_bits(plain.c, prepared.c)) << spec << with_a << with_b << safe;
          EXPECT_EQ(xgemm_fp32_fallbacks() > before, !safe) << spec;
        }
      EXPECT_EQ(xgemm_release(a), 0);
      EXPECT_EQ(xgemm_release(b), 0);
    }
}

// A handle of another operand is refused.
TEST_F(Emulated, HandlesAreForTheirOperands) {
  Call<float> call({.m = 600, .n = 700, .k = 800});
  const xgemm_args args = args_of(call);
  xgemm_prepared* a = nullptr;
  ASSERT_EQ(xgemm_prepare(nullptr, &args, XGEMM_ARG_A, &a), 0) << xgemm_last_error();
  const auto refused = [&](auto change) {
    xgemm_args other = args;
    other.prepared_a = a;
    change(other);
    return xgemm_gemm(nullptr, &other) == -XGEMM_ARG_PREPARED_A;
  };
  EXPECT_FALSE(refused([](xgemm_args&) {}));
  EXPECT_TRUE(refused([](xgemm_args& x) { x.m -= 1; }));
  EXPECT_TRUE(refused([](xgemm_args& x) { x.k -= 1; }));
  EXPECT_TRUE(refused([](xgemm_args& x) { x.lda += 1; }));
  EXPECT_TRUE(refused([](xgemm_args& x) { x.transa = 'T', x.lda = 800; }));
  EXPECT_TRUE(refused([&](xgemm_args& x) { x.a = call.b.data(); }));
  EXPECT_EQ(xgemm_release(a), 0);
}

TEST_F(Emulated, SmallProductsAreStrict) {
  for (const CallSpec& spec : {CallSpec{.m = 100, .n = 90, .k = 80}, CallSpec{.m = 70, .n = 70, .k = 70, .batch = 3}}) {
    Call<float> emulated(spec), strict(spec);
    run_and_wait(emulated);
    const xgemm_args args = strict.args();
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0);
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
    EXPECT_TRUE(same_bits(emulated.c, strict.c));
  }
}

}  // namespace
}  // namespace xgemm::gpu_test
