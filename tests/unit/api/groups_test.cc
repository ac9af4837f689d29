// Which products of a group become one batch.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "api/blas_groups.h"

#include <gtest/gtest.h>

#include <vector>

#include "stand_in.h"

namespace xgemm::api {
namespace {

// Pointers to matrices of so many elements, one after the other.
template <class T>
std::vector<T*> apart(T* first, std::int64_t count, std::int64_t elements) {
  std::vector<T*> pointers;
  for (std::int64_t i = 0; i < count; ++i) pointers.push_back(first + elements * i);
  return pointers;
}

std::int64_t products_of_first_batch(const std::vector<const float*>& a, const std::vector<const float*>& b,
                                     const std::vector<float*>& c) {
  return leading_batch(a.data(), b.data(), c.data(), std::ssize(a)).count;
}

// Matrices of which the first are in host memory, as the one that is located is, and others on a GPU.
TEST(Groups, ABatchLiesWhereItsFirstMatricesLie) {
  constexpr std::int64_t kCount = 6, kPage = 4096 / sizeof(float);
  alignas(4096) static float memory[3][kPage * kCount];
  const std::vector<const float*> a = apart<const float>(memory[0], kCount, kPage);
  const std::vector<const float*> b = apart<const float>(memory[1], kCount, kPage);
  const std::vector<float*> c = apart(memory[2], kCount, kPage);
  stand_in_device_memory(nullptr, nullptr);
  EXPECT_EQ(products_of_first_batch(a, b, c), kCount);
  for (const auto& matrices : memory)
    for (std::int64_t first = 1; first < kCount; ++first) {
      stand_in_device_memory(matrices + kPage * first, matrices + kPage * kCount);
      EXPECT_EQ(products_of_first_batch(a, b, c), first);
      stand_in_device_memory(matrices, matrices + kPage * first);
      EXPECT_EQ(products_of_first_batch(a, b, c), first);
    }
  stand_in_device_memory(memory, memory + 3);
  EXPECT_EQ(products_of_first_batch(a, b, c), kCount);
  stand_in_device_memory(nullptr, nullptr);
}

// What no strided batch may be: matrices in falling order, and results in the same place, which follow one another.
TEST(Groups, OthersAreProductsOfTheirOwn) {
  static float memory[3][64];
  const std::vector<const float*> a = apart<const float>(memory[0], 4, 16), b = apart<const float>(memory[1], 4, 16);
  const std::vector<float*> c = apart(memory[2], 4, 16);
  const auto falling = [](const auto& x) { return std::remove_cvref_t<decltype(x)>(x.rbegin(), x.rend()); };
  stand_in_device_memory(nullptr, nullptr);
  EXPECT_EQ(products_of_first_batch(a, b, c), 4);
  EXPECT_EQ(products_of_first_batch({4, memory[0]}, {4, memory[1]}, c), 4);
  EXPECT_EQ(products_of_first_batch(falling(a), b, c), 1);
  EXPECT_EQ(products_of_first_batch(a, falling(b), c), 1);
  EXPECT_EQ(products_of_first_batch(a, b, falling(c)), 1);
  EXPECT_EQ(products_of_first_batch(a, b, {4, memory[2]}), 1);
}

TEST(Groups, SmallMatricesOfAPageAreAskedAboutOnce) {
  constexpr std::int64_t kCount = 256, kElements = 16;  // four pages, and A the same for all
  alignas(4096) static float memory[3][kCount * kElements];
  const std::vector<const float*> a(kCount, memory[0]), b = apart<const float>(memory[1], kCount, kElements);
  const std::vector<float*> c = apart(memory[2], kCount, kElements);
  const int before = stand_in_pointers_asked();
  EXPECT_EQ(products_of_first_batch(a, b, c), kCount);
  EXPECT_EQ(stand_in_pointers_asked() - before, 1 + 4 + 4);
}

}  // namespace
}  // namespace xgemm::api
