// The blocks that a product which may be emulated is computed in: so that what its operands are split into takes a
// bounded workspace (512 MiB), and sums are no longer than docs/numerics.md counts on. Pure.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/problem.h"
#include "kernels/fp16x3/split.h"

namespace xgemm::plan {

// Blocks of C, one after the other, and of each the stretches of K, which add to it. Nearly equal in size.
class Blocks {
 public:
  static constexpr std::int64_t kMost = kernels::SplitConstants::kMostExtent;  // along each extent

  explicit Blocks(const Problem& all)
      : all_(all), m_(size_of(all.m, 128)), n_(size_of(all.n, 128)), k_(size_of(all.k, 64)) {}

  bool whole() const { return m_ >= all_.m && n_ >= all_.n && k_ >= all_.k; }

  // False after the last one.
  bool next(Problem* block) {
    if (j_ >= all_.n) return false;
    *block = at(i_, j_, l_);
    if ((l_ += k_) < all_.k) return true;
    l_ = 0;
    if ((i_ += m_) < all_.m) return true;
    i_ = 0;
    j_ += n_;
    return true;
  }

 private:
  static std::int64_t size_of(std::int64_t extent, std::int64_t multiple) {
    const std::int64_t blocks = std::max<std::int64_t>(1, (extent + kMost - 1) / kMost);
    return ((extent + blocks - 1) / blocks + multiple - 1) / multiple * multiple;
  }
  template <class Matrix>
  static void move(Matrix& x, std::int64_t row, std::int64_t column) {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(x.data)>>, const char, char>;
    x.data = static_cast<Byte*>(x.data) + (row + column * x.ld) * xgemm::size_of(x.type);
  }

  Problem at(std::int64_t i, std::int64_t j, std::int64_t l) const {
    Problem p = all_;
    p.m = std::min(m_, all_.m - i), p.n = std::min(n_, all_.n - j), p.k = std::min(k_, all_.k - l);
    all_.a.op == Op::none ? move(p.a, i, l) : move(p.a, l, i);
    all_.b.op == Op::none ? move(p.b, l, j) : move(p.b, j, l);
    move(p.c, i, j);
    if (l > 0) p.beta = {1, nullptr};
    return p;
  }

  const Problem& all_;
  std::int64_t m_, n_, k_;
  std::int64_t i_ = 0, j_ = 0, l_ = 0;
};

}  // namespace xgemm::plan
