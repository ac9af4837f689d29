// Views that BLAS can describe reach xgemm_gemm with a flag and a leading dimension, so that small products of them
// take its short way, which products of matrices by their strides do not.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "xgemm.hpp"

namespace {

xgemm_args last;

}  // namespace

// In front of the library's.
extern "C" __attribute__((visibility("default"))) int xgemm_gemm(xgemm_context* ctx, const xgemm_args* args) {
  static const auto real = reinterpret_cast<decltype(&xgemm_gemm)>(dlsym(RTLD_NEXT, "xgemm_gemm"));
  last = *args;
  return real(ctx, args);
}

namespace {

using xgemm::MatrixView;

// Integers, whose products are exact, in a matrix that has gaps between its columns, or its rows.
class Operand {
 public:
  Operand(std::int64_t rows, std::int64_t cols, bool in_rows, int seed) : storage_(1000) {
    for (std::size_t i = 0; i < storage_.size(); ++i)
      storage_[i] = static_cast<float>((static_cast<int>(i) * seed) % 7 - 3);
    view_ = in_rows ? xgemm::row_major(storage_.data(), rows, cols, cols + 2)
                    : xgemm::col_major(storage_.data(), rows, cols, rows + 3);
  }
  MatrixView<float> view() const { return view_; }

 private:
  std::vector<float> storage_;
  MatrixView<float> view_;
};

void expect_product(const MatrixView<float>& a, const MatrixView<float>& b, const MatrixView<float>& c, int strided,
                    xgemm_fill fill = XGEMM_FILL_FULL) {
  std::vector<float> expected;
  for (std::int64_t i = 0; i < c.rows(); ++i)
    for (std::int64_t j = 0; j < c.cols(); ++j) {
      float sum = 3 * c(i, j);
      for (std::int64_t p = 0; p < a.cols(); ++p) sum += 2 * a(i, p) * b(p, j);
      const bool inside = fill == XGEMM_FILL_FULL || (fill == XGEMM_FILL_LOWER ? i >= j : i <= j);
      expected.push_back(inside ? sum : c(i, j));
    }
  xgemm::gemm(2, a, b, 3, c, fill);
  EXPECT_EQ(last.strided, strided);
  std::size_t at = 0;
  for (std::int64_t i = 0; i < c.rows(); ++i)
    for (std::int64_t j = 0; j < c.cols(); ++j) EXPECT_EQ(c(i, j), expected[at++]) << i << ' ' << j;
}

TEST(PlainViews, AreDescribedByFlagsAndLeadingDimensions) {
  for (const std::int64_t m : {1, 4})
    for (const std::int64_t n : {1, 4})
      for (const std::int64_t k : {1, 6})
        for (int order = 0; order < 8; ++order) {
          const Operand a(m, k, (order & 1) != 0, 1), b(k, n, (order & 2) != 0, 3), c(m, n, (order & 4) != 0, 5);
          expect_product(a.view(), b.view(), c.view(), 0);
          if (m == n)
            for (const xgemm_fill fill : {XGEMM_FILL_LOWER, XGEMM_FILL_UPPER})
              expect_product(a.view(), b.view(), c.view(), 0, fill);
        }
}

TEST(PlainViews, OthersAreDescribedByTheirStridesEachByItself) {
  for (int order = 0; order < 8; ++order) {
    const Operand a(9, 9, (order & 1) != 0, 1), b(9, 9, (order & 2) != 0, 3), c(9, 9, (order & 4) != 0, 5);
    const auto every_second = [](const Operand& x) { return x.view().submatrix(0, 0, 4, 4, 2, 2); };
    const auto reversed = [](const Operand& x) { return x.view().submatrix(0, 0, 4, 4).reversed_cols(); };
    const auto part = [](const Operand& x) { return x.view().submatrix(1, 2, 4, 4); };
    expect_product(part(a), part(b), part(c), 0);
    expect_product(every_second(a), part(b), part(c), XGEMM_STRIDED_A);
    expect_product(part(a), reversed(b), part(c), XGEMM_STRIDED_B);
    expect_product(part(a), part(b), every_second(c), XGEMM_STRIDED_C);
    expect_product(reversed(a), every_second(b), reversed(c), XGEMM_STRIDED_A | XGEMM_STRIDED_B | XGEMM_STRIDED_C);
  }
}

}  // namespace
