// Matrices given by their strides: the checks, the canonical problem, and how a C that is not plain is cut into parts.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/check.h"
#include "core/canonicalize.h"
#include "core/scattering.h"
#include "unit/core/args.h"

namespace xgemm::test {
namespace {

const float kBeta = 2.0f;

// One of the three matrices of a call.
struct Given {
  xgemm_strided bit;
  xgemm_argument number;
  std::int64_t xgemm_args::*row_stride;
  std::int64_t xgemm_args::*column_stride;
};
constexpr Given kGiven[] = {{XGEMM_STRIDED_A, XGEMM_ARG_LDA, &xgemm_args::row_stride_a, &xgemm_args::column_stride_a},
                            {XGEMM_STRIDED_B, XGEMM_ARG_LDB, &xgemm_args::row_stride_b, &xgemm_args::column_stride_b},
                            {XGEMM_STRIDED_C, XGEMM_ARG_LDC, &xgemm_args::row_stride_c, &xgemm_args::column_stride_c}};

xgemm_args with_strides(xgemm_args args, const Given& x, std::int64_t row, std::int64_t column) {
  args.strided |= x.bit;
  args.*x.row_stride = row;
  args.*x.column_stride = column;
  return args;
}

int code_of(const xgemm_args& args) {
  clear_last_error();
  return api::check(args, false).code;
}

TEST(CheckStrides, LeadingDimensionsOfStridedMatricesAreNotLookedAt) {
  for (const Given& x : kGiven) {
    xgemm_args args = with_strides(legal_args(), x, 100, 1);
    args.lda = args.ldb = args.ldc = 0;
    for (const Given& other : kGiven)
      if (other.bit != x.bit) args = with_strides(args, other, 1, 100);
    EXPECT_EQ(code_of(args), 0) << last_error();
  }
}

TEST(CheckStrides, StridesThatAreNotNamedAreAMistake) {
  for (const Given& x : kGiven)
    for (std::int64_t xgemm_args::*stride : {x.row_stride, x.column_stride}) {
      xgemm_args args = legal_args();
      args.*stride = 1;
      EXPECT_EQ(code_of(args), -XGEMM_ARG_STRIDED) << last_error();
    }
  for (const int strided : {8, -1, INT32_MIN}) {
    xgemm_args args = legal_args();
    args.strided = strided;
    EXPECT_EQ(code_of(args), -XGEMM_ARG_STRIDED) << last_error();
  }
}

TEST(CheckStrides, ElementsOfCThatShareAnAddressAreFoundExactly) {
  for (std::int64_t m = 0; m <= 4; ++m)
    for (std::int64_t n = 0; n <= 4; ++n)
      for (std::int64_t row = -9; row <= 9; ++row)
        for (std::int64_t column = -9; column <= 9; ++column) {
          std::set<std::int64_t> offsets;
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) offsets.insert(i * row + j * column);
          const bool overlaps = static_cast<std::int64_t>(offsets.size()) < m * n;
          ASSERT_EQ(code_of(with_strides(legal_args(m, n, 3), kGiven[2], row, column)), overlaps ? -XGEMM_ARG_LDC : 0)
              << m << " x " << n << ", strides " << row << ", " << column;
          ASSERT_EQ(code_of(with_strides(legal_args(m, n, 3), kGiven[0], row, column)), 0) << "inputs may overlap";
        }
}

TEST(CheckStrides, ReachStaysBelow63Bits) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(), kMin = -kMax - 1;
  for (const Given& x : kGiven)
    for (const std::int64_t large : {kMax, kMin, kMax / 4, kMin / 4}) {
      EXPECT_EQ(code_of(with_strides(legal_args(), x, large, 1)), -x.number) << last_error();
      EXPECT_EQ(code_of(with_strides(legal_args(), x, 1, large)), -x.number) << last_error();
      EXPECT_EQ(code_of(with_strides(legal_args(), x, large, large)), -x.number) << last_error();
      EXPECT_EQ(code_of(with_strides(legal_args(1, 1, 1), x, large, large)), 0) << "of one element, which says nothing";
    }
  xgemm_args args = with_strides(legal_args(2, 1, 1), kGiven[0], kMax / 4 - 1, 0);
  EXPECT_EQ(code_of(args), 0) << last_error();
  args.row_stride_a += 1;
  EXPECT_EQ(code_of(args), -XGEMM_ARG_LDA);
  args.row_stride_a = -args.row_stride_a + 1;
  args.batch_count = 2, args.stride_c = 10;
  EXPECT_EQ(code_of(args), 0) << last_error();
  args.stride_a = 1;
  EXPECT_EQ(code_of(args), -XGEMM_ARG_STRIDE_A) << last_error();
}

