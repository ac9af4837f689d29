// The simulator's fp16 conversions and the kernels' bf16 ones, against arithmetic on double.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/common/dtype.cuh"
#include "support/element.h"
#include "support/matrix.h"

namespace xgemm {
namespace {

std::uint32_t bits_of(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

TEST(Half, WidensAllValuesExactly) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float x = gpu::sim_half_to_float(half);
    if (test::is_nan(half)) {
      EXPECT_TRUE(std::isnan(x));
      EXPECT_TRUE(std::isnan(test::half_to_double(gpu::sim_float_to_half(x))));
    } else {
      ASSERT_EQ(bits_of(x), bits_of(static_cast<float>(test::half_to_double(half)))) << bits;
      ASSERT_EQ(gpu::sim_float_to_half(x), half);
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  // Around each boundary between two halves: below it, on it (a tie), above it; both signs.
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const double low = test::half_to_double(static_cast<std::uint16_t>(bits));
    const double high = bits == 0x7bff ? 65536.0 : test::half_to_double(static_cast<std::uint16_t>(bits + 1));
    const float tie = static_cast<float>((low + high) / 2);
    for (const float x : {std::nextafterf(tie, 0.0f), tie, std::nextafterf(tie, 1e30f)}) {
      for (const float y : {x, -x}) {
        ASSERT_EQ(gpu::sim_float_to_half(y), test::double_to_half(y)) << y;
      }
    }
  }
}

TEST(Half, RoundsAnyFloat) {
  test::Random random(3);
  for (int i = 0; i < 1000000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits()));
    if (std::isnan(x)) {
      ASSERT_TRUE(test::is_nan(gpu::sim_float_to_half(x)));
    } else {
      ASSERT_EQ(gpu::sim_float_to_half(x), test::double_to_half(x)) << x;
    }
  }
  EXPECT_EQ(gpu::sim_float_to_half(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(gpu::sim_float_to_half(-1e30f), 0xfc00);
  EXPECT_EQ(gpu::sim_float_to_half(-0.0f), 0x8000);
  EXPECT_EQ(gpu::sim_float_to_half(1e-30f), 0);
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
