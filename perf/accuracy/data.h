// Operands whose products show how accurate a library is. Each element is a function of its place, so that any line can
// be made at any time: rows of op(A) and columns of op(B), which both lie along k.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

namespace xgemm::perf {

/// Random numbers by their place: the same for the same place, and unrelated for others.
class Places {
 public:
  Places(std::uint64_t seed, std::int64_t line) : base_(mixed(seed * 0x9e3779b97f4a7c15u + std::uint64_t(line))) {}

  /// [0, 1), with 32 bits.
  double uniform(std::int64_t k) const { return static_cast<double>(bits(k) >> 32) * 0x1p-32; }
  double sign(std::int64_t k) const { return (bits(k) & 1) != 0 ? 1 : -1; }
  /// N(0, 1).
  double normal(std::int64_t k) const {
    const std::uint64_t x = bits(k);
    const float radius = std::sqrt(-2 * std::log((static_cast<float>(x >> 32) + 0.5f) * 0x1p-32f));
    return radius * std::cos(static_cast<float>(x & 0xffffffff) * (0x1p-31f * std::numbers::pi_v<float>));
  }

 private:
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  std::uint64_t bits(std::int64_t k) const { return mixed(base_ + std::uint64_t(k) * 0x9e3779b97f4a7c15u); }

  std::uint64_t base_;
};

/// What a kind of data is made of. extent: lines of the operand; depth: k.
struct Data {
  using Element = double (*)(const Places&, std::int64_t line, std::int64_t k, std::int64_t extent, std::int64_t depth);
  std::string name;
  Element a, b;

  /// A line of A (seed 1) or B (seed 2), as floats.
  void fill(bool of_a, std::int64_t line, std::int64_t extent, std::vector<float>& values) const {
    const Places places(of_a ? 1 : 2, line);
    const auto depth = static_cast<std::int64_t>(values.size());
    const Element element = of_a ? a : b;
    for (std::int64_t k = 0; k < depth; ++k)
      values[static_cast<std::size_t>(k)] = static_cast<float>(element(places, line, k, extent, depth));
  }
};

using Place = std::int64_t;

inline double normal(const Places& x, Place, Place k, Place, Place) {
  return x.normal(k);
}

/// Of both signs, magnitudes log-uniform between 2^-kBinades and 2^kBinades.
template <int kBinades>
double log_uniform(const Places& x, Place, Place k, Place, Place) {
  return x.sign(k) * std::exp2(kBinades * (2 * x.uniform(k) - 1));
}

inline double hilbert(const Places&, Place line, Place k, Place, Place) {
  return 1.0 / static_cast<double>(line + k + 1);
}

/// Powers of Chebyshev's points.
inline double power(const Places&, Place line, Place k, Place extent, Place) {
  constexpr Place kDegrees = 64;
  const double x = std::cos((static_cast<double>(line) + 0.5) * std::numbers::pi / static_cast<double>(extent));
  return std::pow(x, static_cast<double>(k % kDegrees));
}

/// Rows whose second half takes back what the first one gives, but for a 2^-12th.
inline double negated_half(const Places& x, Place, Place k, Place, Place depth) {
  return k < depth / 2 ? x.normal(k) : -x.normal(k - depth / 2);
}
inline double repeated_half(const Places& x, Place, Place k, Place, Place depth) {
  return k < depth / 2 ? x.normal(k) : x.normal(k - depth / 2) * (1 + 0x1p-12 * x.uniform(k));
}

template <int kBinades>
double one_huge(const Places& x, Place line, Place k, Place, Place depth) {
  return k == line * 37 % depth ? std::exp2(kBinades) : x.normal(k);
}

inline double subnormal(const Places& x, Place, Place k, Place, Place) {
  return x.sign(k) * x.uniform(k) * 0x1p-126;
}

/// So large that results come near the largest float.
inline double near_overflow(const Places& x, Place, Place k, Place, Place depth) {
  return x.sign(k) * (0.5 + 0.5 * x.uniform(k)) * 0x1p63 / std::sqrt(static_cast<double>(depth));
}

inline std::vector<Data> all_data() {
  const auto uniform = [](const Places& x, Place, Place k, Place, Place) { return x.uniform(k); };
  const auto both_signs = [](const Places& x, Place, Place k, Place, Place) { return 2 * x.uniform(k) - 1; };
  return {
      {"N(0, 1)", normal, normal},
      {"U(0, 1)", uniform, uniform},
      {"U(−1, 1)", both_signs, both_signs},
      {"± log-uniform over 2^±10", log_uniform<10>, log_uniform<10>},
      {"± log-uniform over 2^±20", log_uniform<20>, log_uniform<20>},
      {"± log-uniform over 2^±60, N(0, 1)", log_uniform<60>, normal},
      {"± log-uniform over 2^±120, N(0, 1)", log_uniform<120>, normal},
      {"Hilbert", hilbert, hilbert},
      {"Vandermonde, N(0, 1)", power, normal},
      {"cancelling rows", negated_half, repeated_half},
      {"N(0, 1), 2^10 once a row", one_huge<10>, normal},
      {"N(0, 1), 2^30 once a row", one_huge<30>, normal},
      {"subnormal, N(0, 1)", subnormal, normal},
      {"near overflow", near_overflow, near_overflow},
  };
}

}  // namespace xgemm::perf
