// The argument checks: every rule, its number, its message, and the order in which they are made.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "api/check.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/canonicalize.h"
#include "runtime/prepared.h"
#include "unit/core/args.h"

namespace xgemm::test {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
const float kZero = 0.0f, kOne = 1.0f, kTwo = 2.0f;

int code_of(const xgemm_args& args, bool scalars_on_device = false) {
  clear_last_error();
  const Status status = api::check(args, scalars_on_device);
  // A failure says something, success nothing.
  EXPECT_EQ(status.ok(), std::string(last_error()).empty());
  return status.code;
}

struct BadArgument {
  xgemm_argument number;
  std::function<void(xgemm_args&)> spoil;
  std::vector<std::string> message;  // name, value and rule: each has to be in it
};

// In the order of the checks.
std::vector<BadArgument> bad_arguments() {
  return {
      {XGEMM_ARG_TYPE,
       [](xgemm_args& x) { x.type = 4; },
       {"type = 4", "XGEMM_F32 = 0", "XGEMM_F16 = 1", "XGEMM_BF16 = 2", "XGEMM_F64 = 3"}},
      {XGEMM_ARG_TYPE_C, [](xgemm_args& x) { x.type_c = 4; }, {"type_c = 4", "XGEMM_C_SAME = 0", "XGEMM_C_F32 = 1"}},
      {XGEMM_ARG_MATH_MODE, [](xgemm_args& x) { x.math_mode = 4; }, {"math_mode = 4", "3 is required"}},
      {XGEMM_ARG_LAYOUT, [](xgemm_args& x) { x.layout = -1; }, {"layout = -1", "XGEMM_COL_MAJOR = 0"}},
      {XGEMM_ARG_FILL, [](xgemm_args& x) { x.fill = 3; }, {"fill = 3", "XGEMM_FILL_UPPER = 2"}},
      {XGEMM_ARG_TRANSA, [](xgemm_args& x) { x.transa = 'X'; }, {"transa = 'X'", "N, T, C"}},
      {XGEMM_ARG_TRANSB, [](xgemm_args& x) { x.transb = '\0'; }, {"transb = '\\x00'", "N, T, C"}},
      {XGEMM_ARG_M, [](xgemm_args& x) { x.m = -1; }, {"m = -1", "m >= 0"}},
      {XGEMM_ARG_N, [](xgemm_args& x) { x.n = kMin; }, {"n = -9223372036854775808", "n >= 0"}},
      {XGEMM_ARG_K, [](xgemm_args& x) { x.k = -7; }, {"k = -7", "k >= 0"}},
      {XGEMM_ARG_LDA, [](xgemm_args& x) { x.lda = 0; }, {"lda = 0", "lda >= max(1, m)"}},
      {XGEMM_ARG_LDB, [](xgemm_args& x) { x.ldb = -3; }, {"ldb = -3", "ldb >= max(1, k)"}},
      {XGEMM_ARG_LDC, [](xgemm_args& x) { x.ldc = 0; }, {"ldc = 0", "ldc >= max(1, m)"}},
      {XGEMM_ARG_STRIDED, [](xgemm_args& x) { x.strided = 8; }, {"strided = 8", "XGEMM_STRIDED_C = 4"}},
      {XGEMM_ARG_BATCH_KIND, [](xgemm_args& x) { x.batch_kind = 2; }, {"batch_kind = 2", "XGEMM_BATCH_POINTERS = 1"}},
      {XGEMM_ARG_BATCH_COUNT, [](xgemm_args& x) { x.batch_count = -2; }, {"batch_count = -2", "batch_count >= 0"}},
      {XGEMM_ARG_ACTIVATION, [](xgemm_args& x) { x.activation = 5; }, {"activation = 5", "XGEMM_SILU = 4 is required"}},
      {XGEMM_ARG_BIAS_ALONG, [](xgemm_args& x) { x.bias_along = 2; }, {"bias_along = 2", "XGEMM_BIAS_OF_COLUMNS = 1"}},
      {XGEMM_ARG_LD_OLD_C,
       [](xgemm_args& x) { x.old_c = nowhere(), x.ld_old_c = 0; },
       {"ld_old_c = 0", "ld_old_c >= max(1, m)"}},
      {XGEMM_ARG_LD_AUX,
       [](xgemm_args& x) { x.activation = XGEMM_GELU, x.aux = nowhere(), x.ld_aux = 0; },
       {"ld_aux = 0", "ld_aux >= max(1, m)"}},
      {XGEMM_ARG_LD_AUX,
       [](xgemm_args& x) { x.activation = XGEMM_RELU, x.aux = nowhere(), x.ld_aux = 12; },
       {"ld_aux = 12", "a multiple of 8"}},
      {XGEMM_ARG_STRIDE_AUX,
       [](xgemm_args& x) {
         x.activation = XGEMM_RELU, x.aux = nowhere(), x.ld_aux = 16;
         x.batch_count = 2, x.stride_c = 1000, x.stride_aux = 1004;
       },
       {"stride_aux = 1004", "a multiple of 8, is required"}},
      {XGEMM_ARG_OLD_C, [](xgemm_args& x) { x.old_c = x.c, x.ld_old_c = x.ldc + 1; }, {"old_c = c", "ld_old_c = ldc"}},
  };
}

// What an epilogue reads and writes beside the matrices: strides, reach, and what counts as one.
TEST(Check, EpiloguesOfBatchesHaveStrides) {
  xgemm_args x = legal_args();
  x.batch_count = 2, x.stride_c = 1000;
  x.old_c = nowhere(0x9000), x.ld_old_c = x.ldc, x.stride_old_c = 0;
  EXPECT_EQ(code_of(x), 0) << "one old C for all";
  x.stride_old_c = -1;
  EXPECT_EQ(code_of(x), -XGEMM_ARG_STRIDE_OLD_C);
  x.stride_old_c = kMax / 4;
  EXPECT_EQ(code_of(x), -XGEMM_ARG_STRIDE_OLD_C) << "reach";
  x.old_c = x.c, x.stride_old_c = 999;
  EXPECT_EQ(code_of(x), -XGEMM_ARG_OLD_C) << "C by another stride";
  x = legal_args();
  x.old_c = nowhere(0x9000), x.ld_old_c = kMax;
  EXPECT_EQ(code_of(x), -XGEMM_ARG_LD_OLD_C) << "reach";
  for (const xgemm_activation activation : {XGEMM_RELU, XGEMM_SILU}) {
    x = legal_args();
    x.activation = activation, x.aux = nowhere(0x9000), x.ld_aux = 1024;
    x.batch_count = 2, x.stride_c = 1000, x.stride_aux = 0;
    EXPECT_EQ(code_of(x), -XGEMM_ARG_STRIDE_AUX) << "entries would write the same aux";
    x.stride_aux = kMax / 4 / 8 * 8;
    EXPECT_EQ(code_of(x), -XGEMM_ARG_STRIDE_AUX) << "reach";
    x.batch_count = 1, x.ld_aux = kMax / 8 * 8;
    EXPECT_EQ(code_of(x), -XGEMM_ARG_LD_AUX) << "reach";
  }
}

TEST(Check, WhateverAnEpilogueHasItIsOne) {
  const std::function<void(xgemm_args&)> epilogues[] = {
      [](xgemm_args& x) { x.activation = XGEMM_RELU; }, [](xgemm_args& x) { x.bias = nowhere(0x9000); },
      [](xgemm_args& x) { x.row_scales = nowhere(0x9000); }, [](xgemm_args& x) { x.column_scales = nowhere(0x9000); },
      [](xgemm_args& x) { x.old_c = nowhere(0x9000), x.ld_old_c = x.ldc; }};
  for (const auto& add : epilogues) {
    xgemm_args x = legal_args(4, 4, 4);
    add(x);
    EXPECT_EQ(code_of(x), 0);
    x.alpha = &kZero, x.beta = &kOne, x.c = nullptr;
    EXPECT_EQ(code_of(x), -XGEMM_ARG_C) << "alpha = 0 and beta = 1 leave C to the epilogue";
    x = legal_args(4, 4, 4);
    x.fill = XGEMM_FILL_UPPER;
    add(x);
    EXPECT_EQ(code_of(x), -XGEMM_ARG_FILL);
  }
}

TEST(Check, WhatIsReservedIsZero) {
  xgemm_args x = legal_args();
  x.reserved = 1;
  EXPECT_EQ(code_of(x), -XGEMM_ARG_BATCH_KIND);
  for (const int mode : {-1, INT32_MIN, INT32_MAX}) {
    x = legal_args();
    x.math_mode = mode;
    EXPECT_EQ(code_of(x), -XGEMM_ARG_MATH_MODE) << mode;
  }
}

TEST(Check, PointersHaveNoStrides) {
  xgemm_args x = legal_args();
  x.batch_count = 3, x.stride_c = 0;
  EXPECT_EQ(code_of(x), -XGEMM_ARG_STRIDE_C);
  x.batch_kind = XGEMM_BATCH_POINTERS;
  EXPECT_EQ(code_of(x), 0);
}

TEST(Check, AuxIsOfAnActivation) {
  xgemm_args x = legal_args();
  x.aux = nowhere(), x.ld_aux = x.ldc;
  EXPECT_EQ(code_of(x), -XGEMM_ARG_AUX);
  x.activation = XGEMM_SILU;
  EXPECT_EQ(code_of(x), 0);
}

TEST(Check, ATriangleIsSquare) {
  xgemm_args x = legal_args();
  x.fill = XGEMM_FILL_LOWER;
  x.m = x.n = x.k = 4, x.lda = x.ldb = x.ldc = 4;
  EXPECT_EQ(code_of(x), 0);
  x.m = 3, x.ldc = 2;  // before leading dimensions
  EXPECT_EQ(code_of(x), -XGEMM_ARG_FILL);
  EXPECT_NE(std::string(last_error()).find("m = 3, n = 4"), std::string::npos);
  x.m = x.n = -1;
  EXPECT_EQ(code_of(x), -XGEMM_ARG_M);
  EXPECT_STREQ(last_error(), "m = -1, but m >= 0 is required");
  x.m = x.n = x.ldc = 4, x.activation = XGEMM_RELU;
  EXPECT_EQ(code_of(x), -XGEMM_ARG_FILL);
  x.activation = XGEMM_NO_ACTIVATION, x.lda = 3;
  EXPECT_EQ(code_of(x), -XGEMM_ARG_LDA);
  EXPECT_NE(std::string(last_error()).find("lda >= max(1, m) = 4"), std::string::npos);
}

TEST(Check, AcceptsALegalCall) {
  EXPECT_EQ(code_of(legal_args()), 0);
}

// C has the type of A and B, or the one that sums are kept in.
TEST(Check, TypesThatGoTogether) {
  for (const std::int32_t type : {XGEMM_F32, XGEMM_F16, XGEMM_BF16, XGEMM_F64})
    for (const std::int32_t type_c : {INT32_MIN, -2, -1, 0, 1, 2, 3, 4, 5, 256, INT32_MAX}) {
      xgemm_args args = legal_args();
      args.type = type;
      args.type_c = type_c;
      const bool legal = type_c == XGEMM_C_SAME || (type_c == XGEMM_C_F32 && type != XGEMM_F64) || type_c == type + 1;
      EXPECT_EQ(code_of(args), legal ? 0 : -XGEMM_ARG_TYPE_C) << type << " " << type_c;
    }
}

TEST(Check, EveryRuleHasItsNumberAndMessage) {
  for (const BadArgument& bad : bad_arguments()) {
    xgemm_args args = legal_args();
    bad.spoil(args);
    EXPECT_EQ(code_of(args), -bad.number);
    for (const std::string& part : bad.message)
      EXPECT_NE(std::string(last_error()).find(part), std::string::npos) << part << " is not in: " << last_error();
  }
}

// Whatever else is wrong, the first in the order is reported.
TEST(Check, TheFirstIllegalArgumentIsReported) {
  const std::vector<BadArgument> bad = bad_arguments();
  for (std::size_t first = 0; first < bad.size(); ++first)
    for (std::size_t second = first + 1; second < bad.size(); ++second) {
      xgemm_args args = legal_args();
      bad[second].spoil(args);
      bad[first].spoil(args);
      args.c = nullptr;  // pointers come last
      EXPECT_EQ(code_of(args), -bad[first].number) << "with " << bad[second].number << " illegal too";
    }
}

TEST(Check, FlagsAreNTCInEitherCaseAndNothingElse) {
  for (int byte = 0; byte < 256; ++byte) {
    const char flag = static_cast<char>(byte);
    const bool legal = byte != 0 && std::string("NnTtCc").find(flag) != std::string::npos;
    xgemm_args args = legal_args();
    args.transa = flag;
    EXPECT_EQ(code_of(args), legal ? 0 : -XGEMM_ARG_TRANSA) << byte;
    args = legal_args();
    args.transb = flag;
    EXPECT_EQ(code_of(args), legal ? 0 : -XGEMM_ARG_TRANSB) << byte;
  }
}

TEST(Check, MessagesNameTheLeadingDimensionsOwnExtent) {
  const struct {
    int layout;
    char transa, transb;
    const char *a, *b, *c;
  } kRules[] = {
      {XGEMM_COL_MAJOR, 'N', 'N', "max(1, m) = 5", "max(1, k) = 9", "max(1, m) = 5"},
      {XGEMM_COL_MAJOR, 'T', 'C', "max(1, k) = 9", "max(1, n) = 7", "max(1, m) = 5"},
      {XGEMM_ROW_MAJOR, 'n', 'n', "max(1, k) = 9", "max(1, n) = 7", "max(1, n) = 7"},
      {XGEMM_ROW_MAJOR, 't', 'c', "max(1, m) = 5", "max(1, k) = 9", "max(1, n) = 7"},
  };
  for (const auto& rule : kRules) {
    xgemm_args args = legal_args(5, 7, 9);
    args.layout = rule.layout;
    args.transa = rule.transa;
    args.transb = rule.transb;
    const auto message_with = [&](std::int64_t xgemm_args::*ld) {
      xgemm_args bad = args;
      bad.*ld = 1;
      EXPECT_LT(code_of(bad), 0);
      return std::string(last_error());
    };
    EXPECT_NE(message_with(&xgemm_args::lda).find(std::string("lda = 1, but lda >= ") + rule.a), std::string::npos);
    EXPECT_NE(message_with(&xgemm_args::ldb).find(std::string("ldb = 1, but ldb >= ") + rule.b), std::string::npos);
    EXPECT_NE(message_with(&xgemm_args::ldc).find(std::string("ldc = 1, but ldc >= ") + rule.c), std::string::npos);
  }
}

// The checks of the reference SGEMM, written as it writes them.
int reference_info(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t lda,
                   std::int64_t ldb, std::int64_t ldc) {
  const bool nota = transa == 'N', notb = transb == 'N';
  const std::int64_t nrowa = nota ? m : k, nrowb = notb ? k : n;
  if (!nota && transa != 'T') return 1;
  if (!notb && transb != 'T') return 2;
  if (m < 0) return 3;
  if (n < 0) return 4;
  if (k < 0) return 5;
  if (lda < std::max<std::int64_t>(1, nrowa)) return 8;
  if (ldb < std::max<std::int64_t>(1, nrowb)) return 10;
  if (ldc < std::max<std::int64_t>(1, m)) return 13;
  return 0;
}

TEST(Check, AgreesWithTheReferenceBlasEverywhere) {
  const std::int64_t extents[] = {-1, 0, 1, 2, 5}, lds[] = {-1, 0, 1, 2, 4, 5};
  for (const char transa : {'N', 'T', '?'})
    for (const char transb : {'N', 'T', '?'})
      for (const std::int64_t m : extents)
        for (const std::int64_t n : extents)
          for (const std::int64_t k : extents)
            for (const std::int64_t lda : lds)
              for (const std::int64_t ldb : lds)
                for (const std::int64_t ldc : lds)
                  ASSERT_EQ(api::first_illegal_blas_argument(transa, transb, m, n, k, lda, ldb, ldc, XGEMM_COL_MAJOR),
                            reference_info(transa, transb, m, n, k, lda, ldb, ldc))
                      << transa << transb << " " << m << " " << n << " " << k << " " << lda << " " << ldb << " " << ldc;
}

// In row major a leading dimension spans a row: as many elements as the stored matrix has columns.
TEST(Check, RowMajorLeadingDimensionsSpanRows) {
  const std::int64_t extents[] = {0, 1, 3, 5}, lds[] = {0, 1, 2, 3, 4, 5};
  for (const char transa : {'N', 'T'})
    for (const char transb : {'N', 'T'})
      for (const std::int64_t m : extents)
        for (const std::int64_t n : extents)
          for (const std::int64_t k : extents)
            for (const std::int64_t lda : lds)
              for (const std::int64_t ldb : lds)
                for (const std::int64_t ldc : lds) {
                  const std::int64_t a_cols = transa == 'N' ? k : m, b_cols = transb == 'N' ? n : k;
                  const auto least = [](std::int64_t cols) { return std::max<std::int64_t>(1, cols); };
                  const int expected = lda < least(a_cols) ? 8 : ldb < least(b_cols) ? 10 : ldc < least(n) ? 13 : 0;
                  ASSERT_EQ(api::first_illegal_blas_argument(transa, transb, m, n, k, lda, ldb, ldc, XGEMM_ROW_MAJOR),
                            expected)
                      << transa << transb << " " << m << " " << n << " " << k << " " << lda << " " << ldb << " " << ldc;
                }
}

// ---- Prepared operands --------------------------------------------------------------------------------------------

// A handle goes with the operand that it was made from, in products with any other operand, and with no other one.
TEST(Check, HandlesAreForTheirOperands) {
  Random random(5);
  for (int i = 0; i < 400; ++i) {
    xgemm_args args = legal_args(random.integer(2, 9), random.integer(2, 9), random.integer(2, 9));
    args.layout = pick(random, {XGEMM_COL_MAJOR, XGEMM_ROW_MAJOR});
    args.transa = pick(random, {'N', 'T'}), args.transb = pick(random, {'n', 'c'});
    const bool of_a = i % 2 == 0;
    const xgemm_argument number = of_a ? XGEMM_ARG_PREPARED_A : XGEMM_ARG_PREPARED_B;
    xgemm_prepared handle;
    handle.operand = api::operand_lines(args, of_a ? XGEMM_ARG_A : XGEMM_ARG_B);
    (of_a ? args.prepared_a : args.prepared_b) = &handle;
    ASSERT_EQ(code_of(args), 0);
    const Problem problem = canonicalize(args, false, Compute::fp32_emulated);
    const bool first = of_a == (args.layout == XGEMM_COL_MAJOR);
    const OperandLines lines = first ? runtime::lines_of_a(problem) : runtime::lines_of_b(problem);
    ASSERT_TRUE(lines.data == handle.operand.data && lines.lines == handle.operand.lines &&
                lines.k == handle.operand.k && lines.ld == handle.operand.ld &&
                lines.along_k == handle.operand.along_k);
    ASSERT_EQ((first ? problem.a : problem.b).prepared, &handle);
    ASSERT_EQ((first ? problem.b : problem.a).prepared, nullptr);

    const std::function<void(xgemm_args&)> others[] = {
        [&](xgemm_args& x) { (of_a ? x.m : x.n) -= 1; },
        [&](xgemm_args& x) { x.k -= 1; },
        [&](xgemm_args& x) { (of_a ? x.lda : x.ldb) += 1; },
        [&](xgemm_args& x) { (of_a ? x.a : x.b) = nowhere(0x7000); },
        [&](xgemm_args& x) { (of_a ? x.transa : x.transb) = (of_a ? x.transa == 'N' : x.transb == 'n') ? 'T' : 'N'; },
        [&](xgemm_args& x) { x.layout = XGEMM_COL_MAJOR + XGEMM_ROW_MAJOR - x.layout; },
        [&](xgemm_args& x) { x.type = XGEMM_F16; },
        [&](xgemm_args& x) { x.batch_count = 2, x.stride_a = x.stride_b = x.stride_c = 300; }};
    for (const auto& change : others) {
      xgemm_args other = args;
      change(other);
      ASSERT_EQ(code_of(other), -number);
    }
    const std::function<void(xgemm_args&)> same[] = {
        [&](xgemm_args& x) { (of_a ? x.n : x.m) += 3; }, [&](xgemm_args& x) { (of_a ? x.ldb : x.lda) += 1; },
        [&](xgemm_args& x) { (of_a ? x.b : x.a) = nowhere(0x7000); },
        [&](xgemm_args& x) { x.batch_count = 2, (of_a ? x.stride_b : x.stride_a) = x.stride_c = 300; }};
    for (const auto& change : same) {
      xgemm_args other = args;
      change(other);
      ASSERT_EQ(code_of(other), 0);
    }
  }
}

// ---- Overflow ---------------------------------------------------------------------------------------------------

// One matrix of `lines` lines at the limit, the others tiny: the limit itself is legal, one element more is not.
TEST(Check, LeadingDimensionTimesLinesStaysBelow63Bits) {
  for (const xgemm_type type : {XGEMM_F32, XGEMM_F16, XGEMM_BF16}) {
    const std::int64_t limit = kMax / (type == XGEMM_F32 ? 4 : 2);
    for (const std::int64_t lines : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{1} << 31}) {
      for (const bool over : {false, true}) {
        const std::int64_t ld = limit / lines + (over ? 1 : 0);
        xgemm_args args = legal_args(1, 1, 1);
        args.type = type;
        args.k = lines;  // A: 1 x k
        args.ldb = lines;
        args.lda = ld;
        EXPECT_EQ(code_of(args), over ? -XGEMM_ARG_LDA : 0) << lines;

        args = legal_args(1, lines, 1);  // B: 1 x n
        args.type = type;
        args.ldb = ld;
        args.ldc = 1;
        EXPECT_EQ(code_of(args), over ? -XGEMM_ARG_LDB : 0) << lines;

        args = legal_args(1, lines, 1);  // C: 1 x n
        args.type = type;
        args.ldb = 1;
        args.ldc = ld;
        EXPECT_EQ(code_of(args), over ? -XGEMM_ARG_LDC : 0) << lines;

        args.type_c = XGEMM_C_F32;
        args.ldc = kMax / 4 / lines + (over ? 1 : 0);
        EXPECT_EQ(code_of(args), over ? -XGEMM_ARG_LDC : 0) << lines;
      }
    }
  }
}