TEST(CheckStrides, AnOldCThatIsCIsLeftAway) {
  xgemm_args args = with_strides(legal_args(), kGiven[2], 2, 100);
  args.beta = &kBeta;
  args.old_c = nowhere(0x9000), args.ld_old_c = 16;
  EXPECT_EQ(code_of(args), 0);
  args.old_c = args.c;
  EXPECT_EQ(code_of(args), -XGEMM_ARG_OLD_C);
}

// ---- The canonical problem ---------------------------------------------------------------------------------------

std::int64_t any_stride(Random& random) {
  return random.integer(0, 2) == 0 ? pick(random, {0, 1, -1}) : random.integer(-60, 60);
}

// Where a call says that element (i, j) of a stored matrix is.
std::int64_t said(const xgemm_args& args, const Given& x, std::int64_t ld, std::int64_t i, std::int64_t j) {
  if (args.strided & x.bit) return i * (args.*x.row_stride) + j * (args.*x.column_stride);
  return args.layout == XGEMM_ROW_MAJOR ? i * ld + j : i + j * ld;
}

TEST(CanonicalStrides, EveryElementIsWhereTheCallSays) {
  Random random(5);
  for (int round = 0; round < 5000 && !HasFailure(); ++round) {
    xgemm_args args = legal_args(random.integer(1, 5), random.integer(1, 5), random.integer(1, 5));
    args.layout = pick(random, {XGEMM_COL_MAJOR, XGEMM_ROW_MAJOR});
    args.transa = pick(random, {'N', 'T'}), args.transb = pick(random, {'N', 'T'});
    for (const Given& x : kGiven)
      if (random.integer(0, 2) > 0) args = with_strides(args, x, any_stride(random), any_stride(random));
    args.beta = &kBeta;
    if (random.integer(0, 3) == 0) args.old_c = nowhere(0x9000), args.ld_old_c = 17;
    args.bias = nowhere(0x5000), args.row_scales = nowhere(0x6000);
    if (code_of(args) != 0) continue;
    const Problem p = canonicalize(args, false);
    const bool turned = p.a.data == args.b;
    EXPECT_EQ(p.a.data, turned ? args.b : args.a);
    EXPECT_EQ(p.b.data, turned ? args.a : args.b);
    EXPECT_EQ(p.m, turned ? args.n : args.m);
    EXPECT_EQ(p.n, turned ? args.m : args.n);
    EXPECT_EQ(p.epilogue.bias_along == Along::rows, !turned);
    EXPECT_EQ(p.epilogue.row_scales, turned ? nullptr : args.row_scales);
    if (args.old_c != nullptr) {
      EXPECT_EQ(turned, args.layout == XGEMM_ROW_MAJOR) << "as the old C lies";
    }
    const auto in = [](const InputMatrix& x, bool swapped, std::int64_t i, std::int64_t j) {
      return swapped ? x.offset(j, i) : x.offset(i, j);
    };
    for (std::int64_t i = 0; i < args.m; ++i)
      for (std::int64_t l = 0; l < args.k; ++l)
        EXPECT_EQ(in(turned ? p.b : p.a, turned, i, l),
                  args.transa == 'N' ? said(args, kGiven[0], args.lda, i, l) : said(args, kGiven[0], args.lda, l, i));
    for (std::int64_t l = 0; l < args.k; ++l)
      for (std::int64_t j = 0; j < args.n; ++j)
        EXPECT_EQ(in(turned ? p.a : p.b, turned, l, j),
                  args.transb == 'N' ? said(args, kGiven[1], args.ldb, l, j) : said(args, kGiven[1], args.ldb, j, l));
    for (std::int64_t i = 0; i < args.m; ++i)
      for (std::int64_t j = 0; j < args.n; ++j)
        EXPECT_EQ(turned ? p.c.offset(j, i) : p.c.offset(i, j), said(args, kGiven[2], args.ldc, i, j));
  }
}

