// A product in the constructor of a library, which the loader runs with its lock held, while another thread's product
// is the first of the process and asks the loader.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "xgemm_blas.h"

namespace {

std::atomic<bool> begun{false}, multiplies{false};

float product() {
  const int one = 1;
  const float two = 2, three = 3, zero = 0;
  float c = 0;
  sgemm_("N", "N", &one, &one, &one, &two, &three, &one, &three, &one, &zero, &c, &one);
  return c;
}

float found_in_constructor = 0;

TEST(Constructor, MultipliesWhileAnotherThreadDoes) {
  alarm(60);  // they would wait for each other for good
  std::thread loads([] { EXPECT_NE(dlopen(XGEMM_TEST_CONSTRUCTING, RTLD_NOW), nullptr) << dlerror(); });
  while (!begun) std::this_thread::yield();
  multiplies = true;
  EXPECT_EQ(product(), 18);
  loads.join();
  EXPECT_EQ(found_in_constructor, 18);
  alarm(0);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void in_constructor() {
  begun = true;
  while (!multiplies) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // for it to reach the loader
  found_in_constructor = product();
}
