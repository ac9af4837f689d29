// A layer of a small network: what cost corrections spend their time with.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>

namespace xgemm::tuning {

namespace detail {
// sums[j] += features[i] * weights[i][j], in the order of i: the same bits with wide vectors and without.
void add_weighted(const float* features, std::size_t count, const float* weights, float* sums, std::size_t hidden);
// The sum of max(hidden[j], 0) * weights[j], of every eighth j first.
float weighted_positive(const float* hidden, const float* weights, std::size_t count);
}  // namespace detail

template <std::size_t kCount, std::size_t kHidden>
void add_weighted(const std::array<float, kCount>& features, const float (&weights)[kCount][kHidden],
                  std::array<float, kHidden>* sums) {
  static_assert(kHidden % 8 == 0);
  detail::add_weighted(features.data(), kCount, weights[0], sums->data(), kHidden);
}

template <std::size_t kCount>
float weighted(const std::array<float, kCount>& features, const float (&weights)[kCount]) {
  float sum = 0;
  for (std::size_t i = 0; i < kCount; ++i) sum += features[i] * weights[i];
  return sum;
}

template <std::size_t kHidden>
float weighted_positive(const std::array<float, kHidden>& hidden, const float (&weights)[kHidden]) {
  static_assert(kHidden % 8 == 0);
  return detail::weighted_positive(hidden.data(), weights, kHidden);
}

}  // namespace xgemm::tuning
