// xgemm::MatrixView: addresses, sub-views, conversions.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "xgemm.hpp"

namespace {

using xgemm::col_major;
using xgemm::MatrixView;
using xgemm::row_major;

static_assert(std::is_convertible_v<MatrixView<float>, MatrixView<const float>>);
static_assert(!std::is_convertible_v<MatrixView<const float>, MatrixView<float>>);
static_assert(!std::is_convertible_v<MatrixView<float>, MatrixView<double>>);
static_assert(std::is_trivially_copyable_v<MatrixView<float>>);

constexpr float kNumbers[] = {1, 2, 3, 4, 5, 6};
static_assert(row_major(kNumbers, 2, 3)(1, 0) == 4);
static_assert(col_major(kNumbers, 2, 3)(1, 0) == 2);
static_assert(row_major(kNumbers, 2, 3).transposed()(2, 1) == 6);
static_assert(row_major(kNumbers, 2, 3).reversed_cols()(0, 0) == 3);

class ViewTest : public testing::Test {
 protected:
  ViewTest() {
    for (std::size_t i = 0; i < numbers_.size(); ++i) numbers_[i] = static_cast<float>(i);
  }
  std::vector<float> numbers_ = std::vector<float>(100);
};

TEST_F(ViewTest, SubViewsShareStorage) {
  const auto a = row_major(numbers_.data(), 10, 10);
  const auto s = a.submatrix(2, 3, 4, 5);
  EXPECT_EQ(s(0, 0), 23);
  EXPECT_EQ(s(3, 4), 57);
  EXPECT_EQ(s.transposed()(4, 3), 57);
  EXPECT_EQ(a.row(7)(0, 4), 74);
  EXPECT_EQ(a.col(4)(7, 0), 74);
  const auto every_other = a.submatrix(1, 0, 5, 4, 2, 3);
  EXPECT_EQ(every_other(0, 0), 10);
  EXPECT_EQ(every_other(4, 3), 99);
  EXPECT_EQ(a.reversed_rows()(0, 0), 90);
  EXPECT_EQ(a.reversed_rows().reversed_cols()(9, 9), 0);
  EXPECT_EQ(s.reversed_rows().reversed_rows().data(), s.data());
  s(0, 0) = -1;
  EXPECT_EQ(numbers_[23], -1);
  EXPECT_EQ(a.submatrix(0, 0, 0, 3).reversed_rows().data(), a.data());
}

TEST_F(ViewTest, DefaultIsEmpty) {
  const MatrixView<float> nothing;
  EXPECT_TRUE(nothing.empty());
  EXPECT_EQ(nothing.data(), nullptr);
  EXPECT_EQ(nothing.reversed_rows().reversed_cols().transposed().data(), nullptr);
}

}  // namespace
