// The check of a batch's pointers: one that is no multiple of 16 bytes is found wherever it is, and none where all are.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/alignment/alignment.cuh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/launch.h"
#include "support/matrix.h"

namespace xgemm::sim {
namespace {

using kernels::AlignmentParams;

unsigned found(const std::vector<std::vector<std::uint64_t>>& arrays) {
  unsigned word = 0xdeadbeef;
  AlignmentParams params{.entries = static_cast<std::int64_t>(arrays[0].size()), .off_vectors = &word};
  GlobalMemory memory;
  for (const auto& array : arrays) {
    params.add(array.data());
    const auto length = static_cast<std::int64_t>(array.size());
    memory.add({"pointers", array.data(), 8, length, 1, 1, 1, length, 0, Access::read});
  }
  params.add(nullptr);  // an operand that is not read
  memory.add({"the word", &word, 4, 1, 1, 1, 1, 1, 0, Access::write});
  LaunchShape shape;
  shape.grid = 1;
  shape.threads = kernels::Alignment::kThreads;
  shape.dynamic_shared_bytes = sizeof(kernels::Alignment::SharedStorage);
  shape.granule = 4;
  shape.dependent = true;
  const Result result = launch_body(shape, memory, {}, [&params](unsigned char* shared) {
    kernels::Alignment::run(params, *reinterpret_cast<kernels::Alignment::SharedStorage*>(shared));
  });
  EXPECT_TRUE(result.ok()) << result.summary();
  return word;
}

TEST(Alignment, FindsWhatIsOffVectors) {
  test::Random random(1);
  for (const std::size_t entries : {1, 2, 31, 1023, 1025, 2500}) {
    std::vector<std::vector<std::uint64_t>> arrays(3, std::vector<std::uint64_t>(entries));
    for (auto& array : arrays)
      for (std::uint64_t& x : array) x = static_cast<std::uint64_t>(random.integer(1, 1 << 30)) * 16;
    EXPECT_EQ(found(arrays), 0u);
    for (int i = 0; i < 4; ++i) {
      auto other = arrays;
      other[static_cast<std::size_t>(random.integer(0, 2))]
           [static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(entries) - 1))] +=
          static_cast<std::uint64_t>(random.integer(1, 15));
      EXPECT_EQ(found(other), 1u);
    }
  }
}

}  // namespace
}  // namespace xgemm::sim
