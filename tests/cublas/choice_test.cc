// What is left to cuBLAS though libxgemm could compute it.
#include "cublas/choice.h"

#include <gtest/gtest.h>

#include "cublas/request.h"

namespace xgemm::cublas {
namespace {

constexpr Gpu kHopper = {90};

xgemm_args product(xgemm_type type, std::int64_t m, std::int64_t n, std::int64_t k) {
  xgemm_args x = XGEMM_ARGS_INIT;
  x.type = type;
  x.m = m, x.n = n, x.k = k;
  x.lda = x.ldc = m;
  x.ldb = k;
  return x;
}

TEST(Choice, OnlyMeasuredGpusAreServed) {
  const xgemm_args x = product(XGEMM_F16, 4096, 4096, 4096);
  EXPECT_EQ(nullptr, why_cublas(x, kHopper));
  for (const Gpu& gpu : {Gpu{}, Gpu{80}, Gpu{89}, Gpu{100}}) EXPECT_NE(nullptr, why_cublas(x, gpu));
}

TEST(Choice, SixteenBitsAreServedAligned) {
  for (const xgemm_type type : {XGEMM_F16, XGEMM_BF16}) {
    EXPECT_EQ(nullptr, why_cublas(product(type, 848, 472, 3376), kHopper));
    EXPECT_EQ(nullptr, why_cublas(product(type, 848, 472, 336), kHopper));
    EXPECT_EQ(nullptr, why_cublas(product(type, 8480, 4720, 3376), kHopper));
    EXPECT_EQ(nullptr, why_cublas(product(type, 4096, 16, 4096), kHopper));  // decoding
  }
  EXPECT_EQ(nullptr, why_cublas(product(XGEMM_F32, 848, 472, 3376), kHopper));
}

TEST(Choice, MisalignedOperandsCountInFp32WhereNothingIsLargeOrSmall) {
  EXPECT_EQ(nullptr, why_cublas(product(XGEMM_F16, 127, 127, 127), kHopper));
  EXPECT_EQ(nullptr, why_cublas(product(XGEMM_F16, 1023, 1023, 1023), kHopper));
  EXPECT_EQ(nullptr, why_cublas(product(XGEMM_F16, 4095, 4095, 4095), kHopper));
  EXPECT_EQ(nullptr, why_cublas(product(XGEMM_F32, 1023, 1023, 1023), kHopper));
  EXPECT_NE(nullptr, why_cublas(product(XGEMM_F32, 511, 511, 511), kHopper));
  EXPECT_NE(nullptr, why_cublas(product(XGEMM_F32, 2313, 264, 66), kHopper));
  EXPECT_EQ(nullptr, why_cublas(product(XGEMM_F32, 127, 127, 127), kHopper));
  EXPECT_EQ(nullptr, why_cublas(product(XGEMM_F32, 4097, 4097, 4097), kHopper));
}

TEST(Choice, Batches) {
  const auto in_batch = [](xgemm_type type, std::int64_t m, std::int64_t n, std::int64_t k) {
    xgemm_args x = product(type, m, n, k);
    EXPECT_EQ(nullptr, why_cublas(x, kHopper));
    x.batch_count = 64;
    return why_cublas(x, kHopper) == nullptr;
  };
  for (const xgemm_type type : {XGEMM_F16, XGEMM_BF16}) {
    EXPECT_TRUE(in_batch(type, 512, 64, 512));
    EXPECT_TRUE(in_batch(type, 512, 512, 64));
    EXPECT_TRUE(in_batch(type, 32, 32, 32));
    EXPECT_TRUE(in_batch(type, 512, 4, 512));
    EXPECT_TRUE(in_batch(type, 100, 100, 100));
  }
  EXPECT_TRUE(in_batch(XGEMM_F32, 512, 512, 64));
  EXPECT_TRUE(in_batch(XGEMM_F32, 512, 512, 512));
  EXPECT_TRUE(in_batch(XGEMM_F32, 512, 64, 512));
  EXPECT_TRUE(in_batch(XGEMM_F32, 64, 64, 64));
  EXPECT_TRUE(in_batch(XGEMM_F32, 160, 160, 64));
}

TEST(Choice, ArraysOfPointersInFp32OrToTinyMatricesOrLargeOnesOff16Bytes) {
  for (const xgemm_type type : {XGEMM_F32, XGEMM_F16}) {
    xgemm_args x = product(type, 4096, 4096, 4096);
    EXPECT_EQ(nullptr, why_cublas(x, kHopper));
    x.batch_kind = XGEMM_BATCH_POINTERS;
    EXPECT_EQ(why_cublas(x, kHopper) == nullptr, type == XGEMM_F32);
    x.math_mode = XGEMM_MATH_TF32 + 1;
    EXPECT_NE(nullptr, why_cublas(x, kHopper)) << "it would be copied";
    x = product(type, 511, 511, 511);
    x.batch_kind = XGEMM_BATCH_POINTERS;
    EXPECT_EQ(why_cublas(x, kHopper) == nullptr, type == XGEMM_F16) << "lines off 16 bytes";
    x = product(type, 511, 511, 301);
    x.batch_kind = XGEMM_BATCH_POINTERS;
    EXPECT_NE(nullptr, why_cublas(x, kHopper));
    x = product(type, 32, 16, 40);
    x.batch_kind = XGEMM_BATCH_POINTERS, x.batch_count = 1000;
    EXPECT_EQ(nullptr, why_cublas(x, kHopper));
  }
}

TEST(Choice, EpiloguesInFp32) {
  const float bias = 0;
  const auto with_bias = [&](std::int64_t k, bool emulates, bool reads_c) {
    xgemm_args x = product(XGEMM_F32, 4096, 4096, k);
    x.bias = &bias;
    if (emulates) x.math_mode = XGEMM_MATH_FP32_EMULATED + 1;
    return why_cublas(x, kHopper, reads_c) == nullptr;
  };
  EXPECT_TRUE(with_bias(4096, false, false));
  EXPECT_FALSE(with_bias(512, false, false)) << "the largest tile leaves it to a pass";
  for (const std::int64_t n : {1, 4, 16, 32, 512}) {
    xgemm_args x = product(XGEMM_F32, 1024, n, 1024);
    x.bias = &bias;
    EXPECT_EQ(why_cublas(x, kHopper) == nullptr, n >= 32) << n;
  }
  EXPECT_FALSE(with_bias(4096, false, true)) << "a pass";
  EXPECT_FALSE(with_bias(512, true, true));
  EXPECT_TRUE(with_bias(4096, true, true)) << "what emulation wins is more";
}

TEST(Choice, EpiloguesThatNoKernelComputesAreCublas) {
  for (const xgemm_activation activation : {XGEMM_NO_ACTIVATION, XGEMM_RELU, XGEMM_GELU, XGEMM_GELU_TANH}) {
    xgemm_args x = product(XGEMM_BF16, 4096, 4096, 4096);
    x.activation = activation;
    EXPECT_EQ(why_cublas(x, kHopper), nullptr);
    xgemm_args bias = x;
    bias.bias = &x;
    EXPECT_EQ(why_cublas(bias, kHopper), nullptr);
    EXPECT_NE(why_cublas(bias, kHopper, true), nullptr);
    const auto left_to_the_pass = [&](auto change) {
      xgemm_args other = bias;
      change(other);
      return why_cublas(other, kHopper) != nullptr;
    };
    EXPECT_FALSE(left_to_the_pass([](xgemm_args& other) { other.n = 64; })) << "few tiles";
    EXPECT_TRUE(left_to_the_pass([](xgemm_args& other) { other.m = 4095; }));
    EXPECT_TRUE(left_to_the_pass([](xgemm_args& other) { other.transb = 'T'; }));
    EXPECT_TRUE(left_to_the_pass([&](xgemm_args& other) { other.aux = &x; }));
    x.old_c = &x;
    EXPECT_NE(why_cublas(x, kHopper), nullptr);
  }
}

TEST(Choice, VectorsAreServedAligned) {
  for (const xgemm_type type : {XGEMM_F32, XGEMM_F16}) {
    EXPECT_EQ(nullptr, why_cublas(product(type, 4096, 1, 4096), kHopper));
    EXPECT_NE(nullptr, why_cublas(product(type, 4095, 1, 4095), kHopper));
    xgemm_args across = product(type, 4096, 1, 4096);
    across.transb = 'T', across.ldb = 1;
    EXPECT_EQ(nullptr, why_cublas(across, kHopper)) << "a vector of neighbours";
    across.ldb = 7;
    EXPECT_EQ(nullptr, why_cublas(across, kHopper)) << "beside columns of a matrix";
    across.transa = 'T';
    EXPECT_NE(nullptr, why_cublas(across, kHopper)) << "beside rows along k";
    across.ldb = 1;
    EXPECT_EQ(nullptr, why_cublas(across, kHopper));
    alignas(16) const char bytes[32] = {};
    across.b = bytes + 4;
    EXPECT_NE(nullptr, why_cublas(across, kHopper));
  }
}

TEST(Choice, DoublePrecisionIsServedMisaligned) {
  EXPECT_NE(nullptr, why_cublas(product(XGEMM_F64, 4096, 4096, 4096), kHopper));
  EXPECT_EQ(nullptr, why_cublas(product(XGEMM_F64, 2047, 2047, 2047), kHopper));
}

// Calls that allow TF32 are served so, however operands lie.
TEST(Choice, Tf32) {
  const auto serves = [&](char transa, char transb, std::int64_t ld, std::int64_t batch = 1) {
    xgemm_args x = product(XGEMM_F32, 2048, 2048, 2048);
    x.math_mode = XGEMM_MATH_TF32 + 1;
    x.transa = transa, x.transb = transb, x.lda = x.ldb = ld, x.batch_count = batch;
    return why_cublas(x, kHopper) == nullptr;
  };
  EXPECT_TRUE(serves('T', 'N', 2048));
  EXPECT_TRUE(serves('N', 'T', 2048));
  EXPECT_TRUE(serves('N', 'N', 2048));
  EXPECT_TRUE(serves('T', 'T', 2048));
  EXPECT_TRUE(serves('N', 'N', 2049));
  EXPECT_FALSE(serves('T', 'N', 2048, 3));
  xgemm_args small = product(XGEMM_F32, 2048, 256, 2048);
  small.math_mode = XGEMM_MATH_TF32 + 1;
  EXPECT_NE(nullptr, why_cublas(small, kHopper));
}

// What the caller allows for fp32, other than TF32, is reserved to cuBLAS's tensor cores, unless everything is to be
// served.
TEST(Reservation, PrecisionThatIsAllowedToBeLess) {
  const double one = 1;  // whose first half is a float that is read as well
  const auto translated = [&](int type, int compute, int math_mode) {
    Request request;
    request.call.a.type = request.call.b.type = request.call.c.type = type;
    request.call.compute = compute;
    request.call.alpha = request.call.beta = &one;
    request.state.math_mode = math_mode;
    translate(&request);
    EXPECT_EQ(nullptr, request.obstacle);
    return std::pair{request.reservation != nullptr, request.product.math_mode};
  };
  const auto reserved = [&](int type, int compute, int math_mode) {
    return translated(type, compute, math_mode).first;
  };
  constexpr int kNoReducedReductions = 16;
  const int strict[] = {kDefaultMath, kPedanticMath, kDefaultMath | kNoReducedReductions};
  for (const int mode : strict) {
    const bool insists = (mode & kMathModes) == kPedanticMath;  // else XGEMM_MATH may say
    EXPECT_EQ(std::pair(false, insists ? XGEMM_MATH_STRICT + 1 : 0), translated(kReal32F, kCompute32F, mode));
    for (const int compute : {kCompute32FFast16F, kCompute32FFast16BF, kCompute32FEmulated16BFx9})
      EXPECT_TRUE(reserved(kReal32F, compute, mode));
    EXPECT_EQ(std::pair(false, XGEMM_MATH_TF32 + 1), translated(kReal32F, kCompute32FFastTF32, mode));
  }
  const int loose[] = {kTensorOpMath, kTf32Math, kEmulatedBf16x9Math, kTf32Math | kNoReducedReductions};
  for (const int mode : loose) {
    const bool tf32 = (mode & kMathModes) == kTf32Math;
    EXPECT_EQ(std::pair(!tf32, tf32 ? XGEMM_MATH_TF32 + 1 : 0), translated(kReal32F, kCompute32F, mode));
    EXPECT_EQ(std::pair(false, 0), translated(kReal16F, kCompute32F, mode));
    EXPECT_EQ(std::pair(false, XGEMM_MATH_STRICT + 1), translated(kReal32F, kCompute32FPedantic, mode));
    EXPECT_FALSE(reserved(kReal16F, kCompute32F, mode));
    EXPECT_FALSE(reserved(kReal16BF, kCompute32F, mode));
    EXPECT_FALSE(reserved(kReal64F, kCompute64F, mode));
  }
  EXPECT_TRUE(reserved(kReal64F, kCompute64F, kEmulatedFp64Math));
  EXPECT_TRUE(reserved(kReal64F, kCompute64FEmulatedFixedPoint, kDefaultMath));
  EXPECT_FALSE(reserved(kReal64F, kCompute64FPedantic, kEmulatedFp64Math));
  EXPECT_FALSE(reserved(kReal32F, kCompute32F, kEmulatedFp64Math));
}

}  // namespace
}  // namespace xgemm::cublas
