// Products through the C ABI against the float64 oracle: flags, sizes around every edge, leading dimensions, scalars,
// row major, batches, and a random walk over all of it.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <vector>

#include "api/calls.h"

namespace xgemm::test {
namespace {

constexpr char kFlags[] = {'N', 'T', 'C', 'n', 't', 'c'};

// A test for each pair of types: that of A and B, and that of C.
#define TEST_ALL_TYPES(suite, name, function) \
  TEST(suite, name##F32) {                    \
    function<float>();                        \
  }                                           \
  TEST(suite, name##F64) {                    \
    function<double>();                       \
  }                                           \
  TEST(suite, name##F16) {                    \
    function<Half>();                         \
  }                                           \
  TEST(suite, name##Bf16) {                   \
    function<Bfloat16>();                     \
  }                                           \
  TEST(suite, name##F16ToF32) {               \
    function<Half, float>();                  \
  }                                           \
  TEST(suite, name##Bf16ToF32) {              \
    function<Bfloat16, float>();              \
  }

template <class T, class C>
void expect_right(Case<T, C>& x) {
  const int code = run(x);
  EXPECT_EQ(code, 0) << xgemm_last_error();
  const Verdict verdict = x.check();
  EXPECT_TRUE(verdict) << verdict.message;
}

template <class T, class C = T>
void all_flags() {
  for (const char transa : kFlags)
    for (const char transb : kFlags)
      for (const float beta : {0.0f, 1.0f, -0.7f}) {
        Case<T, C> x(transa, transb, 37, 29, 41, 1.3f, beta);
        expect_right(x);
      }
}
TEST_ALL_TYPES(Gemm, AllFlags, all_flags)

template <class T, class C = T>
void edge_sizes() {
  const std::int64_t extents[] = {0, 1, 2, 5, 16, 17, 33};
  std::uint64_t seed = 0;
  for (const std::int64_t m : extents)
    for (const std::int64_t n : extents)
      for (const std::int64_t k : extents)
        for (const char transa : {'N', 'T'})
          for (const char transb : {'N', 'T'})
            for (const float beta : {0.0f, 0.5f}) {
              Case<T, C> x(transa, transb, m, n, k, -0.7f, beta, seed % 3, seed);
              ++seed;
              expect_right(x);
              if (testing::Test::HasFailure()) return;
            }
}
TEST_ALL_TYPES(Gemm, EdgeSizes, edge_sizes)

template <class T, class C = T>
void scalars() {
  for (const float alpha : {0.0f, -0.0f, 1.0f, -1.0f, 0.7f, 1e-20f, 1000.0f})
    for (const float beta : {0.0f, -0.0f, 1.0f, -1.0f, 0.7f, 1e-20f})
      for (const std::int64_t k : {0, 1, 30}) {
        Case<T, C> x('N', 'T', 19, 23, k, alpha, beta);
        if (beta == 0) x.c.poison();
        x.c_before = x.c;
        x.product.c = x.c_before.data();
        expect_right(x);
      }
}
TEST_ALL_TYPES(Gemm, Scalars, scalars)

// Larger than any block of an engine, so that sums are carried from block to block.
TEST(Gemm, SeveralBlocksF32) {
  Case<float> x('T', 'N', 300, 210, 700, 1.0f, -0.7f);
  expect_right(x);
}
TEST(Gemm, SeveralBlocksF64) {
  Case<double> x('T', 'N', 300, 210, 700, 1.1, -0.7);
  expect_right(x);
}
template <class T, class C>
void several_blocks() {
  Case<T, C> tall('N', 'T', 1100, 33, 600, 1.0f, 0.5f);
  expect_right(tall);
  Case<T, C> wide('T', 'N', 40, 1060, 520, 0.5f, 0.0f);
  expect_right(wide);
}
TEST(Gemm, SeveralBlocksF16) {
  several_blocks<Half, Half>();
}
TEST(Gemm, SeveralBlocksBf16) {
  several_blocks<Bfloat16, Bfloat16>();
}
TEST(Gemm, SeveralBlocksF16ToF32) {
  several_blocks<Half, float>();
}
TEST(Gemm, SeveralBlocksBf16ToF32) {
  several_blocks<Bfloat16, float>();
}

// C in fp32 is not rounded on its way: bits below the precision of fp16 and bf16 survive, in sums and in old C.
template <class T>
void keeps_single_precision() {
  Matrix<T> a(1, 2), b(2, 1);
  a(0, 0) = b(0, 0) = from_double<T>(1.0);
  a(0, 1) = b(1, 0) = from_double<T>(0x1p-10);
  float c = 0x1p-23f;
  const Product<T, float> p = {'N', 'N', 1, 1, 2, 1.0f, 1.0f, a.data(), 1, b.data(), 2, &c, 1};
  const xgemm_args args = args_of(p, &c);
  ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
  EXPECT_EQ(c, 1.0f + 0x1p-20f + 0x1p-23f);
  // And what is beyond fp16 is not beyond C.
  a.fill(from_double<T>(60000.0));
  b.fill(from_double<T>(60000.0));
  c = 0;
  ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
  EXPECT_EQ(static_cast<double>(c), 2 * to_double(a(0, 0)) * to_double(b(0, 0)));
}
TEST(Gemm, SinglePrecisionIsKeptF16ToF32) {
  keeps_single_precision<Half>();
}
TEST(Gemm, SinglePrecisionIsKeptBf16ToF32) {
  keeps_single_precision<Bfloat16>();
}

// Nothing of a double is rounded to fp32 on its way: neither sums nor alpha, beta, old C.
TEST(Gemm, DoublePrecisionIsKept) {
  Matrix<double> a(1, 2), b(2, 1);
  a(0, 0) = b(0, 0) = 1;
  a(0, 1) = b(1, 0) = 0x1p-20;
  double c = 0x1p-10;
  const Product<double> p = {'N', 'N', 1, 1, 2, 1 + 0x1p-30, 1 + 0x1p-35, a.data(), 1, b.data(), 2, &c, 1};
  const xgemm_args args = args_of(p, &c);
  ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
  EXPECT_EQ(c, static_cast<double>((1 + 0x1p-30L) * (1 + 0x1p-40L) + (1 + 0x1p-35L) * 0x1p-10L));
  a.fill(1e200);
  b.fill(1e100);
  c = 0;
  ASSERT_EQ(xdgemm('N', 'N', 1, 1, 2, 1.0, a.data(), 1, b.data(), 2, 0.0, &c, 1), 0) << xgemm_last_error();
  EXPECT_EQ(c, 2 * (1e200 * 1e100));
}

// fp16 is the fp32 sum rounded once: sums that fp16 cannot hold on the way have to survive it.
TEST(Gemm, HalfSumsAreKeptInSinglePrecision) {
  const std::int64_t k = 4096;
  Matrix<Half> a(1, k), b(k, 1), c(1, 1);
  a.fill(from_double<Half>(1.0));
  b.fill(from_double<Half>(1.0));
  // 4096 ones: an fp16 sum would stop at 2048.
  ASSERT_EQ(xhgemm('N', 'N', 1, 1, k, 1.0f, a.data(), 1, b.data(), k, 0.0f, c.data(), 1), 0);
  EXPECT_EQ(to_double(c(0, 0)), 4096.0);
  // 4096 * 64 is beyond fp16; alpha brings it back.
  b.fill(from_double<Half>(64.0));
  ASSERT_EQ(xhgemm('N', 'N', 1, 1, k, 0x1p-6f, a.data(), 1, b.data(), k, 0.0f, c.data(), 1), 0);
  EXPECT_EQ(to_double(c(0, 0)), 4096.0);
  // And one that stays beyond becomes infinite.
  ASSERT_EQ(xhgemm('N', 'N', 1, 1, k, 1.0f, a.data(), 1, b.data(), k, 0.0f, c.data(), 1), 0);
  EXPECT_EQ(c(0, 0), kHalfInfinity);
  // beta * C is added before the rounding: 2048 + 1 * 1 is a tie in fp16, 2048 + 1.5 is not.
  Matrix<Half> one(1, 1), c2(1, 1);
  one.fill(from_double<Half>(1.5));
  c2.fill(from_double<Half>(2048.0));
  ASSERT_EQ(xhgemm('N', 'N', 1, 1, 1, 1.0f, one.data(), 1, a.data(), 1, 1.0f, c2.data(), 1), 0);
  EXPECT_EQ(to_double(c2(0, 0)), 2050.0);
}
TEST(Gemm, Bfloat16SumsAreKeptInSinglePrecision) {
  const std::int64_t k = 4096;
  Matrix<Bfloat16> a(1, k), b(k, 1), c(1, 1);
  a.fill(from_double<Bfloat16>(1.0));
  b.fill(from_double<Bfloat16>(1.0));
  // 4096 ones: a bf16 sum would stop at 256.
  const Product<Bfloat16> ones = {'N', 'N', 1, 1, k, 1.0f, 0.0f, a.data(), 1, b.data(), k, nullptr, 1};
  const auto multiply = [](const Product<Bfloat16>& p, Matrix<Bfloat16>& result) {
    return simple_gemm(p.transa, p.transb, p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, result.data(),
                       p.ldc);
  };
  ASSERT_EQ(multiply(ones, c), 0);
  EXPECT_EQ(to_double(c(0, 0)), 4096.0);
  // fp16 could not hold 2^40: bf16 has the range of fp32.
  b.fill(from_double<Bfloat16>(0x1p28));
  ASSERT_EQ(multiply(ones, c), 0);
  EXPECT_EQ(to_double(c(0, 0)), 0x1p40);
  // beta * C is added before the rounding: 256 + 1 * 1 is a tie in bf16, 256 + 1.5 is not.
  Matrix<Bfloat16> one(1, 1), c2(1, 1);
  one.fill(from_double<Bfloat16>(1.5));
  c2.fill(from_double<Bfloat16>(256.0));
  const Product<Bfloat16> last = {'N', 'N', 1, 1, 1, 1.0f, 1.0f, one.data(), 1, a.data(), 1, nullptr, 1};
  ASSERT_EQ(multiply(last, c2), 0);
  EXPECT_EQ(to_double(c2(0, 0)), 258.0);
  c2.fill(from_double<Bfloat16>(256.0));
  one.fill(from_double<Bfloat16>(1.0));
  ASSERT_EQ(multiply(last, c2), 0);
  EXPECT_EQ(to_double(c2(0, 0)), 256.0);
}

// ---- Row major ----------------------------------------------------------------------------------------------------

// Elements by definition, with integers whose sums are exact, so that it shares no idea with the library's own.
template <class T, class C = T>
void row_major() {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t m = random.integer(0, 20), n = random.integer(0, 20), k = random.integer(0, 20);
    const bool ta = random.integer(0, 1), tb = random.integer(0, 1);
    const std::int64_t a_rows = ta ? k : m, a_cols = ta ? m : k, b_rows = tb ? n : k, b_cols = tb ? k : n;
    // A row-major matrix is guarded as the column-major one with the same memory.
    Matrix<T> a(a_cols, a_rows, a_cols + random.integer(1, 4)), b(b_cols, b_rows, b_cols + random.integer(1, 4));
    Matrix<C> c(n, m, n + random.integer(1, 4));
    a.fill_integers(random.bits());
    b.fill_integers(random.bits());
    c.fill_integers(random.bits());
    const Matrix<C> before = c;
    const ScalarOf<T> alpha = 2, beta = -3;
    xgemm_args args = XGEMM_ARGS_INIT;
    args.type = TypeOf<T>::value;
    args.type_c = kTypeC<T, C>;
    args.layout = XGEMM_ROW_MAJOR;
    args.transa = ta ? 'T' : 'N';
    args.transb = tb ? 'T' : 'N';
    args.m = m, args.n = n, args.k = k;
    args.alpha = &alpha, args.beta = &beta;
    args.a = a.data(), args.lda = a.ld();
    args.b = b.data(), args.ldb = b.ld();
    args.c = c.data(), args.ldc = c.ld();
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += to_double(a.data()[ta ? l * a.ld() + i : i * a.ld() + l]) *
                 to_double(b.data()[tb ? j * b.ld() + l : l * b.ld() + j]);
        ASSERT_EQ(to_double(c.data()[i * c.ld() + j]), 2 * sum - 3 * to_double(before.data()[i * c.ld() + j]))
            << "(" << i << "," << j << ") of " << m << " x " << n << " x " << k;
      }
    ASSERT_EQ(c.guards_intact(), "");
  }
}
TEST_ALL_TYPES(Gemm, RowMajor, row_major)

