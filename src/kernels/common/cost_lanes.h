// Several numbers at a time, for cost models that compare many plans: an estimate is a chain of roots and divisions
// that wait for one another, and four chains take hardly longer than one. A model is written once, for a Real that is
// double or a vector of them, and gives the same bits for all.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "kernels/common/cost_math.h"

// How functions pass vectors depends on the processor: all of these are inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

#define XGEMM_INLINE [[gnu::always_inline]] inline

namespace xgemm::kernels::cost {

typedef double TwoReals __attribute__((vector_size(16)));   // what all processors have
typedef double FourReals __attribute__((vector_size(32)));  // of those with AVX2

template <class Real>
concept IsVector = !std::is_arithmetic_v<Real>;

template <class Real>
inline constexpr int kLanes = sizeof(Real) / sizeof(double);

// A number in all lanes.
template <class Real>
XGEMM_INLINE Real all_lanes(double x) {
  return x + Real{};
}

// condition ? x : y, lane by lane.
template <class Condition, class Real>
XGEMM_INLINE Real pick(const Condition& condition, const Real& x, const Real& y) {
  return condition ? x : y;
}

template <class Real>
XGEMM_INLINE Real least_of(const Real& x, const Real& y) {
  return pick(y < x, y, x);
}
template <class Real>
XGEMM_INLINE Real most_of(const Real& x, const Real& y) {
  return pick(x < y, y, x);
}

// Of numbers from 0 on, as those of cost_math.h: rounded to the nearest whole number, and back where that is beyond.
template <IsVector Real>
XGEMM_INLINE Real floor(const Real& x) {
  const Real all_whole = all_lanes<Real>(0x1p52);
  const Real nearest = x + all_whole - all_whole;
  return pick(x < all_whole, nearest - pick(nearest > x, all_lanes<Real>(1), Real{}), x);
}
template <IsVector Real>
XGEMM_INLINE Real ceil(const Real& x) {
  const Real least = floor(x);
  return pick(least < x, least + 1, least);
}

XGEMM_INLINE bool any(bool condition) {
  return condition;
}
template <IsVector Condition>
XGEMM_INLINE bool any(const Condition& condition) {
  auto found = condition[0];
  for (std::size_t i = 1; i < sizeof condition / sizeof found; ++i) found |= condition[i];
  return found != 0;
}

XGEMM_INLINE double root(double x) {
  return std::sqrt(x);
}
template <IsVector Real>
XGEMM_INLINE Real root(const Real& x) {
  double roots[kLanes<Real>];
  __builtin_memcpy(roots, &x, sizeof x);
  for (double& each : roots) each = std::sqrt(each);
  Real result;
  __builtin_memcpy(&result, roots, sizeof result);
  return result;
}

template <IsVector Real>
XGEMM_INLINE Real fourth(const Real& x) {
  return x * x * x * x;
}
template <class Real>
XGEMM_INLINE Real fourth_root(const Real& x) {
  return root(root(x));
}

}  // namespace xgemm::kernels::cost
