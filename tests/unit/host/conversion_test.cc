// Conversions of fp16 and bf16 against arithmetic on double, and the instructions' paths against the integer ones, bit
// by bit.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/conversion.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/element.h"
#include "support/matrix.h"
#include "xgemm/float16.hpp"

namespace {

using namespace xgemm;
using std::uint16_t;
using test::Bfloat16;
using test::Half;

// One of the types: its conversions in the library, and the same by the tests' arithmetic.
struct HalfType {
  using Element = Half;
  static constexpr DType kType = DType::f16;
  static float widen(uint16_t bits) { return half_to_float(bits); }
  static uint16_t narrow(float value) { return float_to_half(value); }
};
struct Bfloat16Type {
  using Element = Bfloat16;
  static constexpr DType kType = DType::bf16;
  static float widen(uint16_t bits) { return bfloat16_to_float(bits); }
  static uint16_t narrow(float value) { return float_to_bfloat16(value); }
};

template <class Type>
class ConversionTest : public testing::Test {
 protected:
  using Element = typename Type::Element;

  static Element element(unsigned bits) { return std::bit_cast<Element>(static_cast<uint16_t>(bits)); }
  static uint16_t bits_of(Element x) { return std::bit_cast<uint16_t>(x); }
  static uint16_t infinity() { return bits_of(test::from_double<Element>(std::numeric_limits<double>::infinity())); }

  static std::vector<uint16_t> every_pattern() {
    std::vector<uint16_t> all(0x10000);
    for (unsigned bits = 0; bits < all.size(); ++bits) all[bits] = static_cast<uint16_t>(bits);
    return all;
  }

  // Around every number of the type: itself, the middle to the next one, and the floats beside these. Then random bits.
  static std::vector<float> telling_floats() {
    std::vector<float> values;
    for (unsigned bits = 0; bits < infinity(); ++bits) {
      const double low = test::to_double(element(bits));
      // The numbers go on past the largest one as if there were a next one.
      const double next =
          bits + 1u == infinity() ? 2 * low - test::to_double(element(bits - 1u)) : test::to_double(element(bits + 1u));
      for (const double value : {low, low + (next - low) / 2}) {
        const float x = static_cast<float>(value);
        for (const float y : {x, std::nextafter(x, 0.0f), std::nextafter(x, std::numeric_limits<float>::max())}) {
          values.push_back(y);
          values.push_back(-y);
        }
      }
    }
    for (const float special : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max(), 1e-40f, 0.0f,
                                std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::quiet_NaN(),
                                std::bit_cast<float>(0x7f800001u), std::bit_cast<float>(0x7fffffffu)}) {
      values.push_back(special);
      values.push_back(-special);
    }
    test::Random random(7);
    for (int i = 0; i < 1000003; ++i) values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random.bits())));
    return values;
  }
};

using ConversionTypes = testing::Types<HalfType, Bfloat16Type>;
struct ConversionNames {
  template <class Type>
  static std::string GetName(int) {
    return name_of(Type::kType);
  }
};
TYPED_TEST_SUITE(ConversionTest, ConversionTypes, ConversionNames);

TYPED_TEST(ConversionTest, ToFloatIsExact) {
  for (const uint16_t bits : this->every_pattern()) {
    const float value = TypeParam::widen(bits);
    if (test::is_nan(this->element(bits))) {
      EXPECT_TRUE(std::isnan(value)) << bits;
    } else {
      EXPECT_EQ(static_cast<double>(value), test::to_double(this->element(bits))) << bits;
      EXPECT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
      EXPECT_EQ(TypeParam::narrow(value), bits);
    }
  }
}

TYPED_TEST(ConversionTest, FromFloatRoundsToNearestEven) {
  for (const float value : this->telling_floats()) {
    const uint16_t bits = TypeParam::narrow(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(test::is_nan(this->element(bits))) << std::bit_cast<std::uint32_t>(value);
      ASSERT_EQ((bits & 0x8000) != 0, std::signbit(value));
    } else {
      ASSERT_EQ(bits, this->bits_of(test::from_double<typename TypeParam::Element>(value))) << value;
    }
  }
}

// The first bit of the fraction says that a NaN is quiet.
TYPED_TEST(ConversionTest, NanBecomesQuiet) {
  const auto quiet =
      this->bits_of(test::from_double<typename TypeParam::Element>(std::numeric_limits<double>::quiet_NaN()));
  for (const std::uint32_t nan : {0x7f800001u, 0xff800001u, 0x7fc00000u, 0x7fffffffu, 0xffbfffffu}) {
    const uint16_t bits = TypeParam::narrow(std::bit_cast<float>(nan));
    EXPECT_EQ(bits & quiet, quiet) << nan;
    EXPECT_EQ(bits >> 15, nan >> 31) << nan;
  }
}

TYPED_TEST(ConversionTest, ArraysEqualThePortablePathForEveryBitPattern) {
  const host::Conversion &fast = host::conversion(TypeParam::kType),
                         &portable = host::portable_conversion(TypeParam::kType);
  const std::vector<uint16_t> all = this->every_pattern();
  std::vector<float> floats(all.size()), portable_floats(all.size());
  fast.widen(all.data(), floats.data(), static_cast<std::int64_t>(all.size()));
  portable.widen(all.data(), portable_floats.data(), static_cast<std::int64_t>(all.size()));
  EXPECT_EQ(std::memcmp(floats.data(), portable_floats.data(), floats.size() * sizeof(float)), 0);
  for (const uint16_t bits : all)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[bits]), std::bit_cast<std::uint32_t>(TypeParam::widen(bits))) << bits;

  const std::vector<float> values = this->telling_floats();
  std::vector<uint16_t> rounded(values.size()), portable_rounded(values.size());
  fast.narrow(values.data(), rounded.data(), static_cast<std::int64_t>(values.size()));
  portable.narrow(values.data(), portable_rounded.data(), static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(rounded[i], portable_rounded[i]) << std::bit_cast<std::uint32_t>(values[i]);
    ASSERT_EQ(rounded[i], TypeParam::narrow(values[i])) << std::bit_cast<std::uint32_t>(values[i]);
  }
}

TYPED_TEST(ConversionTest, AnyCountTouchesItsElementsAlone) {
  const host::Conversion& convert = host::conversion(TypeParam::kType);
  const uint16_t one = TypeParam::narrow(1.0f);
  for (int count = 0; count < 40; ++count) {
    std::vector<uint16_t> elements(64, one), back(64, 0x1234);
    std::vector<float> floats(64, -7.0f);
    convert.widen(elements.data(), floats.data(), count);
    convert.narrow(floats.data(), back.data(), count);
    for (int i = 0; i < 64; ++i) {
      EXPECT_EQ(floats[i], i < count ? 1.0f : -7.0f);
      EXPECT_EQ(back[i], i < count ? one : 0x1234);
    }
  }
}

}  // namespace
