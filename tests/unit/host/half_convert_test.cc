// fp16 conversions against arithmetic on double, and the instructions' path against the integer one, bit by bit.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/half_convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "support/half.h"
#include "support/matrix.h"

namespace {

using namespace xgemm;
using test::Half;

std::vector<Half> every_half() {
  std::vector<Half> all(0x10000);
  for (unsigned bits = 0; bits < all.size(); ++bits) all[bits] = static_cast<Half>(bits);
  return all;
}

// Around every half: itself, the middle to the next one, and the floats beside these. Then random bits.
std::vector<float> telling_floats() {
  std::vector<float> values;
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const float low = static_cast<float>(test::half_to_double(static_cast<Half>(bits)));
    const float high =
        bits == 0x7bff ? 65536.0f : static_cast<float>(test::half_to_double(static_cast<Half>(bits + 1)));
    const float middle = low + (high - low) / 2;
    for (const float value : {low, middle})
      for (const float x : {value, std::nextafter(value, 0.0f), std::nextafter(value, 1e9f)}) {
        values.push_back(x);
        values.push_back(-x);
      }
  }
  for (const float special : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max(), 1e-40f, 0.0f,
                              std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::quiet_NaN()}) {
    values.push_back(special);
    values.push_back(-special);
  }
  test::Random random(7);
  for (int i = 0; i < 1000003; ++i) values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random.bits())));
  return values;
}

TEST(HalfConvert, ToFloatIsExact) {
  for (const Half half : every_half()) {
    const float value = host::half_to_float(half);
    if (test::is_nan(half)) {
      EXPECT_TRUE(std::isnan(value)) << half;
    } else {
      EXPECT_EQ(static_cast<double>(value), test::half_to_double(half)) << half;
      EXPECT_EQ(std::signbit(value), (half & 0x8000) != 0) << half;
      EXPECT_EQ(host::float_to_half(value), half);
    }
  }
}

TEST(HalfConvert, ToHalfRoundsToNearestEven) {
  for (const float value : telling_floats()) {
    const Half half = host::float_to_half(value);
    if (std::isnan(value))
      EXPECT_TRUE(test::is_nan(half)) << std::bit_cast<std::uint32_t>(value);
    else
      ASSERT_EQ(half, test::double_to_half(value)) << value;
  }
}

TEST(HalfConvert, ArraysEqualThePortablePathForEveryBitPattern) {
  const std::vector<Half> halves = every_half();
  std::vector<float> floats(halves.size()), portable_floats(halves.size());
  host::half_to_float(halves.data(), floats.data(), static_cast<std::int64_t>(halves.size()));
  host::portable::half_to_float(halves.data(), portable_floats.data(), static_cast<std::int64_t>(halves.size()));
  for (std::size_t i = 0; i < halves.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]), std::bit_cast<std::uint32_t>(portable_floats[i])) << halves[i];

  const std::vector<float> values = telling_floats();
  std::vector<Half> rounded(values.size()), portable_rounded(values.size());
  host::float_to_half(values.data(), rounded.data(), static_cast<std::int64_t>(values.size()));
  host::portable::float_to_half(values.data(), portable_rounded.data(), static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(rounded[i], portable_rounded[i]) << std::bit_cast<std::uint32_t>(values[i]);
}

TEST(HalfConvert, AnyCountTouchesItsElementsAlone) {
  for (int count = 0; count < 40; ++count) {
    std::vector<Half> halves(64, 0x3c00), back(64, 0x1234);
    std::vector<float> floats(64, -7.0f);
    host::half_to_float(halves.data(), floats.data(), count);
    host::float_to_half(floats.data(), back.data(), count);
    for (int i = 0; i < 64; ++i) {
      EXPECT_EQ(floats[i], i < count ? 1.0f : -7.0f);
      EXPECT_EQ(back[i], i < count ? 0x3c00 : 0x1234);
    }
  }
}

}  // namespace
