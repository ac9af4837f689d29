// Which products of a group become one batch.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "api/blas_groups.h"

#include <gtest/gtest.h>

#include <vector>

#include "stand_in.h"

namespace xgemm::api {
namespace {

// Pointers to matrices of 4 elements, one after the other.
template <class T>
std::vector<T*> apart(T* first, std::int64_t count) {
  std::vector<T*> pointers;
  for (std::int64_t i = 0; i < count; ++i) pointers.push_back(first + 4 * i);
  return pointers;
}

std::int64_t products_of_first_batch(const std::vector<const float*>& a, const std::vector<const float*>& b,
                                     const std::vector<float*>& c) {
  return leading_batch(a.data(), b.data(), c.data(), std::ssize(a)).count;
}

// Matrices of which the first are in host memory, as the one that is located is, and others on a GPU.
TEST(Groups, ABatchLiesWhereItsFirstMatricesLie) {
  constexpr std::int64_t kCount = 6;
  float memory[3][4 * kCount] = {};
  const std::vector<const float*> a = apart<const float>(memory[0], kCount), b = apart<const float>(memory[1], kCount);
  const std::vector<float*> c = apart(memory[2], kCount);
  stand_in_device_memory(nullptr, nullptr);
  EXPECT_EQ(products_of_first_batch(a, b, c), kCount);
  for (const auto& matrices : memory)
    for (std::int64_t first = 1; first < kCount; ++first) {
      stand_in_device_memory(matrices + 4 * first, matrices + 4 * kCount);
      EXPECT_EQ(products_of_first_batch(a, b, c), first);
      stand_in_device_memory(matrices, matrices + 4 * first);
      EXPECT_EQ(products_of_first_batch(a, b, c), first);
    }
  stand_in_device_memory(memory, memory + 3);
  EXPECT_EQ(products_of_first_batch(a, b, c), kCount);
  stand_in_device_memory(nullptr, nullptr);
}

}  // namespace
}  // namespace xgemm::api
