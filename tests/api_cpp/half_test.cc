// xgemm::half against the tests' own arithmetic on doubles.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "support/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "support/matrix.h"
#include "xgemm.hpp"

namespace {

float float_from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

TEST(Half, WidensEveryValueExactlyAndBack) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto h = xgemm::half::from_bits(static_cast<xgemm_half>(bits));
    const float value = h;
    const double expected = xgemm::test::half_to_double(static_cast<xgemm_half>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(xgemm::half(value)))) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
      ASSERT_EQ(xgemm::half(value).bits(), bits);
    }
  }
}

void expect_rounded(float value) {
  const xgemm_half bits = xgemm::half(value).bits();
  if (std::isnan(value)) {
    ASSERT_TRUE(xgemm::test::is_nan(bits)) << value;
  } else {
    ASSERT_EQ(bits, xgemm::test::double_to_half(static_cast<double>(value))) << std::hexfloat << value;
  }
}

TEST(Half, RoundsToNearestEvenAroundEveryValue) {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const float here = xgemm::half::from_bits(static_cast<xgemm_half>(bits));
    const float next =
        bits + 1 < 0x7c00 ? static_cast<float>(xgemm::half::from_bits(static_cast<xgemm_half>(bits + 1))) : 65536.0f;
    const float middle = 0.5f * (here + next);  // exact: a half has 13 bits less
    for (float value : {here, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, next), next}) {
      ASSERT_NO_FATAL_FAILURE(expect_rounded(value));
      ASSERT_NO_FATAL_FAILURE(expect_rounded(-value));
    }
  }
}

TEST(Half, RoundsAnyFloat) {
  xgemm::test::Random random(7);
  for (int i = 0; i < 1000000; ++i)
    ASSERT_NO_FATAL_FAILURE(expect_rounded(float_from_bits(static_cast<std::uint32_t>(random.bits()))));
  for (float value : {0.0f, -0.0f, 65519.996f, 65520.0f, 1e30f, std::numeric_limits<float>::infinity(),
                      -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::denorm_min(),
                      std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::signaling_NaN()})
    ASSERT_NO_FATAL_FAILURE(expect_rounded(value));
}

TEST(Half, ComputesInFloat) {
  xgemm::half h = 1.5f;
  h = h + 1;
  EXPECT_EQ(h, 2.5f);
  EXPECT_LT(h, 3);
  EXPECT_EQ(sizeof h, 2u);
}

}  // namespace
