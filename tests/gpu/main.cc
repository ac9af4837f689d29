// Where every test skips, for want of a GPU or of cuBLAS, the exit status 77 tells ctest so.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  const bool all_skipped = tests.test_to_run_count() > 0 && tests.skipped_test_count() == tests.test_to_run_count();
  return result == 0 && all_skipped ? 77 : result;
}