// ---- Batches ------------------------------------------------------------------------------------------------------

template <class T, class C = T>
void batches() {
  Random random(6);
  for (int round = 0; round < 150; ++round) {
    const std::int64_t m = random.integer(0, 12), n = random.integer(0, 12), k = random.integer(0, 12);
    const std::int64_t count = random.integer(0, 5);
    const char ta = random.integer(0, 1) ? 'T' : 'N', tb = random.integer(0, 1) ? 'T' : 'N';
    const ScalarOf<T> alpha = random.integer(0, 3) ? 1.5 : 0, beta = random.integer(0, 2) ? -0.5 : 0;
    const std::int64_t a_rows = ta == 'N' ? m : k, a_cols = ta == 'N' ? k : m;
    const std::int64_t b_rows = tb == 'N' ? k : n, b_cols = tb == 'N' ? n : k;
    const auto ld = [&](std::int64_t rows) { return std::max<std::int64_t>(1, rows) + random.integer(0, 2); };
    const std::int64_t lda = ld(a_rows), ldb = ld(b_rows), ldc = ld(m);
    // 0: one matrix for all; else with a gap between them.
    const std::int64_t stride_a = random.integer(0, 2) ? lda * a_cols + random.integer(0, 3) : 0;
    const std::int64_t stride_b = random.integer(0, 2) ? ldb * b_cols + random.integer(0, 3) : 0;
    const std::int64_t stride_c = ldc * n + random.integer(1, 3);
    Matrix<T> a(lda * a_cols + stride_a * std::max<std::int64_t>(0, count - 1), 1);
    Matrix<T> b(ldb * b_cols + stride_b * std::max<std::int64_t>(0, count - 1), 1);
    Matrix<C> c(std::max<std::int64_t>(1, stride_c * count), 1);
    a.fill_uniform(random.bits());
    b.fill_uniform(random.bits());
    if (beta != 0) c.fill_uniform(random.bits());  // else NaN
    const Matrix<C> before = c;
    Product<T, C> p = {ta, tb, m, n, k, alpha, beta, a.data(), lda, b.data(), ldb, before.data(), ldc};
    xgemm_args args = args_of(p, c.data());
    args.batch_count = count;
    args.stride_a = stride_a, args.stride_b = stride_b, args.stride_c = stride_c;
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
    std::vector<bool> owned(static_cast<std::size_t>(c.rows()), false);
    for (std::int64_t entry = 0; entry < count; ++entry) {
      const Verdict verdict = check_result(p, c.data() + entry * stride_c);
      ASSERT_TRUE(verdict) << "entry " << entry << " of " << count << ": " << verdict.message;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i) owned[static_cast<std::size_t>(entry * stride_c + i + j * ldc)] = true;
      p.a += stride_a, p.b += stride_b, p.c += stride_c;
    }
    ASSERT_EQ(c.guards_intact(), "");
    for (std::size_t i = 0; i < owned.size(); ++i)
      ASSERT_TRUE(owned[i] || std::memcmp(c.data() + i, before.data() + i, sizeof(C)) == 0)
          << "between matrices: " << i;
  }
}
TEST_ALL_TYPES(Gemm, Batches, batches)