// "columns 3", "rows 5": what BLAS calls a matrix of these strides; "" where it cannot.
std::string storage(std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride) {
  const Problem p = canonicalize(with_strides(legal_args(rows, 4, cols), kGiven[0], row_stride, col_stride), false);
  if (!p.has_plain_a()) return "";
  return (p.a.op == Op::none ? "columns " : "rows ") + std::to_string(p.a.ld);
}

TEST(CanonicalStrides, PlainMatricesAreFound) {
  EXPECT_EQ(storage(3, 5, 1, 3), "columns 3");
  EXPECT_EQ(storage(3, 5, 1, 9), "columns 9");
  EXPECT_EQ(storage(3, 5, 5, 1), "rows 5");
  EXPECT_EQ(storage(3, 5, 9, 1), "rows 9");
  // Strides of single lines say nothing.
  EXPECT_EQ(storage(1, 5, -77, 1), "rows 5");
  EXPECT_EQ(storage(1, 5, 0, 7), "columns 7");
  EXPECT_EQ(storage(5, 1, 1, -77), "columns 5");
  EXPECT_EQ(storage(5, 1, 7, 0), "rows 7");
  EXPECT_EQ(storage(5, 1, 2, 2), "rows 2");
  EXPECT_EQ(storage(1, 1, 0, -3), "columns 1");
}

TEST(CanonicalStrides, OthersAreNot) {
  EXPECT_EQ(storage(3, 5, 2, 9), "");   // no unit stride
  EXPECT_EQ(storage(3, 5, 1, 2), "");   // overlapping columns
  EXPECT_EQ(storage(3, 5, 1, 1), "");   // Hankel
  EXPECT_EQ(storage(3, 5, 1, -3), "");  // reversed columns
  EXPECT_EQ(storage(3, 5, -1, 3), "");  // reversed rows
  EXPECT_EQ(storage(3, 5, 0, 1), "");   // one row, repeated
  EXPECT_EQ(storage(1, 5, 1, 0), "");   // one element, repeated
  EXPECT_EQ(storage(5, 1, -1, 1), "");
}

// So that nothing is slower for being described by strides.
TEST(CanonicalStrides, PlainMatricesGiveTheProblemOfLeadingDimensions) {
  Random random(6);
  for (int round = 0; round < 1000 && !HasFailure(); ++round) {
    xgemm_args args = legal_args(random.integer(2, 9), random.integer(2, 9), random.integer(2, 9));
    args.transa = pick(random, {'N', 'T'}), args.transb = pick(random, {'N', 'T'});
    args.layout = pick(random, {XGEMM_COL_MAJOR, XGEMM_ROW_MAJOR});
    args.fill = XGEMM_FILL_FULL;
    xgemm_args by_strides = args;
    const bool rows = args.layout == XGEMM_ROW_MAJOR;
    const std::int64_t lds[] = {args.lda, args.ldb, args.ldc};
    for (int i = 0; i < 3; ++i) by_strides = with_strides(by_strides, kGiven[i], rows ? lds[i] : 1, rows ? 1 : lds[i]);
    by_strides.lda = by_strides.ldb = by_strides.ldc = 0;
    by_strides.layout = pick(random, {XGEMM_COL_MAJOR, XGEMM_ROW_MAJOR});
    EXPECT_EQ(canonicalize(args, false), canonicalize(by_strides, false));
  }
}