TEST(Check, ExtremeProductsDoNotWrapAround) {
  // 2^32 * 2^32 is 0 in 64 bits, and so are many others.
  const std::int64_t powers[] = {std::int64_t{1} << 31, std::int64_t{1} << 32, std::int64_t{1} << 61,
                                 std::int64_t{1} << 62, kMax};
  for (const std::int64_t n : powers)
    for (const std::int64_t ldc : powers) {
      if (n == powers[0] && ldc == powers[0]) continue;  // 2^62 elements: 2^64 bytes, illegal too, but B is as well
      xgemm_args args = legal_args(1, n, 1);
      args.ldb = 1;
      args.ldc = ldc;
      const int expected = n > kMax / 4 ? -XGEMM_ARG_LDB : -XGEMM_ARG_LDC;
      EXPECT_EQ(code_of(args), expected) << n << " " << ldc;
    }
}

TEST(Check, BatchStridesCountForTheReach) {
  xgemm_args args = legal_args(1, 1, 1);
  args.lda = args.ldb = args.ldc = 1;
  args.batch_count = 3;
  args.stride_c = 1;
  const std::int64_t at_limit = (kMax / 4 - 1) / 2;
  args.stride_a = at_limit;
  EXPECT_EQ(code_of(args), 0);
  args.stride_a = at_limit + 1;
  EXPECT_EQ(code_of(args), -XGEMM_ARG_STRIDE_A);
  EXPECT_NE(std::string(last_error()).find(std::to_string(at_limit + 1)), std::string::npos) << last_error();
  args.stride_a = 0;
  args.stride_b = kMax;
  EXPECT_EQ(code_of(args), -XGEMM_ARG_STRIDE_B);
  args.stride_b = 0;
  args.stride_c = kMax;
  EXPECT_EQ(code_of(args), -XGEMM_ARG_STRIDE_C);
  args.stride_c = 1;
  args.batch_count = kMax;
  EXPECT_EQ(code_of(args), -XGEMM_ARG_STRIDE_C);
  // The largest sum of products: past 127 bits it would wrap around even in 128.
  args.lda = args.stride_a = kMax;
  args.k = kMax;
  args.ldb = kMax;
  EXPECT_EQ(code_of(args), -XGEMM_ARG_LDA);
}