TEST(Gemm, RowMajorBatch) {
  // Two products of 1 x 2 by 2 x 2, B shared.
  const float a[] = {1, 2, /* */ 3, 4}, b[] = {5, 6, 7, 8};
  float c[] = {9, 9, 9, 9};
  xgemm_args args = XGEMM_ARGS_INIT;
  args.layout = XGEMM_ROW_MAJOR;
  args.m = 1, args.n = 2, args.k = 2;
  args.a = a, args.lda = 2, args.stride_a = 2;
  args.b = b, args.ldb = 2;
  args.c = c, args.ldc = 2, args.stride_c = 2;
  args.batch_count = 2;
  ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
  const float expected[] = {19, 22, 43, 50};
  EXPECT_EQ(std::memcmp(c, expected, sizeof c), 0);
}

// The general call without scalars is C := A B.
TEST(Gemm, DefaultsOfTheArguments) {
  const float a[] = {2}, b[] = {3};
  float c[] = {100};
  xgemm_args args = XGEMM_ARGS_INIT;
  args.m = args.n = args.k = 1;
  args.a = a, args.b = b, args.c = c;
  ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
  EXPECT_EQ(c[0], 6);
}

// A and B may be one and the same.
TEST(Gemm, AliasedInputs) {
  Matrix<float> a(31, 31), c(31, 31);
  a.fill_uniform(1);
  ASSERT_EQ(xsgemm('T', 'N', 31, 31, 31, 1.0f, a.data(), 31, a.data(), 31, 0.0f, c.data(), 31), 0);
  const Product<float> p = {'T', 'N', 31, 31, 31, 1.0f, 0.0f, a.data(), 31, a.data(), 31, c.data(), 31};
  EXPECT_TRUE(check_result(p, c.data()));
}

