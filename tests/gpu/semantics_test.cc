// What a call computes, on device memory: flags, edges, scalars, alignments, layouts, batches, what must not be read or
// written, NaN and infinity. Suites named *Small* stay short under compute-sanitizer.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cmath>
#include <limits>

#include "call.h"
#include "support/matrix.h"
#include "xgemm_blas.h"

namespace xgemm::gpu_test {
namespace {

constexpr char kFlags[] = {'N', 'T'};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Scalars {
  float alpha, beta;
};
constexpr Scalars kScalars[] = {{1, 0}, {1, 1}, {-0.5f, 2}, {2.5f, 0}, {0, 0}, {0, 1.5f}, {0, 1}, {1, -1}};

// Around the extents of vectors, warps and CTA tiles.
constexpr std::int64_t kEdges[] = {1,  2,  3,  7,   8,   15,  16,  17,  31,  32, 33,
                                   63, 64, 65, 100, 127, 128, 129, 255, 256, 257};

template <class T>
class SemanticsSmall : public EveryType<T> {};
TYPED_TEST_SUITE(SemanticsSmall, CallTypes);

template <class T>
class Semantics : public EveryType<T> {};
TYPED_TEST_SUITE(Semantics, CallTypes);

TYPED_TEST(SemanticsSmall, FlagsScalarsAndAFewEdges) {
  std::uint64_t seed = 1;
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (const Scalars& s : kScalars)
        for (auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {33, 65, 17}, {64, 64, 32}, {130, 67, 9}})
          ASSERT_TRUE(serve<TypeParam>({.transa = transa,
                                        .transb = transb,
                                        .m = m,
                                        .n = n,
                                        .k = k,
                                        .alpha = s.alpha,
                                        .beta = s.beta,
                                        .pad_a = 3,
                                        .pad_b = 1,
                                        .pad_c = 2,
                                        .seed = seed++}));
}

TYPED_TEST(SemanticsSmall, Triangles) {
  std::uint64_t seed = 1;
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (const Scalars& s : kScalars)
        for (Fill fill : {Fill::lower, Fill::upper})
          for (std::int64_t n : {1, 31, 129, 300})
            ASSERT_TRUE(serve<TypeParam>({.transa = transa,
                                          .transb = transb,
                                          .m = n,
                                          .n = n,
                                          .k = 33,
                                          .alpha = s.alpha,
                                          .beta = s.beta,
                                          .row_major = seed % 2 == 0,
                                          .pad_a = 3,
                                          .pad_b = 1,
                                          .pad_c = static_cast<std::int64_t>(seed % 3),
                                          .fill = fill,
                                          .batch = seed % 5 == 0 ? 2 : 1,
                                          .seed = seed++}));
}

TYPED_TEST(Semantics, LargerTriangles) {
  std::uint64_t seed = 1;
  for (Fill fill : {Fill::lower, Fill::upper})
    for (std::int64_t n : {511, 1024, 2050})
      for (std::int64_t k : {16, 700, 5000})
        ASSERT_TRUE(serve<TypeParam>(
            {.transb = 'T', .m = n, .n = n, .k = k, .beta = seed % 2 == 0 ? 1.0 : 0.0, .fill = fill, .seed = seed++},
            nullptr, nullptr, 7));
}

// A and its own transpose, through the names of BLAS.
TEST(SyrkSmall, IsTheProductOfAMatrixAndItsTranspose) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  for (char trans : kFlags)
    for (Fill fill : {Fill::lower, Fill::upper}) {
      constexpr int n = 270, k = 45;
      Call<double> call({.transa = trans,
                         .transb = trans == 'N' ? 'T' : 'N',
                         .m = n,
                         .n = n,
                         .k = k,
                         .alpha = 0.5,
                         .beta = -2,
                         .fill = fill});
      call.b.refill(call.a.contents());
      const int ld = static_cast<int>(call.a.layout().ld), ldc = static_cast<int>(call.c.layout().ld);
      const double alpha = 0.5, beta = -2;
      const char uplo = fill == Fill::lower ? 'l' : 'U';
      dsyrk_(&uplo, &trans, &n, &k, &alpha, call.a.data(), &ld, &beta, call.c.data(), &ldc);
      XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
      EXPECT_TRUE(call.check());
      call.c.refill();
      ASSERT_EQ(xdsyrk(uplo, trans, n, k, alpha, call.a.data(), ld, beta, call.c.data(), ldc), 0);
      XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
      EXPECT_TRUE(call.check());
    }
}

