// Statuses and the last error, which every thread has for itself.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "core/status.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "api/entry.h"

namespace xgemm::test {
namespace {

TEST(Status, FormatsTextOfAnyLength) {
  EXPECT_EQ(format("%s", ""), "");
  EXPECT_EQ(format("%d %s", 7, "x"), "7 x");
  const std::string text(100000, 'x');
  EXPECT_EQ(format("<%s>", text.c_str()), "<" + text + ">");
}

TEST(Status, FailuresLeaveTheirMessage) {
  EXPECT_EQ(fail(XGEMM_CUDA_ERROR, "words").code, XGEMM_CUDA_ERROR);
  EXPECT_STREQ(last_error(), "words");
  EXPECT_EQ(illegal(XGEMM_ARG_LDA, "lda").code, -8);
  EXPECT_STREQ(last_error(), "lda");
  EXPECT_EQ(fail_without_memory().code, XGEMM_OUT_OF_HOST_MEMORY);
  EXPECT_NE(std::string(last_error()).find("memory"), std::string::npos);
  EXPECT_EQ(fail(XGEMM_UNSUPPORTED, "after it").code, XGEMM_UNSUPPORTED);
  EXPECT_STREQ(last_error(), "after it");
  clear_last_error();
  EXPECT_STREQ(last_error(), "");
  EXPECT_TRUE(kOk.ok());
}

TEST(Status, EachThreadHasItsOwnLastError) {
  (void)fail(1, "of the main thread");
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t, &wrong] {
      wrong[t] += std::string(last_error()) != "";
      for (int i = 0; i < 500; ++i) {
        const std::string mine = "thread " + std::to_string(t) + " call " + std::to_string(i);
        (void)fail(1, mine);
        std::this_thread::yield();
        wrong[t] += last_error() != mine;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
  EXPECT_STREQ(last_error(), "of the main thread");
}

TEST(Status, NoExceptionLeavesAnEntryPoint) {
  (void)fail(1, "of an earlier call");
  EXPECT_EQ(api::guarded([] { return kOk; }), 0);
  EXPECT_STREQ(last_error(), "");
  EXPECT_EQ(api::guarded([]() -> Status { throw std::bad_alloc(); }), XGEMM_OUT_OF_HOST_MEMORY);
  EXPECT_NE(std::string(last_error()), "");
  EXPECT_EQ(api::guarded([]() -> Status { throw std::runtime_error("its words"); }), XGEMM_INTERNAL_ERROR);
  EXPECT_STREQ(last_error(), "its words");
  EXPECT_EQ(api::guarded([]() -> Status { throw 1; }), XGEMM_INTERNAL_ERROR);
  EXPECT_NE(std::string(last_error()), "") << "every failure says something";
}

}  // namespace
}  // namespace xgemm::test
