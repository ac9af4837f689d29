// Comparison with a file of perf/tests/golden. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace xgemm::perf {

/// XGEMM_UPDATE_GOLDEN=1 in the environment writes the file instead; look at the difference before committing it.
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(XGEMM_GOLDEN_DIR) + "/" + name;
  if (std::getenv("XGEMM_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << path;
}

}  // namespace xgemm::perf
