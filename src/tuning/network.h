// What cost corrections spend their time with: a layer of a small network, logarithms.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace xgemm::tuning {

// The logarithm of a number greater than 0, to some 1e-7, whatever the C library.
inline float ln(float x) {
  constexpr float kLn2 = 0.693147181f;
  constexpr std::uint32_t kRootOfHalf = 0x3f3504f3;
  // x = m * 2^exponent, m from the root of 1/2 to that of 2.
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const int exponent = static_cast<std::int32_t>(bits - kRootOfHalf) >> 23;
  const float m = std::bit_cast<float>(bits - (static_cast<std::uint32_t>(exponent) << 23));
  const float s = (m - 1) / (m + 1), z = s * s;
  return static_cast<float>(exponent) * kLn2 + 2 * s * (1 + z * (1.0f / 3 + z * (1.0f / 5 + z * (1.0f / 7))));
}

namespace detail {
// Of a multiple of eight numbers.
void ln(float* x, std::size_t count);
// The sum of x[i] * y[i], of every eighth i first, and then of those that are left over.
float weighted(const float* x, const float* y, std::size_t count);
// For layers of 24 and of 48.
// sums[j] += features[i] * weights[i][j], in the order of i: the same bits with wide vectors and without.
template <std::size_t kHidden>
void add_weighted(const float* features, std::size_t count, const float* weights, float* sums);
// The sum of max(hidden[j], 0) * weights[j], of every eighth j first.
template <std::size_t kHidden>
float weighted_positive(const float* hidden, const float* weights);
}  // namespace detail

template <std::size_t kCount, std::size_t kHidden>
void add_weighted(const std::array<float, kCount>& features, const float (&weights)[kCount][kHidden],
                  std::array<float, kHidden>* sums) {
  detail::add_weighted<kHidden>(features.data(), kCount, weights[0], sums->data());
}

template <std::size_t kCount>
float weighted(const std::array<float, kCount>& features, const float (&weights)[kCount]) {
  return detail::weighted(features.data(), weights, kCount);
}

// Of all of them.
template <std::size_t kCount>
void ln(std::array<float, kCount>* x) {
  static_assert(kCount % 8 == 0);
  detail::ln(x->data(), kCount);
}

template <std::size_t kHidden>
float weighted_positive(const std::array<float, kHidden>& hidden, const float (&weights)[kHidden]) {
  return detail::weighted_positive<kHidden>(hidden.data(), weights);
}

}  // namespace xgemm::tuning
