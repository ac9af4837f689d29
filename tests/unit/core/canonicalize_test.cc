// From xgemm_args to the canonical Problem.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "core/canonicalize.h"

#include <gtest/gtest.h>

#include "unit/core/args.h"

namespace xgemm::test {
namespace {

const float kAlpha = 1.5f, kBeta = -0.25f;
const double kWideAlpha = 1.5, kWideBeta = -0.25;

xgemm_args random_args(Random& random) {
  xgemm_args args = legal_args(random.integer(0, 100), random.integer(0, 100), random.integer(0, 100));
  args.type = pick(random, {XGEMM_F32, XGEMM_F16, XGEMM_BF16, XGEMM_F64});
  args.type_c = pick(random, {XGEMM_C_SAME, XGEMM_C_F32});
  args.layout = pick(random, {XGEMM_COL_MAJOR, XGEMM_ROW_MAJOR});
  args.transa = pick(random, {'N', 'n', 'T', 't', 'C', 'c'});
  args.transb = pick(random, {'N', 'n', 'T', 't', 'C', 'c'});
  const bool wide = args.type == XGEMM_F64;
  const void* const alpha = wide ? static_cast<const void*>(&kWideAlpha) : &kAlpha;
  const void* const beta = wide ? static_cast<const void*>(&kWideBeta) : &kBeta;
  args.alpha = pick(random, {static_cast<const void*>(nullptr), alpha, beta});
  args.beta = pick(random, {static_cast<const void*>(nullptr), alpha, beta});
  args.lda = random.integer(100, 200);
  args.ldb = random.integer(100, 200);
  args.ldc = random.integer(100, 200);
  args.batch_count = random.integer(0, 3);
  args.stride_a = random.integer(0, 1000);
  args.stride_b = random.integer(0, 1000);
  args.stride_c = random.integer(1, 1000);
  const auto maybe = [&](std::uintptr_t at) {
    return random.integer(0, 1) == 0 ? nullptr : static_cast<const void*>(nowhere(at));
  };
  args.activation = static_cast<std::int32_t>(random.integer(XGEMM_NO_ACTIVATION, XGEMM_SILU));
  args.bias_along = pick(random, {XGEMM_BIAS_OF_ROWS, XGEMM_BIAS_OF_COLUMNS});
  args.bias = maybe(0x4000), args.row_scales = maybe(0x5000), args.column_scales = maybe(0x6000);
  args.old_c = random.integer(0, 2) == 0 ? args.c : maybe(0x7000);
  args.ld_old_c = random.integer(0, 1) == 0 ? args.ldc : random.integer(100, 200);
  args.stride_old_c = random.integer(0, 1) == 0 ? args.stride_c : random.integer(0, 1000);
  if (args.activation != XGEMM_NO_ACTIVATION && random.integer(0, 1) == 0)
    args.aux = nowhere(0x8000), args.ld_aux = random.integer(13, 25) * 8, args.stride_aux = random.integer(1, 99) * 8;
  return args;
}

// C^T = op(B)^T op(A)^T, written out by hand on the arguments.
xgemm_args swapped(const xgemm_args& x) {
  xgemm_args y = x;
  y.layout = x.layout == XGEMM_ROW_MAJOR ? XGEMM_COL_MAJOR : XGEMM_ROW_MAJOR;
  y.transa = x.transb, y.transb = x.transa;
  y.m = x.n, y.n = x.m;
  y.a = x.b, y.b = x.a;
  y.lda = x.ldb, y.ldb = x.lda;
  y.stride_a = x.stride_b, y.stride_b = x.stride_a;
  y.bias_along = x.bias_along == XGEMM_BIAS_OF_ROWS ? XGEMM_BIAS_OF_COLUMNS : XGEMM_BIAS_OF_ROWS;
  y.row_scales = x.column_scales, y.column_scales = x.row_scales;
  return y;
}

// The arguments that say again what a problem says.
// The arguments point to `scalars`.
struct Scalars {
  float single[2];
  double wide[2];
};
xgemm_args args_of(const Problem& p, Scalars& scalars) {
  xgemm_args args = XGEMM_ARGS_INIT;
  args.type = static_cast<std::int32_t>(p.a.type);
  args.type_c = static_cast<std::int32_t>(p.c.type) + 1;
  args.transa = static_cast<char>(p.a.op), args.transb = static_cast<char>(p.b.op);
  args.m = p.m, args.n = p.n, args.k = p.k;
  scalars.wide[0] = p.alpha.value, scalars.wide[1] = p.beta.value;
  for (const int i : {0, 1}) scalars.single[i] = static_cast<float>(scalars.wide[i]);
  const bool wide = p.sums() == DType::f64;
  args.alpha = wide ? static_cast<const void*>(&scalars.wide[0]) : &scalars.single[0];
  args.beta = wide ? static_cast<const void*>(&scalars.wide[1]) : &scalars.single[1];
  args.a = p.a.data, args.lda = p.a.ld, args.stride_a = p.a.batch_stride;
  args.b = p.b.data, args.ldb = p.b.ld, args.stride_b = p.b.batch_stride;
  args.c = p.c.data, args.ldc = p.c.ld, args.stride_c = p.c.batch_stride;
  args.batch_count = p.batch_count;
  const Epilogue& e = p.epilogue;
  args.activation = static_cast<std::int32_t>(e.activation);
  args.bias = e.bias;
  args.bias_along = e.bias_along == Along::columns ? XGEMM_BIAS_OF_COLUMNS : XGEMM_BIAS_OF_ROWS;
  args.row_scales = e.row_scales, args.column_scales = e.column_scales;
  args.old_c = e.old_c, args.ld_old_c = e.ld_old_c, args.stride_old_c = e.stride_old_c;
  args.aux = e.aux, args.ld_aux = e.ld_aux, args.stride_aux = e.stride_aux;
  return args;
}

TEST(Canonicalize, EveryTypeHasItsNumber) {
  EXPECT_EQ(dtype_of(XGEMM_F32), DType::f32);
  EXPECT_EQ(dtype_of(XGEMM_F16), DType::f16);
  EXPECT_EQ(dtype_of(XGEMM_BF16), DType::bf16);
  EXPECT_EQ(dtype_of(XGEMM_F64), DType::f64);
  for (const std::int32_t other : {-1, 4, 255, 256, INT32_MAX, INT32_MIN}) EXPECT_EQ(dtype_of(other), std::nullopt);
  for (const xgemm_type type : {XGEMM_F32, XGEMM_F16, XGEMM_BF16, XGEMM_F64}) {
    xgemm_args args = legal_args(5, 7, 9);
    args.type = type;
    const DType expected = *dtype_of(type);
    EXPECT_EQ(canonicalize(args, false).types(), (ProductTypes{expected, expected, expected}));
    args.type_c = XGEMM_C_F32;
    EXPECT_EQ(canonicalize(args, false).types(), (ProductTypes{expected, expected, DType::f32}));
  }
}

TEST(Canonicalize, ColumnMajorIsTakenAsItIs) {
  xgemm_args args = legal_args(5, 7, 9);
  args.type = XGEMM_F16;
  args.transa = 't';
  args.transb = 'n';
  args.alpha = &kAlpha;
  args.beta = &kBeta;
  args.lda = 11, args.ldb = 12, args.ldc = 13;
  args.batch_count = 4;
  args.stride_a = 0, args.stride_b = 200, args.stride_c = 300;
  const Problem p = canonicalize(args, false);
  Problem expected;
  expected.m = 5, expected.n = 7, expected.k = 9;
  expected.batch_count = 4;
  expected.alpha.value = kAlpha;
  expected.beta.value = kBeta;
  expected.a = {DType::f16, args.a, Op::transpose, 11, 0};
  expected.b = {DType::f16, args.b, Op::none, 12, 200};
  expected.c = {DType::f16, args.c, 13, 300};
  EXPECT_EQ(p, expected) << to_string(p);
}

TEST(Canonicalize, FlagsReduceToNAndT) {
  for (const char flag : {'N', 'n', 'T', 't', 'C', 'c'}) {
    xgemm_args args = legal_args();
    args.transa = args.transb = flag;
    const Op expected = flag == 'N' || flag == 'n' ? Op::none : Op::transpose;
    EXPECT_EQ(canonicalize(args, false).a.op, expected);
    EXPECT_EQ(canonicalize(args, false).b.op, expected);
  }
}

TEST(Canonicalize, RowMajorIsTheSwappedColumnMajorCall) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const xgemm_args args = random_args(random);
    ASSERT_EQ(canonicalize(args, false), canonicalize(swapped(args), false)) << "at " << i;
  }
}