TYPED_TEST(SemanticsSmall, NoInputsAreRead) {
  for (const Scalars& s : {Scalars{0, 0}, {0, 2}, {0, 1}, {3, 0}, {3, 2}}) {
    // Poisoned inputs with alpha = 0, then none at all with k = 0.
    ASSERT_TRUE(
        serve<TypeParam>({.m = 70, .n = 40, .k = s.alpha == 0 ? 9 : 0, .alpha = s.alpha, .beta = s.beta, .pad_c = 5}));
    Call<TypeParam> call({.m = 70, .n = 40, .k = s.alpha == 0 ? 9 : 0, .alpha = s.alpha, .beta = s.beta, .pad_c = 5});
    xgemm_args args = call.args();
    args.a = args.b = nullptr;
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
    ASSERT_TRUE(call.check());
  }
}

TYPED_TEST(SemanticsSmall, EmptyProductsTouchNothing) {
  for (auto [m, n, k, batch] : {std::array<std::int64_t, 4>{0, 5, 3, 1}, {5, 0, 3, 1}, {0, 0, 0, 1}, {5, 5, 5, 0}}) {
    Call<TypeParam> call({.m = 5, .n = 5, .k = 5, .beta = 2});
    xgemm_args args = call.args();
    args.m = m;
    args.n = n;
    args.k = k;
    args.batch_count = batch;
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
    EXPECT_TRUE(call.c.unchanged());
  }
}

TYPED_TEST(SemanticsSmall, BatchesWithGapsAndSharedOperands) {
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (int shared = 0; shared < 4; ++shared)
        for (float beta : {0.0f, -2.0f})
          ASSERT_TRUE(serve<TypeParam>({.transa = transa,
                                        .transb = transb,
                                        .m = 35,
                                        .n = 21,
                                        .k = 18,
                                        .alpha = 1.5f,
                                        .beta = beta,
                                        .pad_a = 1,
                                        .pad_c = 3,
                                        .batch = 5,
                                        .gap = 7,
                                        .shares_a = (shared & 1) != 0,
                                        .shares_b = (shared & 2) != 0}));
}

TYPED_TEST(SemanticsSmall, RowMajor) {
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (float beta : {0.0f, 1.0f})
        ASSERT_TRUE(serve<TypeParam>({.transa = transa,
                                      .transb = transb,
                                      .m = 45,
                                      .n = 70,
                                      .k = 33,
                                      .alpha = 2,
                                      .beta = beta,
                                      .row_major = true,
                                      .pad_a = 2,
                                      .pad_b = 3,
                                      .pad_c = 1,
                                      .batch = 2,
                                      .gap = 4}));
}

TYPED_TEST(SemanticsSmall, LowerCaseAndConjugateFlags) {
  for (char transa : {'n', 't', 'C', 'c'})
    for (char transb : {'n', 't', 'C', 'c'}) {
      Call<TypeParam> call(
          {.transa = transa == 'n' ? 'N' : 'T', .transb = transb == 'n' ? 'N' : 'T', .m = 9, .n = 11, .k = 13});
      xgemm_args args = call.args();
      args.transa = transa;
      args.transb = transb;
      ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
      XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
      ASSERT_TRUE(call.check());
    }
}