// The same call gives the same bits.
TEST(Gemm, IsReproducible) {
  Case<float> x('N', 'T', 130, 140, 150, 1.1f, 0.0f);
  ASSERT_EQ(run(x), 0);
  const Matrix<float> first = x.c;
  for (int i = 0; i < 5; ++i) {
    x.c.poison();
    ASSERT_EQ(run(x), 0);
    EXPECT_TRUE(x.c.same_bits(first));
  }
}

// ---- Random walk --------------------------------------------------------------------------------------------------

template <class T, class C = T>
void fuzz() {
  Random random(101);
  constexpr float kScalars[] = {0.0f, 1.0f, -1.0f, 0.5f, -0.7f, 3.25f};
  for (int i = 0; i < 4000 && !testing::Test::HasFailure(); ++i) {
    // Mostly small, some thin, a few that cross blocks.
    const auto extent = [&] { return random.integer(0, 30) == 0 ? random.integer(0, 150) : random.integer(0, 24); };
    const auto scalar = [&] { return kScalars[random.integer(0, 5)]; };
    Case<T, C> x(kFlags[random.integer(0, 5)], kFlags[random.integer(0, 5)], extent(), extent(), extent(), scalar(),
                 scalar(), random.integer(0, 5), random.bits());
    SCOPED_TRACE("round " + std::to_string(i));
    if (random.integer(0, 1)) {
      expect_right(x);
    } else {
      xgemm_args args = args_of(x.product, x.c.data());
      EXPECT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
      const Verdict verdict = x.check();
      EXPECT_TRUE(verdict) << verdict.message;
    }
  }
}
TEST_ALL_TYPES(Fuzz, Products, fuzz)

}  // namespace
}  // namespace xgemm::test