// y^T = x^T op(B) with nothing between the elements of y is y = op(B)^T x.
TEST(Canonicalize, ARowWithoutGapsIsAColumn) {
  xgemm_args row = legal_args(1, 7, 9);
  row.transa = 'n', row.transb = 't';
  row.lda = 3, row.ldb = 12, row.ldc = 1;
  xgemm_args column = legal_args(7, 1, 9);
  column.transa = 'n', column.transb = 't';
  column.a = row.b, column.b = row.a, column.c = row.c;
  column.lda = 12, column.ldb = 3, column.ldc = 7;
  EXPECT_EQ(canonicalize(row, false), canonicalize(column, false));

  xgemm_args with_gaps = row;
  with_gaps.ldc = 2;
  EXPECT_EQ(canonicalize(with_gaps, false).m, 1);
  // Old C and outputs beside C have leading dimensions of their own.
  xgemm_args beside = row;
  beside.beta = &kBeta;
  beside.old_c = nowhere(0x9000), beside.ld_old_c = 2;
  EXPECT_EQ(canonicalize(beside, false).m, 1);
}

TEST(Canonicalize, AnInputRowWithoutGapsIsAColumn) {
  xgemm_args args = legal_args(7, 1, 9);
  args.transb = 't', args.ldb = 1;
  xgemm_args standing = args;
  standing.transb = 'n', standing.ldb = 9;
  EXPECT_EQ(canonicalize(args, false), canonicalize(standing, false));
  args.ldb = 2;
  EXPECT_EQ(canonicalize(args, false).b.ld, 2);
}