// A NaN or an infinity anywhere goes where the reference lets it go, and nowhere else; a zero does not hide it.
TYPED_TEST(SemanticsSmall, NanAndInfinity) {
  const std::int64_t m = 70, n = 50, k = 37;
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (float special : {kNan, kInfinity, -kInfinity})
        for (auto [i, l] : {std::array<std::int64_t, 2>{0, 0}, {m - 1, k - 1}, {31, 15}, {m - 1, 0}, {0, k - 1}}) {
          Call<TypeParam> in_a({.transa = transa, .transb = transb, .m = m, .n = n, .k = k, .beta = 0.5f, .pad_a = 3});
          Contents contents = in_a.a.contents();
          contents.special_i = transa == 'N' ? i : l;
          contents.special_j = transa == 'N' ? l : i;
          contents.special = special;
          in_a.a.refill(contents);
          // A zero in B against it: Inf * 0 = NaN.
          Contents zero = in_a.b.contents();
          zero.special_i = transb == 'N' ? l : n / 2;
          zero.special_j = transb == 'N' ? n / 2 : l;
          zero.special = 0;
          in_a.b.refill(zero);
          ASSERT_EQ(in_a.enqueue(nullptr), 0) << xgemm_last_error();
          XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
          ASSERT_TRUE(in_a.check());

          const std::int64_t j = i % n;
          Call<TypeParam> in_b({.transa = transa, .transb = transb, .m = m, .n = n, .k = k, .pad_b = 3});
          contents = in_b.b.contents();
          contents.special_i = transb == 'N' ? l : j;
          contents.special_j = transb == 'N' ? j : l;
          contents.special = special;
          in_b.b.refill(contents);
          ASSERT_EQ(in_b.enqueue(nullptr), 0) << xgemm_last_error();
          XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
          ASSERT_TRUE(in_b.check());
        }
}

TYPED_TEST(SemanticsSmall, NanInCAndInTheScalars) {
  Call<TypeParam> in_c({.m = 40, .n = 30, .k = 8, .beta = 1});
  Contents contents = in_c.c.contents();
  contents.special_i = 39;
  contents.special_j = 29;
  contents.special = kNan;
  in_c.c.refill(contents);
  ASSERT_EQ(in_c.enqueue(nullptr), 0);
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
  EXPECT_TRUE(in_c.check());
  EXPECT_TRUE(serve<TypeParam>({.m = 40, .n = 30, .k = 8, .alpha = kNan}));
  EXPECT_TRUE(serve<TypeParam>({.m = 40, .n = 30, .k = 8, .alpha = 1, .beta = kNan}));
  EXPECT_TRUE(serve<TypeParam>({.m = 40, .n = 30, .k = 0, .alpha = 1, .beta = kInfinity}));
}

TYPED_TEST(SemanticsSmall, ScalarsOnTheDevice) {
  Context ctx;
  ASSERT_EQ(xgemm_set_scalar_location(ctx, XGEMM_SCALARS_ON_DEVICE), 0);
  using Scalar = typename Call<TypeParam>::Scalar;
  Operand<Scalar> scalars({2, 1, 2}, {});
  for (const Scalars& s : kScalars) {
    const Scalar values[] = {s.alpha, s.beta};
    XGEMM_CHECK_CUDA(cudaMemcpy(scalars.data(), values, sizeof values, cudaMemcpyDefault));
    // With scalars it does not know, a call may load inputs, but C must come out as if alpha = 0 and beta = 0 did not.
    Call<TypeParam> call({.transa = 'T', .m = 77, .n = 50, .k = 40, .alpha = s.alpha, .beta = s.beta, .pad_c = 3});
    xgemm_args args = call.args();
    args.alpha = scalars.data();
    args.beta = scalars.data() + 1;
    ASSERT_EQ(xgemm_gemm(ctx, &args), 0) << xgemm_last_error();
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
    ASSERT_TRUE(call.check()) << "alpha " << s.alpha << " beta " << s.beta;
  }
}

