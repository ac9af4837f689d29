// The kernels' conversions of fp16 and bf16 in the simulator.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/common/dtype.cuh"
#include "support/element.h"
#include "support/matrix.h"
#include "xgemm/float16.hpp"

namespace xgemm {
namespace {

std::uint32_t bits_of(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

// Simulated kernels round as the library does on the host; NaN is the GPU's.
TEST(Half, IsTheSharedConversionButForNan) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float x = gpu::to_float(gpu::half{half});
    ASSERT_EQ(bits_of(x), bits_of(half_to_float(half))) << bits;
    ASSERT_EQ(gpu::to_half(x).bits, test::is_nan(half) ? 0x7fff : half);
    const float tie = std::bit_cast<float>(bits_of(x) | 0x1000u);  // where the next half is one bit away
    if ((half & 0x7fff) < 0x7c00) {
      ASSERT_EQ(gpu::to_half(tie).bits, float_to_half(tie)) << bits;
    }
  }
}

TEST(Bfloat16, ConvertsAllValuesBackAndForth) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto given = static_cast<std::uint16_t>(bits);
    const float x = gpu::to_float(gpu::bfloat16{given});
    if (test::is_nan(test::Bfloat16{given})) {
      ASSERT_TRUE(std::isnan(x)) << bits;
      ASSERT_TRUE(test::is_nan(test::Bfloat16{gpu::to_bfloat16(x).bits})) << bits;
    } else {
      ASSERT_EQ(bits_of(x), bits_of(static_cast<float>(test::to_double(test::Bfloat16{given})))) << bits;
      ASSERT_EQ(gpu::to_bfloat16(x).bits, given);
    }
  }
}

TEST(Bfloat16, RoundsAnyFloatToNearestEven) {
  test::Random random(4);
  for (int i = 0; i < 1000000; ++i) {
    std::uint32_t bits = static_cast<std::uint32_t>(random.bits());
    if (i % 2 == 0) bits = (bits & 0xffff0000u) | 0x8000u;  // ties
    const float x = std::bit_cast<float>(bits);
    if (std::isnan(x)) {
      ASSERT_TRUE(test::is_nan(test::Bfloat16{gpu::to_bfloat16(x).bits}));
    } else {
      ASSERT_EQ(gpu::to_bfloat16(x).bits, test::from_double<test::Bfloat16>(x).bits) << x;
    }
  }
  EXPECT_EQ(gpu::to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(gpu::to_bfloat16(-0.0f).bits, 0x8000);
}

}  // namespace
}  // namespace xgemm
