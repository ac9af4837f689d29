// The child of a process that has used a GPU: its products are computed by the CPU, and xgemm_explain says why.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "call.h"

namespace xgemm::gpu_test {
namespace {

TEST(ForkSmall, AChildComputesOnTheCpu) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  constexpr std::int64_t n = 2048;
  const std::vector<float> a(n * n, 1.0f), b(n * n, 2.0f);
  std::vector<float> c(n * n);
  // Page-locked or pageable, this product repays the trip: the parent uses its GPU, and keeps buffers for the next one.
  ASSERT_EQ(xsgemm('N', 'N', n, n, n, 1.0f, a.data(), n, b.data(), n, 0.0f, c.data(), n), 0) << xgemm_last_error();
  Call<float> on_device({.m = 64, .n = 64, .k = 64});
  ASSERT_EQ(on_device.enqueue(nullptr), 0) << xgemm_last_error();
  XGEMM_CHECK_CUDA(cudaDeviceSynchronize());

  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(120);
    const int status = xsgemm('N', 'N', n, n, n, 1.0f, a.data(), n, b.data(), n, 0.0f, c.data(), n);
    if (status != 0) _exit(1);
    for (const float x : c)
      if (x != 2.0f * n) _exit(2);
    xgemm_args args = XGEMM_ARGS_INIT;
    args.m = args.n = args.k = args.lda = args.ldb = args.ldc = n;
    args.a = a.data(), args.b = b.data(), args.c = c.data();
    char text[4096];
    if (xgemm_explain(nullptr, &args, text, sizeof text) != 0) _exit(3);
    if (on_device.enqueue(nullptr) != XGEMM_NO_DEVICE) _exit(5);
    _exit(std::strstr(text, "route=cpu") != nullptr && std::strstr(text, "forked") != nullptr ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  // The parent's GPU is none the worse.
  ASSERT_EQ(xsgemm('N', 'N', n, n, n, 1.0f, a.data(), n, b.data(), n, 0.0f, c.data(), n), 0) << xgemm_last_error();
  EXPECT_EQ(c[n * n - 1], 2.0f * n);
}

}  // namespace
}  // namespace xgemm::gpu_test