TYPED_TEST(Semantics, EveryEdgeAgainstEveryEdge) {
  std::uint64_t seed = 1;
  test::Random random(7);
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (std::int64_t m : kEdges)
        for (std::int64_t n : kEdges) {
          const std::int64_t k = kEdges[random.integer(0, std::size(kEdges) - 1)];
          const Scalars& s = kScalars[seed % std::size(kScalars)];
          ASSERT_TRUE(serve<TypeParam>({.transa = transa,
                                        .transb = transb,
                                        .m = m,
                                        .n = n,
                                        .k = k,
                                        .alpha = s.alpha,
                                        .beta = s.beta,
                                        .pad_a = random.integer(0, 4),
                                        .pad_b = random.integer(0, 4),
                                        .pad_c = random.integer(0, 4),
                                        .seed = seed++}));
        }
}

// Vector loads depend on pointer and leading dimension: every combination of the alignments that matter.
TYPED_TEST(Semantics, AlignmentsOfPointersAndLeadingDimensions) {
  std::uint64_t seed = 1;
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (std::int64_t shift : {0, 1, 2, 4, 8})
        for (std::int64_t pad : {0, 1, 2, 4, 8})
          for (int which = 1; which < 8; ++which) {
            const auto shift_of = [&](int bit) { return which & bit ? shift : 0; };
            const auto pad_of = [&](int bit) { return which & bit ? pad : 0; };
            ASSERT_TRUE(serve<TypeParam>({.transa = transa,
                                          .transb = transb,
                                          .m = 160,
                                          .n = 144,
                                          .k = 48,
                                          .alpha = 1.25f,
                                          .beta = which % 2 ? 0.0f : 1.0f,
                                          .pad_a = pad_of(1),
                                          .pad_b = pad_of(2),
                                          .pad_c = pad_of(4),
                                          .shift_a = shift_of(1),
                                          .shift_b = shift_of(2),
                                          .shift_c = shift_of(4),
                                          .seed = seed++}));
          }
}

TYPED_TEST(Semantics, RandomShapes) {
  test::Random random(11);
  for (int i = 0; i < 300; ++i) {
    const auto extent = [&] { return static_cast<std::int64_t>(std::exp2(5 + 5 * random.uniform())); };
    CallSpec spec{.transa = kFlags[random.integer(0, 1)],
                  .transb = kFlags[random.integer(0, 1)],
                  .m = extent(),
                  .n = extent(),
                  .k = extent()};
    const Scalars& s = kScalars[random.integer(0, std::size(kScalars) - 1)];
    spec.alpha = s.alpha;
    spec.beta = s.beta;
    spec.row_major = random.integer(0, 1) != 0;
    spec.pad_a = random.integer(0, 9);
    spec.pad_b = random.integer(0, 9);
    spec.pad_c = random.integer(0, 9);
    spec.shift_a = random.integer(0, 3);
    spec.shift_b = random.integer(0, 3);
    spec.shift_c = random.integer(0, 3);
    spec.batch = random.integer(0, 3) == 0 ? random.integer(2, 4) : 1;
    spec.seed = static_cast<std::uint64_t>(i + 1);
    ASSERT_TRUE(serve<TypeParam>(spec));
  }
}

TYPED_TEST(Semantics, ThinAndLong) {
  for (char transa : kFlags)
    for (char transb : kFlags)
      for (auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 100000},
                             {16, 16, 65536},
                             {1, 4096, 512},
                             {4096, 1, 512},
                             {100000, 1, 3},
                             {1, 100000, 3},
                             {2, 3, 50000},
                             {70000, 9, 2},
                             {9, 70000, 2}})
        ASSERT_TRUE(serve<TypeParam>(
            {.transa = transa, .transb = transb, .m = m, .n = n, .k = k, .beta = 1, .pad_a = 1, .pad_c = 1}));
}