TEST(CanonicalStrides, OperandsThatAreNotReadArePlain) {
  xgemm_args args = legal_args(5, 7, 0);
  args.strided = XGEMM_STRIDED_A | XGEMM_STRIDED_B;
  args.row_stride_a = args.column_stride_b = -4;
  const Problem p = canonicalize(args, false);
  EXPECT_TRUE(p.has_plain_a() && p.has_plain_b());
}

// ---- Parts of a C that is not plain ------------------------------------------------------------------------------

template <class Pointer>
std::int64_t distance(Pointer part, Pointer all, DType type) {
  return (static_cast<const char*>(part) - static_cast<const char*>(all)) / size_of(type);
}

TEST(BufferedParts, CoverEveryElementOnceWithinTheBound) {
  Random random(7);
  std::vector<char> memory(1 << 20);
  for (int round = 0; round < 400 && !HasFailure(); ++round) {
    Problem p;
    p.fill = pick(random, {Fill::full, Fill::lower, Fill::upper});
    p.n = random.integer(1, 30);
    p.m = p.fill == Fill::full ? random.integer(1, 30) : p.n;
    p.k = 3;
    p.batch_count = random.integer(1, 3);
    const DType type = pick(random, {DType::f32, DType::f64, DType::f16});
    void* const middle = memory.data() + memory.size() / 2;
    p.a = {type, middle, Op::none, 50, 2000};
    p.b = {type, middle, Op::transpose, 2, 3000, 40};
    p.c = {type, middle, 70, 2500, 2};
    const std::int64_t most = random.integer(64, 4000);
    std::map<std::int64_t, int> seen;
    ASSERT_TRUE(for_each_buffered_part(p, most, [&](const Problem& part) {
                  EXPECT_TRUE(buffered_bytes(part) <= most || (part.n == 1 && part.batch_count == 1));
                  EXPECT_TRUE(part.fill == Fill::full || part.m == part.n);
                  const std::int64_t at = distance<const void*>(part.c.data, p.c.data, type);
                  const std::int64_t entry = at / 2500, column = at % 2500 / 70, row = at % 2500 % 70 / 2;
                  EXPECT_EQ(distance(part.a.data, p.a.data, type), entry * 2000 + row);
                  EXPECT_EQ(distance(part.b.data, p.b.data, type), entry * 3000 + column * 40);
                  for (std::int64_t e = 0; e < part.batch_count; ++e)
                    for (std::int64_t j = 0; j < part.n; ++j)
                      for (std::int64_t i = 0; i < part.m; ++i)
                        if (contains(part.fill, i, j)) ++seen[at + e * 2500 + part.c.offset(i, j)];
                  const Problem buffered = with_buffered_c(part, nullptr);
                  EXPECT_TRUE(buffered.has_plain_c());
                  EXPECT_EQ(buffered.c.ld * size_of(type) % 16, 0);
                  EXPECT_GE(buffered.c.ld, part.m);
                  EXPECT_EQ(buffered.c.batch_stride, part.batch_count > 1 ? buffered.c.ld * part.n : 0);
                  return kOk;
                }).ok());
    std::map<std::int64_t, int> expected;
    for (std::int64_t e = 0; e < p.batch_count; ++e)
      for (std::int64_t j = 0; j < p.n; ++j)
        for (std::int64_t i = 0; i < p.m; ++i)
          if (contains(p.fill, i, j)) expected[e * 2500 + p.c.offset(i, j)] = 1;
    EXPECT_EQ(seen, expected);
  }
}

}  // namespace
}  // namespace xgemm::test