// Operands that may have been prepared lie as the call says, and so do vectors: a handle is found by how they lie.
TEST(Canonicalize, VectorsOfEmulatedProductsStayAsTheyAre) {
  xgemm_args args = legal_args(1, 7, 9);
  args.lda = 1, args.ldc = 1;
  const Problem p = canonicalize(args, false, Compute::fp32_emulated);
  EXPECT_TRUE(p.m == 1 && p.n == 7 && p.a.data == args.a && p.a.op == Op::none && p.a.ld == 1 && p.c.ld == 1);
}

TEST(Canonicalize, TrianglesAndOtherTypesAreStrict) {
  for (const Compute compute : {Compute::tf32, Compute::fp32_emulated}) {
    xgemm_args args = legal_args(5, 5, 9);
    EXPECT_EQ(canonicalize(args, false, compute).compute, compute);
    args.fill = XGEMM_FILL_LOWER;
    EXPECT_EQ(canonicalize(args, false, compute).compute, Compute::strict);
    args.fill = XGEMM_FILL_FULL, args.type = XGEMM_F16;
    EXPECT_EQ(canonicalize(args, false, compute).compute, Compute::strict);
  }
}

TEST(Canonicalize, CanonicalProblemsStayAsTheyAre) {
  Random random(2);
  for (int i = 0; i < 2000; ++i) {
    const Problem once = canonicalize(random_args(random), false);
    Scalars scalars;
    ASSERT_EQ(canonicalize(args_of(once, scalars), false), once) << "at " << i;
  }
}

TEST(Canonicalize, ScalarsHaveDefaults) {
  const Problem p = canonicalize(legal_args(), false);
  EXPECT_TRUE(p.alpha.is(1.0f));
  EXPECT_TRUE(p.beta.is(0.0f));
}

TEST(Canonicalize, DeviceScalarsAreCarriedNotRead) {
  xgemm_args args = legal_args();
  args.alpha = static_cast<const float*>(nowhere(64));
  args.beta = static_cast<const float*>(nowhere(128));
  const Problem p = canonicalize(args, true);
  EXPECT_EQ(p.alpha.device, args.alpha);
  EXPECT_EQ(p.beta.device, args.beta);
  EXPECT_FALSE(p.alpha.known());
  EXPECT_FALSE(p.beta.is(0.0f)) << "an unknown scalar has no known value";
  EXPECT_TRUE(p.reads_inputs() && p.reads_c());
  EXPECT_FALSE(p.does_nothing());
}

// The strides of a single product may hold anything; behind the API they would be added to pointers.
TEST(Canonicalize, OneProductHasNoBatchStrides) {
  for (const std::int64_t count : {0, 1}) {
    xgemm_args args = legal_args();
    args.batch_count = count;
    args.stride_a = args.stride_b = args.stride_c = INT64_MAX;
    const Problem p = canonicalize(args, false);
    EXPECT_EQ(p.a.batch_stride, 0);
    EXPECT_EQ(p.b.batch_stride, 0);
    EXPECT_EQ(p.c.batch_stride, 0);
  }
}

// An old C that is C itself, or that beta = 0 does not read, is none.
TEST(Canonicalize, OldCIsThereWhereItMatters) {
  xgemm_args args = legal_args();
  args.beta = &kBeta;
  args.old_c = nowhere(0x9000), args.ld_old_c = 77;
  EXPECT_EQ(canonicalize(args, false).epilogue.old_c, args.old_c);
  EXPECT_EQ(canonicalize(args, false).epilogue.ld_old_c, 77);
  args.beta = nullptr;
  EXPECT_FALSE(canonicalize(args, false).epilogue.any());
  args.beta = &kBeta;
  args.old_c = args.c, args.ld_old_c = args.ldc;
  EXPECT_FALSE(canonicalize(args, false).epilogue.any());
  args.stride_old_c = -77;  // of a single product it says nothing
  EXPECT_FALSE(canonicalize(args, false).epilogue.any());
  args.ld_old_c = args.ldc + 1, args.n = 1;  // of a single column it says nothing
  EXPECT_FALSE(canonicalize(args, false).epilogue.any());
}

TEST(Canonicalize, OperandsThatAreNotReadHaveNoStridesOfTheirs) {
  const float zero = 0.0f;
  for (const bool by_alpha : {false, true}) {
    xgemm_args args = legal_args();
    if (by_alpha)
      args.alpha = &zero;
    else
      args.k = 0;
    args.a = args.b = nullptr;
    args.lda = args.ldb = INT64_MAX;
    args.batch_count = 3;
    args.stride_a = args.stride_b = INT64_MAX;
    args.stride_c = 500;
    const Problem p = canonicalize(args, false);
    EXPECT_EQ(p.a.batch_stride, 0);
    EXPECT_EQ(p.b.batch_stride, 0);
    EXPECT_EQ(p.c.batch_stride, 500);
    EXPECT_LE(p.a.ld, 9);
    EXPECT_LE(p.b.ld, 9);
  }
}

}  // namespace
}  // namespace xgemm::test