TYPED_TEST(Semantics, BatchesBeyondTheGrid) {
  ASSERT_TRUE(serve<TypeParam>({.m = 3, .n = 2, .k = 4, .beta = 1, .batch = 70000, .gap = 1}));
  ASSERT_TRUE(serve<TypeParam>({.transa = 'T', .m = 17, .n = 5, .k = 9, .batch = 140000, .shares_a = true}));
}

TYPED_TEST(Semantics, Larger) {
  for (char transa : kFlags)
    for (char transb : kFlags) {
      ASSERT_TRUE(serve<TypeParam>({.transa = transa, .transb = transb, .m = 2048, .n = 2048, .k = 2048}, nullptr,
                                   nullptr, 257));
      ASSERT_TRUE(serve<TypeParam>({.transa = transa,
                                    .transb = transb,
                                    .m = 1999,
                                    .n = 2111,
                                    .k = 1777,
                                    .alpha = -1,
                                    .beta = 3,
                                    .pad_a = 5,
                                    .pad_b = 7,
                                    .pad_c = 3},
                                   nullptr, nullptr, 257));
    }
}

TYPED_TEST(Semantics, SameCallSameBits) {
  for (auto [m, n, k] : {std::array<std::int64_t, 3>{513, 387, 1025},
                         {64, 64, 20000},
                         {1024, 1024, 1024},
                         {4096, 16, 4096},
                         {2048, 1536, 512}}) {
    const CallSpec spec{.m = m, .n = n, .k = k, .alpha = 1.1f, .beta = 0.3f};
    Call<TypeParam> first(spec);
    ASSERT_EQ(first.enqueue(nullptr), 0);
    // The later ones with other work on the GPU beside them.
    Context other;
    Call<TypeParam> load({.m = 700, .n = 700, .k = 700});
    for (int i = 1; i < 50; ++i) {
      ASSERT_EQ(load.enqueue(other), 0);
      Call<TypeParam> again(spec);
      ASSERT_EQ(again.enqueue(nullptr), 0);
      XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
      ASSERT_TRUE(same_bits(first.c, again.c)) << spec;
    }
    EXPECT_TRUE(first.check(101));
  }
}

TEST(SimpleCallsSmall, OneForEachType) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  Call<float> s({.transa = 'T', .m = 40, .n = 50, .k = 60, .alpha = 2, .beta = -1, .pad_a = 1, .pad_b = 2, .pad_c = 3});
  const xgemm_args a = s.args();
  ASSERT_EQ(xsgemm('T', 'N', a.m, a.n, a.k, 2, s.a.data(), a.lda, s.b.data(), a.ldb, -1, s.c.data(), a.ldc), 0);
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
  EXPECT_TRUE(s.check());
  Call<double> x({.transb = 'T', .m = 40, .n = 50, .k = 60, .alpha = 0.1, .beta = -1, .pad_a = 1, .pad_c = 3});
  const xgemm_args e = x.args();
  ASSERT_EQ(xdgemm('N', 'T', e.m, e.n, e.k, 0.1, x.a.data(), e.lda, x.b.data(), e.ldb, -1, x.c.data(), e.ldc), 0);
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
  EXPECT_TRUE(x.check());
  Call<Half> h({.transb = 'T', .m = 40, .n = 50, .k = 60, .pad_a = 1, .pad_b = 2, .pad_c = 3});
  const xgemm_args b = h.args();
  ASSERT_EQ(xhgemm('N', 'T', b.m, b.n, b.k, 1, h.a.data(), b.lda, h.b.data(), b.ldb, 0, h.c.data(), b.ldc), 0);
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
  EXPECT_TRUE(h.check());
  Call<Bfloat16> w({.transa = 'T', .m = 40, .n = 50, .k = 60, .alpha = 0.5f, .beta = 1, .pad_a = 1, .pad_c = 3});
  const xgemm_args d = w.args();
  const auto bits = [](const Operand<Bfloat16>& operand) { return reinterpret_cast<xgemm_bfloat16*>(operand.data()); };
  ASSERT_EQ(xbgemm('T', 'N', d.m, d.n, d.k, 0.5f, bits(w.a), d.lda, bits(w.b), d.ldb, 1, bits(w.c), d.ldc), 0);
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
  EXPECT_TRUE(w.check());
}

