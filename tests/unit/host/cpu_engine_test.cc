// What the CPU engine promises whatever library is below: BLAS semantics for fp32 and fp16, batches, 64-bit strides,
// bounded memory, one rounding.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/cpu_engine.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#include "support/oracle.h"

namespace {
std::atomic<bool> memory_is_out{false};
std::atomic<std::size_t> largest_request{0};
}  // namespace

// The scratch memory of the engine comes from here.
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  largest_request = std::max(largest_request.load(), bytes);
  const auto align = static_cast<std::size_t>(alignment);
  return memory_is_out ? nullptr : std::aligned_alloc(align, (bytes + align - 1) / align * align);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace {

using namespace xgemm;
using std::int64_t;
using test::Bfloat16;
using test::Half;

template <class T>
constexpr DType kType = DType::f32;
template <>
constexpr DType kType<double> = DType::f64;
template <>
constexpr DType kType<Half> = DType::f16;
template <>
constexpr DType kType<Bfloat16> = DType::bf16;

template <class T, class C>
Problem problem_of(test::Case<T, C>& c) {
  const auto& p = c.product;
  const auto op = [](char flag) { return flag == 'N' ? Op::none : Op::transpose; };
  Problem problem;
  problem.m = p.m, problem.n = p.n, problem.k = p.k;
  problem.alpha.value = p.alpha, problem.beta.value = p.beta;
  problem.a = {kType<T>, p.a, op(p.transa), p.lda, 0};
  problem.b = {kType<T>, p.b, op(p.transb), p.ldb, 0};
  problem.c = {kType<C>, c.c.data(), p.ldc, 0};
  return problem;
}

// The types of A and B, and of C.
template <class I, class O>
struct Elements {
  using In = I;
  using Out = O;
};

template <class T>
class CpuEngine : public testing::Test {};
using Types = testing::Types<Elements<float, float>, Elements<double, double>, Elements<Half, Half>,
                             Elements<Bfloat16, Bfloat16>, Elements<Half, float>, Elements<Bfloat16, float>>;
TYPED_TEST_SUITE(CpuEngine, Types);

TYPED_TEST(CpuEngine, AllFlagsScalarsAndEdges) {
  using T = typename TypeParam::In;
  using C = typename TypeParam::Out;
  for (const char transa : {'N', 'T'})
    for (const char transb : {'N', 'T'})
      for (const int m : {1, 7, 31, 65})
        for (const int n : {1, 5, 64})
          for (const int k : {1, 8, 33})
            for (const float alpha : {1.0f, -0.7f})
              for (const float beta : {0.0f, 1.0f, 1.3f}) {
                test::Case<T, C> c(transa, transb, m, n, k, alpha, beta);
                ASSERT_TRUE(host::cpu_gemm(problem_of(c)).ok());
                const test::Verdict verdict = c.check();
                ASSERT_TRUE(verdict.ok) << verdict.message;
              }
}

// A lower and an upper triangle are the product, and nothing else of C is written.
TYPED_TEST(CpuEngine, Triangles) {
  using T = typename TypeParam::In;
  using C = typename TypeParam::Out;
  for (const char transa : {'N', 'T'})
    for (const bool own_transpose : {false, true})
      for (const int n : {1, 6, 33, 256, 600})
        for (const int k : {0, 5, 70})
          for (const float alpha : {1.0f, 0.0f})
            for (const float beta : {0.0f, 1.0f, 1.25f}) {
              const char transb = own_transpose == (transa == 'N') ? 'T' : 'N';
              test::Case<T, C> c(transa, transb, n, n, k, alpha, beta);
              Problem problem = problem_of(c);
              if (own_transpose) c.product.b = c.product.a, problem.b.data = problem.a.data;
              const test::Matrix<C> before = c.c;
              test::Matrix<C> upper = c.c;
              problem.fill = Fill::lower;
              ASSERT_TRUE(host::cpu_gemm(problem).ok());
              problem.fill = Fill::upper;
              problem.c.data = upper.data();
              ASSERT_TRUE(host::cpu_gemm(problem).ok());
              for (int j = 0; j < n; ++j)
                for (int i = 0; i < n; ++i) {
                  const C& outside = i < j ? c.c(i, j) : upper(i, j);
                  if (i != j) {
                    ASSERT_EQ(std::memcmp(&outside, &before(i, j), sizeof(C)), 0) << i << ' ' << j;
                  }
                  if (i < j) c.c(i, j) = upper(i, j);
                }
              EXPECT_EQ(c.c.guards_intact(), "");
              EXPECT_EQ(upper.guards_intact(), "");
              const test::Verdict verdict = test::check_result(c.product, c.c.data(), 5000);
              ASSERT_TRUE(verdict.ok) << verdict.message;
            }
}

// A and B from the same first element are no rank-k update where their columns lie otherwise.
TYPED_TEST(CpuEngine, TrianglesOfOneMemorySeenTwice) {
  using T = typename TypeParam::In;
  using C = typename TypeParam::Out;
  constexpr int64_t n = 6, k = 5, lda = 9, ldb = 7;
  test::Matrix<T> x(lda * k, 1);
  x.fill_uniform(3);
  for (const Fill fill : {Fill::lower, Fill::upper}) {
    test::Matrix<C> c(n, n), before(n, n);
    c.fill_uniform(4);
    before = c;
    Problem problem;
    problem.m = problem.n = n, problem.k = k, problem.fill = fill;
    problem.alpha.value = 1, problem.beta.value = 1;
    problem.a = {kType<T>, x.data(), Op::none, lda, 0};
    problem.b = {kType<T>, x.data(), Op::transpose, ldb, 0};
    problem.c = {kType<C>, c.data(), n, 0};
    ASSERT_TRUE(host::cpu_gemm(problem).ok());
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < n; ++i)
        if (!contains(fill, i, j)) c(i, j) = before(i, j);
    test::Matrix<C> whole = before;
    problem.fill = Fill::full, problem.c.data = whole.data();
    ASSERT_TRUE(host::cpu_gemm(problem).ok());
    const test::Product<T, C> product = {'N', 'T', n, n, k, 1, 1, x.data(), lda, x.data(), ldb, before.data(), n};
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < n; ++i)
        if (!contains(fill, i, j)) c(i, j) = whole(i, j);
    const test::Verdict verdict = test::check_result(product, c.data());
    EXPECT_TRUE(verdict.ok) << verdict.message;
  }
}

