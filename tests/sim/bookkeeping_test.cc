// What the simulator's checks rest on, against the plainest form of it: vectors of clocks, and which addresses are
// elements.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "sim/clock.h"
#include "sim/memory.h"
#include "support/matrix.h"

namespace xgemm::sim {
namespace {

using test::Random;

// Vectors that are copied from each other, changed and raised at random, of a few sizes one after the other.
TEST(ClockVectors, AreWhatTheirOwnOperationsMadeThem) {
  Random random(1);
  for (const std::size_t size : {1, 15, 16, 17, 800, 33}) {
    constexpr std::size_t kVectors = 5;
    std::vector<ClockVector> vectors(kVectors, ClockVector(size));
    std::vector<std::vector<Clock>> plain(kVectors, std::vector<Clock>(size, 0));
    for (int step = 0; step < 400; ++step) {
      const auto a = static_cast<std::size_t>(random.integer(0, kVectors - 1));
      const auto b = static_cast<std::size_t>(random.integer(0, kVectors - 1));
      const auto thread = static_cast<int>(random.integer(0, static_cast<std::int64_t>(size) - 1));
      // Clocks are compared without sign.
      const auto clock = static_cast<Clock>(random.integer(0, 0xffffffff));
      Clock& there = plain[a][static_cast<std::size_t>(thread)];
      switch (random.integer(0, 3)) {
        case 0:
          vectors[a].set(thread, clock), there = clock;
          break;
        case 1:
          vectors[a].raise(thread, clock), there = std::max(there, clock);
          break;
        case 2:
          vectors[a].raise(vectors[b]);
          for (std::size_t i = 0; i < size; ++i) plain[a][i] = std::max(plain[a][i], plain[b][i]);
          break;
        default:
          vectors[a] = vectors[b], plain[a] = plain[b];
      }
      for (std::size_t v = 0; v < kVectors; ++v) {
        ASSERT_TRUE(std::equal(plain[v].begin(), plain[v].end(), vectors[v].data())) << size << ", step " << step;
        bool contains = true;
        for (std::size_t i = 0; i < size; ++i) contains = contains && plain[v][i] >= plain[a][i];
        ASSERT_EQ(vectors[v].contains(vectors[a]), contains) << size << ", step " << step;
      }
    }
  }
}

// Matrices of any strides, some of whose lines interleave or overlap.
TEST(Regions, KnowTheirElements) {
  Random random(2);
  std::vector<std::uint16_t> storage(20000);
  for (int number = 0; number < 200; ++number) {
    Region region{"x",
                  storage.data() + storage.size() / 2,
                  2,
                  random.integer(1, 300),
                  random.integer(1, 6),
                  random.integer(1, 3)};
    const bool plain = number % 2 == 0;
    region.row_stride = plain ? 1 : random.integer(-3, 3);
    region.col_stride = plain ? region.rows + random.integer(0, 9) : random.integer(-300, 300);
    region.batch_stride = random.integer(-900, 900);
    GlobalMemory memory;
    memory.add(region);
    std::set<const std::uint16_t*> elements;
    const auto* const data = static_cast<const std::uint16_t*>(region.data);
    for (std::int64_t b = 0; b < region.batch; ++b)
      for (std::int64_t j = 0; j < region.cols; ++j)
        for (std::int64_t i = 0; i < region.rows; ++i)
          elements.insert(data + i * region.row_stride + j * region.col_stride + b * region.batch_stride);
    const std::uint16_t *const first = *elements.begin(), *const end = *elements.rbegin() + 1;
    auto* const mapped = memory.find(reinterpret_cast<std::uintptr_t>(first));
    ASSERT_NE(mapped, nullptr);
    EXPECT_EQ(memory.find(reinterpret_cast<std::uintptr_t>(first - 1)), nullptr);
    EXPECT_EQ(memory.find(reinterpret_cast<std::uintptr_t>(end)), nullptr);
    for (int draw = 0; draw < 50; ++draw) {
      const std::int64_t at = random.integer(0, end - first - 1);
      const std::int64_t count = random.integer(1, draw % 2 == 0 ? 8 : GlobalMemory::Mapped::kMostAtOnce);
      bool valid = true;
      for (std::int64_t i = at; i < at + count; ++i) valid = valid && elements.contains(first + i);
      EXPECT_EQ(mapped->are_valid(at, count), valid) << "region " << number << ", " << count << " from " << at;
    }
  }
}

}  // namespace
}  // namespace xgemm::sim
