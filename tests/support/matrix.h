// Matrices for tests: column-major with a leading dimension, in a storage whose every other element is a guard.
//
//     guard band | column 0, guards up to ld | column 1, guards up to ld | ... | guard band
//
// Guards hold a NaN with a bit pattern of their own: reading one spoils the result, writing one is found by
// guards_intact(). The storage as a whole can be copied to a device and back (storage(), offset()).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "element.h"

namespace xgemm::test {

// The same numbers on every machine and with every standard library (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // In [-1, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-52 - 1.0; }

  // In [low, high].
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

template <class T>
struct GuardValue;
template <>
struct GuardValue<float> {
  static float value() {
    const std::uint32_t bits = 0x7fc5a5a5u;
    float guard;
    std::memcpy(&guard, &bits, sizeof guard);
    return guard;
  }
};
template <>
struct GuardValue<Tf32> {
  static Tf32 value() { return {GuardValue<float>::value()}; }
};
template <>
struct GuardValue<double> {
  static double value() {
    const std::uint64_t bits = 0x7ff8a5a5a5a5a5a5u;
    double guard;
    std::memcpy(&guard, &bits, sizeof guard);
    return guard;
  }
};
template <>
struct GuardValue<Half> {
  static Half value() { return 0x7ea5; }
};
template <>
struct GuardValue<Bfloat16> {
  static Bfloat16 value() { return {0x7fe5}; }
};

template <class T>
class Matrix {
 public:
  static constexpr std::int64_t kBand = 64;  // elements before and after the matrix

  Matrix() = default;

  // ld = 0: as small as BLAS allows. Elements start as guards: NaN poison until filled. shift moves the first element
  // off its alignment by that many elements.
  Matrix(std::int64_t rows, std::int64_t cols, std::int64_t ld = 0, std::int64_t shift = 0)
      : rows_(rows),
        cols_(cols),
        ld_(ld ? ld : std::max<std::int64_t>(1, rows)),
        offset_(kBand + shift),
        storage_(static_cast<std::size_t>(kBand + shift + ld_ * cols + kBand), GuardValue<T>::value()) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t ld() const { return ld_; }
  T* data() { return storage_.data() + offset_; }
  const T* data() const { return storage_.data() + offset_; }
  T& operator()(std::int64_t i, std::int64_t j) { return data()[i + j * ld_]; }
  const T& operator()(std::int64_t i, std::int64_t j) const { return data()[i + j * ld_]; }

  // The whole of it, guards included, and where data() begins in it.
  std::vector<T>& storage() { return storage_; }
  const std::vector<T>& storage() const { return storage_; }
  std::int64_t offset() const { return offset_; }

  Matrix& fill(T value) {
    return generate([&] { return value; });
  }

  // Uniform in [-1, 1), rounded to T.
  Matrix& fill_uniform(std::uint64_t seed) {
    Random random(seed);
    return generate([&] { return from_double<T>(random.uniform()); });
  }

  // Small integers, whose sums of products are exact: results can be compared bit by bit.
  Matrix& fill_integers(std::uint64_t seed, int low = -3, int high = 3) {
    Random random(seed);
    return generate([&] { return from_double<T>(static_cast<double>(random.integer(low, high))); });
  }

  // Back to the poison that a new matrix holds.
  Matrix& poison() { return fill(GuardValue<T>::value()); }

  // "" or where the first guard was overwritten.
  std::string guards_intact() const {
    const T guard = GuardValue<T>::value();
    for (std::size_t index = 0; index < storage_.size(); ++index) {
      const std::int64_t at = static_cast<std::int64_t>(index) - offset_;
      const bool inside = at >= 0 && at < ld_ * cols_ && at % ld_ < rows_;
      if (!inside && std::memcmp(&storage_[index], &guard, sizeof guard) != 0)
        return "a guard was overwritten, " + std::to_string(at) + " elements from the start of a matrix of " +
               std::to_string(rows_) + " x " + std::to_string(cols_) + " with ld " + std::to_string(ld_);
    }
    return {};
  }

  // Bit by bit, guards included: NaNs compare equal to themselves and -0 differs from 0.
  bool same_bits(const Matrix& other) const {
    return storage_.size() == other.storage_.size() &&
           (storage_.empty() || std::memcmp(storage_.data(), other.storage_.data(), storage_.size() * sizeof(T)) == 0);
  }

 private:
  template <class Source>
  Matrix& generate(Source&& source) {
    for (std::int64_t j = 0; j < cols_; ++j)
      for (std::int64_t i = 0; i < rows_; ++i) (*this)(i, j) = source();
    return *this;
  }

  std::int64_t rows_ = 0, cols_ = 0, ld_ = 1, offset_ = kBand;
  std::vector<T> storage_;
};

}  // namespace xgemm::test
