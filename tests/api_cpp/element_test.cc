// xgemm::half and xgemm::bfloat16 against the tests' own arithmetic on doubles, and which types are elements.
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

namespace test = xgemm::test;

float float_from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The tests' type with the same bits.
test::Half reference_of(xgemm::half x) {
  return x.bits();
}
test::Bfloat16 reference_of(xgemm::bfloat16 x) {
  return {x.bits()};
}

template <class T>
class Element : public testing::Test {
 protected:
  using Reference = decltype(reference_of(T()));

  static T from_bits(std::uint32_t bits) { return T::from_bits(static_cast<std::uint16_t>(bits)); }
  static std::uint32_t infinity() { return T(std::numeric_limits<float>::infinity()).bits(); }

  static void expect_rounded(float value) {
    const T rounded = value;
    if (std::isnan(value)) {
      ASSERT_TRUE(test::is_nan(reference_of(rounded))) << value;
      const std::uint32_t quiet = T(std::numeric_limits<float>::quiet_NaN()).bits();
      ASSERT_EQ(rounded.bits() & quiet, quiet & 0x7fffu) << value;
    } else {
      const auto expected = test::from_double<Reference>(static_cast<double>(value));
      ASSERT_EQ(test::to_double(reference_of(rounded)), test::to_double(expected)) << std::hexfloat << value;
      ASSERT_EQ(rounded.bits() >> 15, std::signbit(value) ? 1 : 0) << std::hexfloat << value;
    }
  }
};
using ElementTypes = testing::Types<xgemm::half, xgemm::bfloat16>;
TYPED_TEST_SUITE(Element, ElementTypes);

TYPED_TEST(Element, WidensEveryValueExactlyAndBack) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = this->from_bits(bits);
    const double expected = test::to_double(reference_of(this->from_bits(bits)));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(TypeParam(value)))) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
      ASSERT_EQ(TypeParam(value).bits(), bits);
    }
  }
}

TYPED_TEST(Element, RoundsToNearestEvenAroundEveryValue) {
  for (std::uint32_t bits = 0; bits < this->infinity(); ++bits) {
    const double here = test::to_double(reference_of(this->from_bits(bits)));
    // The numbers go on past the largest one as if there were a next one.
    const double next = bits + 1 < this->infinity()
                            ? test::to_double(reference_of(this->from_bits(bits + 1)))
                            : 2 * here - test::to_double(reference_of(this->from_bits(bits - 1)));
    const float middle = static_cast<float>(here + 0.5 * (next - here));  // exact: a float has more bits
    for (float value : {static_cast<float>(here), middle, std::nextafter(middle, 0.0f),
                        std::nextafter(middle, std::numeric_limits<float>::max())}) {
      ASSERT_NO_FATAL_FAILURE(this->expect_rounded(value));
      ASSERT_NO_FATAL_FAILURE(this->expect_rounded(-value));
    }
  }
}

TYPED_TEST(Element, RoundsAnyFloat) {
  test::Random random(7);
  for (int i = 0; i < 1000000; ++i)
    ASSERT_NO_FATAL_FAILURE(this->expect_rounded(float_from_bits(static_cast<std::uint32_t>(random.bits()))));
  for (float value : {0.0f, -0.0f, 65519.996f, 65520.0f, 1e30f, 3.39e38f, std::numeric_limits<float>::max(),
                      std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                      std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::quiet_NaN(),
                      std::numeric_limits<float>::signaling_NaN()})
    ASSERT_NO_FATAL_FAILURE(this->expect_rounded(value));
}

TYPED_TEST(Element, ComputesInFloat) {
  TypeParam x = 1.5f;
  x = x + 1;
  EXPECT_EQ(x, 2.5f);
  EXPECT_LT(x, 3);
  EXPECT_EQ(sizeof x, 2u);
}

static_assert(xgemm::element<xgemm::bfloat16>::value == XGEMM_BF16);
static_assert(xgemm::element<__nv_bfloat16>::value == XGEMM_BF16, "by its name alone, without CUDA's header");
static_assert(xgemm::element<__half>::value == XGEMM_F16);

}  // namespace