// The names of products with C in fp32, whose operands may be on the device as well.
TEST(SimpleCallsSmall, SbgemmAndGemmF16f16f32) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  const Call<WideC<Bfloat16>> w({.transa = 'T', .m = 40, .n = 50, .k = 60, .alpha = 0.5f, .beta = 1, .pad_c = 3});
  const auto bits = [](const Operand<Bfloat16>& x) { return reinterpret_cast<xgemm_bfloat16*>(x.data()); };
  const int m = 40, n = 50, k = 60, ld = 60, ldc = 43;
  const float alpha = 0.5f, beta = 1;
  sbgemm_("T", "N", &m, &n, &k, &alpha, bits(w.a), &ld, bits(w.b), &ld, &beta, w.c.data(), &ldc);
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
  EXPECT_TRUE(w.check());
  const Call<WideC<Half>> h({.transa = 'T', .m = 40, .n = 50, .k = 60, .alpha = 0.5f, .beta = 1, .pad_c = 3});
  cblas_gemm_f16f16f32(CblasColMajor, CblasTrans, CblasNoTrans, m, n, k, alpha, h.a.data(), ld, h.b.data(), ld, beta,
                       h.c.data(), ldc);
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
  EXPECT_TRUE(h.check());
}

// Elements beyond 2^32, and offsets beyond 2^31 and 2^32 in each operand.
class LargeOffsets : public testing::Test {
 protected:
  void SetUp() override {
    XGEMM_SKIP_WITHOUT_DEVICE();
    if (free_device_bytes() < (std::size_t{24} << 30)) GTEST_SKIP() << "less than 24 GiB of free device memory";
  }
};

TEST_F(LargeOffsets, LongLeadingDimensions) {
  const std::int64_t far = (std::int64_t{1} << 29) + 8;  // ten columns: 5.4e9 elements
  ASSERT_TRUE(serve<Half>({.m = 8, .n = 8, .k = 10, .pad_a = far}));
  ASSERT_TRUE(serve<Half>({.transa = 'T', .m = 10, .n = 8, .k = 9, .pad_a = far + 1}));
  ASSERT_TRUE(serve<Half>({.m = 8, .n = 10, .k = 7, .pad_b = far}));
  ASSERT_TRUE(serve<Half>({.transb = 'T', .m = 9, .n = 7, .k = 10, .pad_b = far}));
  ASSERT_TRUE(serve<Half>({.m = 8, .n = 10, .k = 8, .beta = 1, .pad_c = far}));
  ASSERT_TRUE(serve<float>({.m = 5, .n = 9, .k = 3, .beta = 1, .pad_c = far + 3}));
}

TEST_F(LargeOffsets, MoreThanTwoToThe32Elements) {
  ASSERT_TRUE(serve<Half>({.m = 70000, .n = 66000, .k = 2, .alpha = 0.5f}, nullptr, nullptr, 4001));
}

TEST_F(LargeOffsets, BatchStrides) {
  ASSERT_TRUE(serve<Half>({.m = 33,
                           .n = 20,
                           .k = 17,
                           .beta = 1,
                           .batch = 5,
                           .gap = std::int64_t{1} << 30,
                           .shares_a = true,
                           .shares_b = true}));
  ASSERT_TRUE(serve<Half>({.m = 33, .n = 20, .k = 17, .beta = 1, .batch = 3, .gap = std::int64_t{1} << 30}));
}

}  // namespace
}  // namespace xgemm::gpu_test