TYPED_TEST(CpuEngine, PastEveryBlock) {
  using T = typename TypeParam::In;
  using C = typename TypeParam::Out;
  for (const char transa : {'N', 'T'})
    for (const char transb : {'N', 'T'}) {
      test::Case<T, C> c(transa, transb, 1030, 1027, 517, 0.5f, -1.0f, 1);
      largest_request = 0;
      ASSERT_TRUE(host::cpu_gemm(problem_of(c)).ok());
      EXPECT_LE(largest_request, std::size_t{8} << 20);
      const test::Verdict verdict = test::check_result(c.product, c.c.data(), 20000);
      EXPECT_TRUE(verdict.ok) << verdict.message;
      EXPECT_EQ(c.c.guards_intact(), "");
    }
}

TYPED_TEST(CpuEngine, AlphaZeroAndKZeroOnlyScale) {
  using T = typename TypeParam::In;
  using C = typename TypeParam::Out;
  for (const float beta : {0.0f, 1.0f, 0.5f, -3.0f})
    for (const int k : {0, 4}) {
      test::Case<T, C> c('N', 'N', 9, 8, k, k == 0 ? 1.0f : 0.0f, beta);
      Problem problem = problem_of(c);
      problem.a.data = problem.b.data = nullptr;  // not read
      ASSERT_TRUE(host::cpu_gemm(problem).ok());
      const test::Verdict verdict = c.check();
      EXPECT_TRUE(verdict.ok) << verdict.message;
    }
}

TYPED_TEST(CpuEngine, NothingToDoTouchesNothing) {
  using T = typename TypeParam::In;
  using C = typename TypeParam::Out;
  Problem empty;
  empty.a.type = empty.b.type = kType<T>, empty.c.type = kType<C>;
  empty.n = 5, empty.k = 5;
  EXPECT_TRUE(host::cpu_gemm(empty).ok());
  empty.m = 5, empty.alpha.value = 1, empty.batch_count = 0;
  EXPECT_TRUE(host::cpu_gemm(empty).ok());
}

