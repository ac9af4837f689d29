// Calls in XGEMM_MATH_TF32: which numbers the tensor cores get, and which calls.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <cuda_runtime_api.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "call.h"
#include "device_matrix.h"
#include "support/matrix.h"

namespace xgemm::gpu_test {
namespace {

constexpr char kFlags[] = {'N', 'T'};

std::string kernel_of(const xgemm_args& args) {
  std::string text(16384, '\0');
  EXPECT_EQ(xgemm_explain(nullptr, &args, text.data(), text.size()), 0) << xgemm_last_error();
  return text.substr(0, text.find('\n'));
}

class Tf32Mode : public testing::Test {
 protected:
  void SetUp() override { XGEMM_SKIP_WITHOUT_HOPPER(); }

  static xgemm_args args_of(const Call<float>& call) {
    xgemm_args args = call.args();
    args.math_mode = XGEMM_MATH_TF32 + 1;
    return args;
  }
  static void run(const Call<float>& call) {
    const xgemm_args args = args_of(call);
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
  }
};

// To 11 bits, of two that are as near the even one; an Inf or NaN stays what it is.
float rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::isfinite(x) ? std::bit_cast<float>((bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu) : x;
}

// Numbers times one: as an operand along k, which TMA brings as it lies, and along m, which is copied first.
TEST_F(Tf32Mode, OperandsAreRoundedToNearest) {
  constexpr int m = 8192, n = 1024, k = 1024;
  const auto number = [](test::Random& random, int i) {
    constexpr float kSpecial[] = {std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::max(),
                                  0x1.ffefffp127f,
                                  std::numeric_limits<float>::denorm_min(),
                                  0x1p-136f,
                                  0x1.8p-136f,
                                  0x1.ffffffp-127f,
                                  -0.0f};
    if (i < static_cast<int>(std::size(kSpecial))) return kSpecial[i];
    if (i == 4097) return std::bit_cast<float>(0x7f800001u);  // a NaN whose upper bits are those of an Inf
    // Every pattern of the bits that are cut off, and one in eight between two numbers.
    auto bits = static_cast<std::uint32_t>(random.bits() >> 32);
    const std::uint32_t low = i % 8 == 7 ? 0x1000u : static_cast<std::uint32_t>(i);
    bits = (bits & 0x807fe000u) | low | static_cast<std::uint32_t>(80 + i % 90) << 23;
    return std::bit_cast<float>(bits);
  };
  for (const char transa : kFlags) {
    Call<float> call({.transa = transa, .m = m, .n = n, .k = k});
    std::vector<float> a(std::size_t{m} * k), b(std::size_t{k} * n), c(std::size_t{m} * n), x(m);
    test::Random random(static_cast<std::uint64_t>(transa));
    const auto place = [&](int i) {
      const auto row = static_cast<std::size_t>(i), column = static_cast<std::size_t>(i % k);
      return transa == 'N' ? row + column * m : row * k + column;
    };
    for (int i = 0; i < m; ++i) a[place(i)] = x[static_cast<std::size_t>(i)] = number(random, i);
    for (std::size_t i = 0; i < k; ++i) b[i * (k + 1)] = 1;
    XGEMM_CHECK_CUDA(cudaMemcpy(call.a.data(), a.data(), a.size() * sizeof(float), cudaMemcpyDefault));
    XGEMM_CHECK_CUDA(cudaMemcpy(call.b.data(), b.data(), b.size() * sizeof(float), cudaMemcpyDefault));
    ASSERT_NE(kernel_of(args_of(call)).find("tf32"), std::string::npos) << kernel_of(args_of(call));
    run(call);
    XGEMM_CHECK_CUDA(cudaMemcpy(c.data(), call.c.data(), c.size() * sizeof(float), cudaMemcpyDefault));
    int wrong = 0;
    for (int i = 0; i < m; ++i) {
      const float given = x[static_cast<std::size_t>(i)], expected = rounded(given);
      const float actual = c[static_cast<std::size_t>(i) + static_cast<std::size_t>(i % k) * m];
      const bool good = std::isnan(expected) ? std::isnan(actual) : actual == expected;
      if (!good && ++wrong < 10)
        ADD_FAILURE() << transa << ", " << i << ": " << std::hexfloat << given << " became " << actual << ", not "
                      << expected;
    }
    EXPECT_EQ(wrong, 0);
  }
}

// With all flags, aligned and not, alone and in batches: the errors of operands rounded to 11 bits, and no more.
TEST_F(Tf32Mode, ErrorsAreThoseOfRounding) {
  for (const char transa : kFlags)
    for (const char transb : kFlags)
      for (const std::int64_t pad : {0, 1}) {
        CallSpec spec{.transa = transa, .transb = transb, .m = 1500, .n = 1400, .k = 2000};
        spec.pad_a = spec.pad_b = spec.pad_c = spec.shift_a = spec.shift_b = pad;
        Call<float> call(spec);
        EXPECT_NE(kernel_of(args_of(call)).find("tf32"), std::string::npos) << kernel_of(args_of(call));
        run(call);
        const double error = normwise_error(call.product(), call.a, call.b, call.c);
        EXPECT_TRUE(error > 1e-5 && error < 4e-4) << spec << ": " << error;
      }
}

// Triangles have the bits of a strict call.
TEST_F(Tf32Mode, TrianglesAreStrict) {
  const CallSpec spec{.transa = 'T', .m = 2000, .n = 2000, .k = 1000, .fill = Fill::lower};
  Call<float> loose(spec), strict(spec);
  run(loose);
  ASSERT_EQ(strict.enqueue(nullptr), 0);
  XGEMM_CHECK_CUDA(cudaStreamSynchronize(nullptr));
  EXPECT_TRUE(same_bits(loose.c, strict.c));
}

}  // namespace
}  // namespace xgemm::gpu_test
