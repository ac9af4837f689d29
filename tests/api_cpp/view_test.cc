// xgemm::MatrixView: addresses, sub-views, conversions, and how views look to BLAS.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
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

std::string storage(std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride) {
  static float element;
  const auto s = xgemm::detail::storage_of(MatrixView<float>(&element, rows, cols, row_stride, col_stride));
  if (!s) return "none";
  return (s->rows_contiguous ? "rows " : "columns ") + std::to_string(s->ld);
}

TEST(Storage, IsReadOffTheStrides) {
  EXPECT_EQ(storage(3, 5, 1, 3), "columns 3");
  EXPECT_EQ(storage(3, 5, 1, 9), "columns 9");
  EXPECT_EQ(storage(3, 5, 5, 1), "rows 5");
  EXPECT_EQ(storage(3, 5, 9, 1), "rows 9");
}

TEST(Storage, StridesOfOneLineAreIgnored) {
  EXPECT_EQ(storage(1, 5, -77, 1), "rows 5");
  EXPECT_EQ(storage(1, 5, 0, 7), "columns 7");
  EXPECT_EQ(storage(5, 1, 1, -77), "columns 5");
  EXPECT_EQ(storage(5, 1, 7, 0), "rows 7");
  EXPECT_EQ(storage(5, 1, 2, 2), "rows 2");
  EXPECT_EQ(storage(1, 1, 0, -3), "rows 1");
}

TEST(Storage, WhatBlasCannotTake) {
  EXPECT_EQ(storage(3, 5, 2, 9), "none");   // no unit stride
  EXPECT_EQ(storage(3, 5, 1, 2), "none");   // overlapping columns
  EXPECT_EQ(storage(3, 5, 1, 1), "none");   // Hankel
  EXPECT_EQ(storage(3, 5, 1, -3), "none");  // reversed columns
  EXPECT_EQ(storage(3, 5, -1, 3), "none");  // reversed rows
  EXPECT_EQ(storage(3, 5, 0, 1), "none");   // one row, repeated
  EXPECT_EQ(storage(1, 5, 1, 0), "none");   // one element, repeated
  EXPECT_EQ(storage(5, 1, -1, 1), "none");
}

TEST(Overlap, IsFoundExactly) {
  float element = 0;
  for (std::int64_t rows = 0; rows <= 4; ++rows) {
    for (std::int64_t cols = 0; cols <= 4; ++cols) {
      for (std::int64_t row_stride = -9; row_stride <= 9; ++row_stride) {
        for (std::int64_t col_stride = -9; col_stride <= 9; ++col_stride) {
          std::set<std::int64_t> offsets;
          for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < cols; ++j) offsets.insert(i * row_stride + j * col_stride);
          const bool overlaps = static_cast<std::int64_t>(offsets.size()) < rows * cols;
          const MatrixView<float> view(&element, rows, cols, row_stride, col_stride);
          ASSERT_EQ(xgemm::detail::overlaps_itself(view), overlaps)
              << rows << " x " << cols << ", strides " << row_stride << ", " << col_stride;
        }
      }
    }
  }
}

}  // namespace