TYPED_TEST(CpuEngine, NanIsNotHidden) {
  using T = typename TypeParam::In;
  using C = typename TypeParam::Out;
  const auto nan = test::from_double<T>(std::numeric_limits<double>::quiet_NaN());
  for (const float beta : {0.0f, 1.0f}) {
    test::Case<T, C> c('N', 'N', 12, 9, 6, 1.0f, beta);
    c.a(4, 5) = nan;
    c.b.fill(T{});
    if (beta != 0) c.c(0, 0) = c.c_before(0, 0) = test::from_double<C>(std::numeric_limits<double>::quiet_NaN());
    ASSERT_TRUE(host::cpu_gemm(problem_of(c)).ok());
    for (int j = 0; j < 9; ++j)
      for (int i = 0; i < 12; ++i)
        EXPECT_EQ(std::isnan(test::to_double(c.c(i, j))), i == 4 || (beta != 0 && i == 0 && j == 0)) << i << ' ' << j;
  }
}

TYPED_TEST(CpuEngine, Batches) {
  using T = typename TypeParam::In;
  using C = typename TypeParam::Out;
  for (const bool same_a : {false, true}) {
    const int count = 3;
    const int64_t m = 10, n = 7, k = 5;
    test::Matrix<T> a(m, k * (same_a ? 1 : count), m + 2), b(n, k * count, n + 1);
    test::Matrix<C> c(m, n * count, m + 3);
    a.fill_uniform(1), b.fill_uniform(2), c.fill_uniform(3);
    const auto before = c;
    Problem problem;
    problem.m = m, problem.n = n, problem.k = k, problem.batch_count = count;
    problem.alpha.value = 2, problem.beta.value = 1;
    problem.a = {kType<T>, a.data(), Op::none, a.ld(), same_a ? 0 : a.ld() * k};
    problem.b = {kType<T>, b.data(), Op::transpose, b.ld(), b.ld() * k};
    problem.c = {kType<C>, c.data(), c.ld(), c.ld() * n};
    ASSERT_TRUE(host::cpu_gemm(problem).ok());
    for (int i = 0; i < count; ++i) {
      const test::Product<T, C> product = {'N',    'T',
                                           m,      n,
                                           k,      2,
                                           1,      a.data() + i * problem.a.batch_stride,
                                           a.ld(), b.data() + i * problem.b.batch_stride,
                                           b.ld(), before.data() + i * problem.c.batch_stride,
                                           c.ld()};
      const test::Verdict verdict = test::check_result(product, c.data() + i * problem.c.batch_stride);
      EXPECT_TRUE(verdict.ok) << verdict.message;
    }
    EXPECT_EQ(c.guards_intact(), "");
  }
}

// Leading dimensions past 2^31: columns gigabytes apart in memory that is mapped and hardly touched.
TYPED_TEST(CpuEngine, LeadingDimensionsPastInt) {
  using T = typename TypeParam::In;
  using C = typename TypeParam::Out;
  const int64_t m = 5, n = 2, k = 2, ld = (int64_t{1} << 31) + 7;
  const std::size_t bytes = static_cast<std::size_t>(ld + m) * sizeof(C);  // as many as any operand has
  const auto map = [&] {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  };
  auto* const a = static_cast<T*>(map());
  auto* const b = static_cast<T*>(map());
  auto* const c = static_cast<C*>(map());
  if (a && b && c) {
    test::Random random(5);
    // All of them, and each alone.
    for (const int far : {7, 1, 2, 4}) {
      const int64_t lda = far & 1 ? ld : m, ldb = far & 2 ? ld : k, ldc = far & 4 ? ld : m;
      for (int64_t j = 0; j < 2; ++j)
        for (int64_t i = 0; i < m; ++i) {
          a[i + j * lda] = test::from_double<T>(random.uniform());
          if (i < k) b[i + j * ldb] = test::from_double<T>(random.uniform());
        }
      Problem problem;
      problem.m = m, problem.n = n, problem.k = k;
      problem.alpha.value = 1;
      problem.a = {kType<T>, a, Op::none, lda, 0};
      problem.b = {kType<T>, b, Op::none, ldb, 0};
      problem.c = {kType<C>, c, ldc, 0};
      ASSERT_TRUE(host::cpu_gemm(problem).ok());
      const test::Verdict verdict =
          test::check_result<T, C>({'N', 'N', m, n, k, 1, 0, a, lda, b, ldb, nullptr, ldc}, c);
      EXPECT_TRUE(verdict.ok) << verdict.message;
    }
  }
  for (void* memory : {static_cast<void*>(a), static_cast<void*>(b), static_cast<void*>(c)})
    if (memory) munmap(memory, bytes);
  if (!a || !b || !c) GTEST_SKIP() << "this machine maps no " << bytes << " bytes three times";
}

