// Contexts, threads, and the last error that each thread has for itself.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <limits.h>
#include <pthread.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "api/calls.h"
#include "api/probe.h"

namespace xgemm::test {
namespace {

TEST(Context, IsMadeAndFreed) {
  xgemm_context* ctx = nullptr;
  ASSERT_EQ(xgemm_create(&ctx), 0);
  ASSERT_NE(ctx, nullptr);
  EXPECT_EQ(xgemm_destroy(ctx), 0);
  EXPECT_EQ(xgemm_destroy(nullptr), 0);
  EXPECT_EQ(xgemm_create(nullptr), -XGEMM_ARG_CONTEXT);
  EXPECT_NE(std::string(xgemm_last_error()).find("ctx"), std::string::npos);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(xgemm_create(&ctx), 0);
    ASSERT_EQ(xgemm_destroy(ctx), 0);
  }
}

TEST(Context, SettingsAreChecked) {
  xgemm_context* made = nullptr;
  ASSERT_EQ(xgemm_create(&made), 0);
  alignas(256) static char memory[512];
  for (xgemm_context* ctx : {made, static_cast<xgemm_context*>(nullptr)}) {
    EXPECT_EQ(xgemm_set_stream(ctx, nullptr), 0);
    EXPECT_EQ(xgemm_set_math_mode(ctx, XGEMM_MATH_FP32_EMULATED), 0);
    EXPECT_EQ(xgemm_set_math_mode(ctx, XGEMM_MATH_TF32), 0);
    EXPECT_EQ(xgemm_set_math_mode(ctx, XGEMM_MATH_STRICT), 0);
    for (const int mode : {3, -1, 99}) {
      EXPECT_EQ(xgemm_set_math_mode(ctx, mode), -XGEMM_ARG_MATH_MODE);
      EXPECT_NE(std::string(xgemm_last_error()).find("mode = " + std::to_string(mode)), std::string::npos);
    }
    EXPECT_EQ(xgemm_set_scalar_location(ctx, XGEMM_SCALARS_ON_DEVICE), 0);
    EXPECT_EQ(xgemm_set_scalar_location(ctx, XGEMM_SCALARS_ON_HOST), 0);
    for (const int location : {2, -1}) {
      EXPECT_EQ(xgemm_set_scalar_location(ctx, location), -XGEMM_ARG_SCALAR_LOCATION);
      EXPECT_NE(std::string(xgemm_last_error()).find("location = " + std::to_string(location)), std::string::npos);
    }
    EXPECT_EQ(xgemm_set_workspace(ctx, memory, sizeof memory), 0);
    EXPECT_EQ(xgemm_set_workspace(ctx, nullptr, 0), 0);
    EXPECT_EQ(xgemm_set_workspace(ctx, nullptr, 10), -XGEMM_ARG_WORKSPACE);
    EXPECT_EQ(xgemm_set_workspace(ctx, memory, 0), -XGEMM_ARG_WORKSPACE);
    EXPECT_EQ(xgemm_set_workspace(ctx, memory + 128, 100), -XGEMM_ARG_WORKSPACE);
    EXPECT_NE(std::string(xgemm_last_error()).find("256"), std::string::npos);
  }
  // A refused setting changes nothing: products are as before.
  Case<float> x('N', 'N', 9, 9, 9, 1.0f, 0.0f);
  xgemm_args args = args_of(x.product, x.c.data());
  EXPECT_EQ(xgemm_gemm(made, &args), 0);
  EXPECT_TRUE(x.check());
  EXPECT_EQ(xgemm_destroy(made), 0);
}

// Scalars said to be on the device, with host operands: a status, no guess.
TEST(Context, DeviceScalarsNeedADevice) {
  xgemm_context* ctx = nullptr;
  ASSERT_EQ(xgemm_create(&ctx), 0);
  ASSERT_EQ(xgemm_set_scalar_location(ctx, XGEMM_SCALARS_ON_DEVICE), 0);
  Case<float> x('N', 'N', 9, 9, 9, 1.0f, 0.5f);
  xgemm_args args = args_of(x.product, x.c.data());
  EXPECT_NE(xgemm_gemm(ctx, &args), 0);
  EXPECT_STRNE(xgemm_last_error(), "");
  EXPECT_TRUE(x.c.same_bits(x.c_before));
  args.alpha = nullptr;
  EXPECT_EQ(xgemm_gemm(ctx, &args), -XGEMM_ARG_ALPHA);
  args.alpha = &x.product.alpha;
  args.beta = nullptr;
  EXPECT_EQ(xgemm_gemm(ctx, &args), -XGEMM_ARG_BETA);
  EXPECT_TRUE(x.c.same_bits(x.c_before));
  // Other contexts do not have this setting, and xsgemm never does.
  EXPECT_EQ(xgemm_destroy(ctx), 0);
  ASSERT_EQ(xgemm_set_scalar_location(nullptr, XGEMM_SCALARS_ON_DEVICE), 0);
  EXPECT_EQ(run(x), 0) << xgemm_last_error();
  EXPECT_TRUE(x.check());
  std::thread other([] {
    Case<float> y('N', 'N', 9, 9, 9, 1.0f, 0.5f);
    const xgemm_args theirs = args_of(y.product, y.c.data());
    EXPECT_EQ(xgemm_gemm(nullptr, &theirs), 0) << "the default context is each thread's own";
    EXPECT_TRUE(y.check());
  });
  other.join();
  ASSERT_EQ(xgemm_set_scalar_location(nullptr, XGEMM_SCALARS_ON_HOST), 0);
}

TEST(LastError, IsOfTheLastCall) {
  float c = 5;
  const float x = 2;
  EXPECT_EQ(xsgemm('?', 'N', 1, 1, 1, 1.0f, &x, 1, &x, 1, 0.0f, &c, 1), -1);
  EXPECT_STRNE(xgemm_last_error(), "");
  EXPECT_STRNE(xgemm_last_error(), "") << "reading it does not clear it";
  EXPECT_EQ(xsgemm('N', 'N', 1, 1, 1, 1.0f, &x, 1, &x, 1, 0.0f, &c, 1), 0);
  EXPECT_STREQ(xgemm_last_error(), "");
  EXPECT_EQ(xsgemm('?', 'N', 1, 1, 1, 1.0f, &x, 1, &x, 1, 0.0f, &c, 1), -1);
  EXPECT_EQ(xgemm_set_stream(nullptr, nullptr), 0);
  EXPECT_STREQ(xgemm_last_error(), "");
}

// Eight threads, each with contexts of its own and the default one: right products, and each its own errors.
TEST(Threads, ContextsServeThemAtOnce) {
  constexpr int kThreads = 8, kRounds = 150;
  std::vector<std::string> failures(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([t, &failure = failures[static_cast<std::size_t>(t)]] {
      Random random(static_cast<std::uint64_t>(t) + 1000);
      xgemm_context* contexts[3] = {};
      if (xgemm_create(&contexts[1]) != 0 || xgemm_create(&contexts[2]) != 0) failure = "xgemm_create";
      for (int round = 0; round < kRounds && failure.empty(); ++round) {
        if (*xgemm_last_error() != '\0' && round == 0) failure = "an error of another thread";
        const auto product = [&](auto type) {
          using T = decltype(type);
          Case<T> x(random.integer(0, 1) ? 'N' : 'T', random.integer(0, 1) ? 'N' : 'T', random.integer(0, 70),
                    random.integer(0, 70), random.integer(0, 70), 0.75f, random.integer(0, 1) ? 0.0f : -0.5f, 1,
                    random.bits());
          const xgemm_args args = args_of(x.product, x.c.data());
          if (xgemm_gemm(contexts[random.integer(0, 2)], &args) != 0) failure = xgemm_last_error();
          const Verdict verdict = x.check();
          if (!verdict) failure = verdict.message;
          if (*xgemm_last_error() != '\0') failure = "an error after success";
        };
        if (random.integer(0, 1))
          product(float{});
        else
          product(Half{});
        // An error of our own, by which it is told from the others'.
        const std::int64_t bad = -1 - t - 8 * round;
        if (xsgemm('N', 'N', bad, 1, 1, 1.0f, nullptr, 1, nullptr, 1, 0.0f, nullptr, 1) != -XGEMM_ARG_M ||
            std::string(xgemm_last_error()).find("m = " + std::to_string(bad) + ",") == std::string::npos)
          failure = std::string("not this thread's error: ") + xgemm_last_error();
        if (round % 20 == 0) {  // contexts come and go while others compute
          xgemm_destroy(contexts[2]);
          xgemm_create(&contexts[2]);
        }
      }
      xgemm_destroy(contexts[1]);
      xgemm_destroy(contexts[2]);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

// The smallest stacks that the system allows.
void* multiply_on_a_small_stack(void* failed) {
  float a[16], b[16], c[16];
  for (int i = 0; i < 16; ++i) a[i] = 2, b[i] = 3, c[i] = -1;
  int status = xsgemm('N', 'T', 4, 4, 4, 1.0f, a, 4, b, 4, 0.0f, c, 4);
  for (const float x : c) status += x != 24.0f;
  status += xsgemm('N', 'T', 4, 4, -1, 1.0f, a, 4, b, 4, 0.0f, c, 4) != -XGEMM_ARG_K;
  *static_cast<int*>(failed) += status;
  return nullptr;
}

XGEMM_PROBE(small_stacks) {
  int failed = 0;
  multiply_on_a_small_stack(&failed);
  for (int round = 0; round < 20; ++round) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_t thread;
    if (pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) != 0 ||
        pthread_create(&thread, &attributes, multiply_on_a_small_stack, &failed) != 0)
      return 1;
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
  }
  return failed;
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(Threads, StacksMayBeSmall) {
  for (const char* engine : {"", "builtin"}) {
    // Of CPUs that OpenBLAS does not know it takes kernels whose own frames are larger than such a stack.
    const ProbeResult r = run_probe("small_stacks", {{"XGEMM_CPU_BLAS", engine}, {"OPENBLAS_CORETYPE", "Haswell"}});
    EXPECT_TRUE(r.ok()) << engine << ": " << describe(r);
  }
}
#endif

// A program that exits while its threads multiply: with its own status, and no crash on the way. With the built-in
// product, for OpenBLAS takes its memory from under its own feet when the process exits.
XGEMM_PROBE(exit_while_multiplying) {
  for (int t = 0; t < 3; ++t)
    std::thread([t] {
      for (;;) {
        Case<float> x('N', 'T', 4 + 20 * t, 5, 6, 1.0f, 0.5f);
        Case<Half> y('N', 'T', 9, 5, 6, 1.0f, 0.5f);
        static_cast<void>(run(x) + run(y));
      }
    }).detach();
  std::this_thread::sleep_for(std::chrono::microseconds(std::atoi(std::getenv("EXIT_AFTER_US"))));
  std::exit(17);
}

TEST(Threads, TheProcessMayExitWhileTheyMultiply) {
  for (int after = 0; after < 60; ++after) {
    const ProbeResult r = run_probe("exit_while_multiplying", {{"EXIT_AFTER_US", std::to_string(after * 50)},
                                                               {"XGEMM_CPU_BLAS", "builtin"},
                                                               {"XGEMM_VERBOSE", after % 2 ? "summary" : ""}});
    EXPECT_EQ(r.exit_code, 17) << describe(r);
  }
}

// Short-lived threads: their default contexts go with them.
TEST(Threads, ComeAndGo) {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([] {
        Case<float> x('N', 'N', 5, 5, 5, 1.0f, 0.0f);
        EXPECT_EQ(run(x), 0);
        EXPECT_TRUE(x.check());
      });
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace xgemm::test