TEST(Check, EmptyMatricesReachNowhere) {
  xgemm_args args = legal_args(0, kMax, kMax);
  args.lda = args.ldb = args.ldc = kMax;
  args.a = args.b = args.c = nullptr;
  EXPECT_EQ(code_of(args), 0) << "B is k x n, and neither is 0, but C is empty and B is not read";
  args.n = 0;
  EXPECT_EQ(code_of(args), 0);
  args = legal_args(kMax, 0, kMax);
  args.lda = args.ldb = args.ldc = kMax;
  EXPECT_EQ(code_of(args), 0);
  args = legal_args(3, 3, 0);
  args.lda = args.ldb = kMax;
  EXPECT_EQ(code_of(args), 0);
  args = legal_args(3, 3, 3);
  args.lda = args.ldb = args.ldc = kMax;
  args.batch_count = 0;
  EXPECT_EQ(code_of(args), 0);
}

// ---- Batches ----------------------------------------------------------------------------------------------------

TEST(Check, BatchStridesOfARealBatch) {
  xgemm_args args = legal_args();
  args.batch_count = 2;
  args.stride_a = args.stride_b = 0;
  args.stride_c = 1000;
  EXPECT_EQ(code_of(args), 0) << "A and B may be shared";
  args.stride_a = -1;
  EXPECT_EQ(code_of(args), -XGEMM_ARG_STRIDE_A);
  EXPECT_NE(std::string(last_error()).find("stride_a = -1, but stride_a >= 0"), std::string::npos);
  args.stride_a = 0;
  args.stride_b = kMin;
  EXPECT_EQ(code_of(args), -XGEMM_ARG_STRIDE_B);
  args.stride_b = 0;
  for (const std::int64_t stride : {std::int64_t{0}, std::int64_t{-1}}) {
    args.stride_c = stride;
    EXPECT_EQ(code_of(args), -XGEMM_ARG_STRIDE_C);
    EXPECT_NE(std::string(last_error()).find("stride_c = " + std::to_string(stride)), std::string::npos);
    EXPECT_NE(std::string(last_error()).find("stride_c > 0"), std::string::npos);
  }
}

