// std::mdspan as operands of xgemm::gemm, where the standard library has it.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "xgemm.hpp"

namespace {

#if defined(__cpp_lib_mdspan)

TEST(Mdspan, OfAnyStridedLayout) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 2, 1, 0, 3};
  std::vector<float> c(8, -1.0f);
  const std::mdspan rows(a.data(), std::extents<int, 2, 3>());                                      // [1 2 3; 4 5 6]
  const std::mdspan<const float, std::dextents<int, 2>, std::layout_left> columns(b.data(), 3, 2);  // [1 1; 0 0; 2 3]
  const std::layout_stride::mapping strided(std::dextents<int, 2>(2, 2), std::array<int, 2>{4, 2});
  const std::mdspan<float, std::dextents<int, 2>, std::layout_stride> every_other(c.data(), strided);
  xgemm::gemm(1, rows, columns, 0, every_other);
  EXPECT_EQ(c, (std::vector<float>{7, -1, 10, -1, 16, -1, 22, -1}));
}

TEST(Mdspan, BesideViews) {
  std::vector<xgemm::half> a = {1, 2, 3, 4};
  std::vector<xgemm::half> c(4);
  xgemm::gemm(2, std::mdspan(a.data(), 2, 2), xgemm::row_major(a.data(), 2, 2), 0, std::mdspan(c.data(), 2, 2));
  EXPECT_EQ(static_cast<float>(c[0]), 14);
  EXPECT_EQ(static_cast<float>(c[3]), 44);
}

#else

TEST(Mdspan, OfAnyStridedLayout) {
  GTEST_SKIP() << "this standard library has no std::mdspan";
}

#endif

}  // namespace
