// With no GPU every test skips, and the exit status 77 tells ctest so.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "device_matrix.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  if (result == 0 && !testing::GTEST_FLAG(list_tests) && !xgemm::gpu_test::no_device().empty()) return 77;
  return result;
}