TYPED_TEST(CpuEngine, SameCallSameBits) {
  using T = typename TypeParam::In;
  using C = typename TypeParam::Out;
  test::Case<T, C> first('N', 'T', 130, 70, 600, 1.25f, 0.5f), second('N', 'T', 130, 70, 600, 1.25f, 0.5f);
  ASSERT_TRUE(host::cpu_gemm(problem_of(first)).ok());
  ASSERT_TRUE(host::cpu_gemm(problem_of(second)).ok());
  EXPECT_TRUE(first.c.same_bits(second.c));
}

TEST(CpuEngineFp16, SumsAreRoundedOnce) {
  // 1 + 2048 * 2^-12 across several blocks of k: rounding between blocks, or sums in fp16, would lose the small terms.
  const int64_t k = 1 + 2048;
  test::Matrix<Half> a(1, k), b(k, 1), c(1, 1);
  a.fill(test::double_to_half(0x1p-6));
  b.fill(test::double_to_half(0x1p-6));
  a(0, 0) = b(0, 0) = test::double_to_half(1.0);
  c.fill(test::double_to_half(1.0));
  Problem problem;
  problem.m = problem.n = 1, problem.k = k;
  problem.alpha.value = 1, problem.beta.value = 0x1p-12f;
  problem.a = {DType::f16, a.data(), Op::none, 1, 0};
  problem.b = {DType::f16, b.data(), Op::none, k, 0};
  problem.c = {DType::f16, c.data(), 1, 0};
  ASSERT_TRUE(host::cpu_gemm(problem).ok());
  EXPECT_EQ(c(0, 0), test::double_to_half(1.0 + 2048 * 0x1p-12 + 0x1p-12));
}

TEST(CpuEngineFp16, RangeOfFp32Between) {
  // 300 * 300 is beyond fp16, half of it times 2^-2 is not.
  test::Matrix<Half> a(1, 2), b(2, 1), c(1, 1);
  a.fill(test::double_to_half(300));
  b.fill(test::double_to_half(300));
  Problem problem;
  problem.m = problem.n = 1, problem.k = 2;
  problem.a = {DType::f16, a.data(), Op::none, 1, 0};
  problem.b = {DType::f16, b.data(), Op::none, 2, 0};
  problem.c = {DType::f16, c.data(), 1, 0};
  problem.alpha.value = 0.125f;
  ASSERT_TRUE(host::cpu_gemm(problem).ok());
  EXPECT_EQ(c(0, 0), test::double_to_half(22500));
  problem.alpha.value = 1.0f;
  ASSERT_TRUE(host::cpu_gemm(problem).ok());
  EXPECT_EQ(c(0, 0), test::kHalfInfinity);
  problem.alpha.value = -0x1p-42f;  // 180000 * 2^-42 = 1.37 * 2^-25: to the smallest half
  ASSERT_TRUE(host::cpu_gemm(problem).ok());
  EXPECT_EQ(c(0, 0), 0x8001);
}