TEST(Check, StridesOfOneProductOrNoneAreNotLookedAt) {
  for (const std::int64_t count : {0, 1})
    for (const std::int64_t stride : {kMin, std::int64_t{-1}, std::int64_t{0}, kMax}) {
      xgemm_args args = legal_args();
      args.batch_count = count;
      args.stride_a = args.stride_b = args.stride_c = stride;
      EXPECT_EQ(code_of(args), 0) << count << " " << stride;
    }
}

// ---- Null pointers ----------------------------------------------------------------------------------------------

TEST(Check, NullPointersAreIllegalExactlyWhereTheyWouldBeFollowed) {
  const float* const scalars[] = {nullptr, &kZero, &kOne, &kTwo};
  for (const std::int64_t m : {0, 2})
    for (const std::int64_t n : {0, 2})
      for (const std::int64_t k : {0, 2})
        for (const std::int64_t batch : {0, 1})
          for (const float* alpha : scalars)
            for (const float* beta : scalars)
              for (int nulls = 0; nulls < 8; ++nulls) {
                xgemm_args args = legal_args(m, n, k);
                args.batch_count = batch;
                args.alpha = alpha;
                args.beta = beta;
                if (nulls & 1) args.a = nullptr;
                if (nulls & 2) args.b = nullptr;
                if (nulls & 4) args.c = nullptr;
                const float alpha_value = alpha ? *alpha : 1.0f, beta_value = beta ? *beta : 0.0f;
                const bool any_element = m > 0 && n > 0 && batch > 0;
                const bool reads = any_element && k > 0 && alpha_value != 0;
                const bool writes = any_element && (reads || beta_value != 1);
                const int expected = reads && (nulls & 1)    ? -XGEMM_ARG_A
                                     : reads && (nulls & 2)  ? -XGEMM_ARG_B
                                     : writes && (nulls & 4) ? -XGEMM_ARG_C
                                                             : 0;
                ASSERT_EQ(code_of(args), expected) << m << " " << n << " " << k << " batch " << batch << " nulls "
                                                   << nulls << " alpha " << alpha_value << " beta " << beta_value;
              }
}

TEST(Check, NanAlphaReadsItsOperands) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  xgemm_args args = legal_args();
  args.alpha = &nan;
  args.a = nullptr;
  EXPECT_EQ(code_of(args), -XGEMM_ARG_A);
}

TEST(Check, DeviceScalarsAreNotFollowedAndNotNull) {
  const auto* device = static_cast<const float*>(nowhere());
  xgemm_args args = legal_args();
  args.alpha = args.beta = device;
  EXPECT_EQ(code_of(args, true), 0);
  args.beta = nullptr;
  EXPECT_EQ(code_of(args, true), -XGEMM_ARG_BETA);
  args.alpha = nullptr;
  EXPECT_EQ(code_of(args, true), -XGEMM_ARG_ALPHA);
  // Their values are unknown, so that A, B and C have to be there.
  args.alpha = args.beta = device;
  args.a = nullptr;
  EXPECT_EQ(code_of(args, true), -XGEMM_ARG_A);
  args.k = 0;
  EXPECT_EQ(code_of(args, true), 0);
  args.c = nullptr;
  EXPECT_EQ(code_of(args, true), -XGEMM_ARG_C);
}

}  // namespace
}  // namespace xgemm::test