TEST(CpuEngineBf16, SumsAreRoundedOnce) {
  // 1 + 1024 * 2^-11 across several blocks of k, each term a small part of an ulp of bf16, 2^-7.
  const int64_t k = 1 + 1024;
  test::Matrix<Bfloat16> a(1, k), b(k, 1), c(1, 1);
  a.fill(test::from_double<Bfloat16>(0x1p-5));
  b.fill(test::from_double<Bfloat16>(0x1p-6));
  a(0, 0) = b(0, 0) = test::from_double<Bfloat16>(1.0);
  c.fill(test::from_double<Bfloat16>(1.0));
  Problem problem;
  problem.m = problem.n = 1, problem.k = k;
  problem.alpha.value = 1, problem.beta.value = 0x1p-9f;
  problem.a = {DType::bf16, a.data(), Op::none, 1, 0};
  problem.b = {DType::bf16, b.data(), Op::none, k, 0};
  problem.c = {DType::bf16, c.data(), 1, 0};
  ASSERT_TRUE(host::cpu_gemm(problem).ok());
  EXPECT_EQ(c(0, 0), test::from_double<Bfloat16>(1.0 + 1024 * 0x1p-11 + 0x1p-9));
  // 1 + 2^-8 is a tie and goes to the even 1; the last bit of the fp32 sum decides against it.
  problem.k = 2;
  problem.beta.value = 0;
  a(0, 1) = test::from_double<Bfloat16>(0x1p-4), b(1, 0) = test::from_double<Bfloat16>(0x1p-4);
  ASSERT_TRUE(host::cpu_gemm(problem).ok());
  EXPECT_EQ(c(0, 0), test::from_double<Bfloat16>(1.0));
  a(0, 1) = test::from_double<Bfloat16>(0x1.02p-4);
  ASSERT_TRUE(host::cpu_gemm(problem).ok());
  EXPECT_EQ(c(0, 0), test::from_double<Bfloat16>(0x1.02p0));
}

TEST(CpuEngineBf16, HasTheRangeOfFp32) {
  test::Matrix<Bfloat16> a(1, 1), b(1, 1), c(1, 1);
  Problem problem;
  problem.m = problem.n = problem.k = 1;
  problem.a = {DType::bf16, a.data(), Op::none, 1, 0};
  problem.b = {DType::bf16, b.data(), Op::none, 1, 0};
  problem.c = {DType::bf16, c.data(), 1, 0};
  const auto product = [&](double x, double y, float alpha) {
    a.fill(test::from_double<Bfloat16>(x));
    b.fill(test::from_double<Bfloat16>(y));
    problem.alpha.value = alpha;
    EXPECT_TRUE(host::cpu_gemm(problem).ok());
    return c(0, 0);
  };
  EXPECT_EQ(product(0x1p100, 0x1p27, 1.0f), test::from_double<Bfloat16>(0x1p127));
  EXPECT_EQ(product(0x1.fep127, 1, 1.0f), test::from_double<Bfloat16>(0x1.fep127));
  EXPECT_EQ(product(0x1.fep127, 1, 0x1.01p0f), test::kBfloat16Infinity);  // rounded up past the largest number
  EXPECT_EQ(product(0x1p-100, 0x1p-33, 1.0f).bits, 1);                    // the smallest one
  EXPECT_EQ(product(0x1p-100, -0x1p-33, 0.5f).bits, 0x8000);              // a tie: to the even 0
}

TEST(CpuEngineFp16, OutOfMemoryIsAStatusAndLeavesC) {
  test::Case<Half> c('N', 'N', 20, 20, 20, 1.0f, 0.5f);
  memory_is_out = true;
  const Status status = host::cpu_gemm(problem_of(c));
  memory_is_out = false;
  EXPECT_EQ(status.code, XGEMM_OUT_OF_HOST_MEMORY);
  EXPECT_STRNE(last_error(), "");
  EXPECT_TRUE(c.c.same_bits(c.c_before));
}

TEST(CpuEngineText, NamesAndDescribesItself) {
  EXPECT_FALSE(host::cpu_engine_name().empty());
  const std::string description = host::cpu_engine_description();
  EXPECT_EQ(description.find(host::cpu_engine_name()), 0u) << description;
  EXPECT_EQ(description.find('\n'), std::string::npos);
}

}  // namespace
