// The blocks that products which may be emulated are computed in: so that what their operands are split into takes a
// bounded workspace (512 MiB), and sums are no longer than docs/numerics.md counts on. Pure.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/problem.h"
#include "kernels/fp16x3/split.h"

namespace xgemm::plan {

// Some products of a batch at a time, blocks of their C, one after the other, and of each the stretches of K, which add
// to it. Nearly equal in size.
class Blocks {
 public:
  static constexpr std::int64_t kMost = kernels::SplitConstants::kMostExtent;  // along each extent

  explicit Blocks(const Problem& all)
      : all_(all),
        m_(of_lines(all.m)),
        n_(of_lines(all.n)),
        k_(of_k(all.k)),
        batch_(nearly_equal(all.batch_count,
                            Constants::most_products(m_, n_, k_, all.a.batch_stride, all.b.batch_stride), 1)) {}

  // Extents of a block, but for the last ones.
  static std::int64_t of_lines(std::int64_t extent) { return nearly_equal(extent, kMost, 128); }
  static std::int64_t of_k(std::int64_t extent) { return nearly_equal(extent, kMost, 64); }

  bool whole() const { return m_ >= all_.m && n_ >= all_.n && k_ >= all_.k && batch_ >= all_.batch_count; }

  // False after the last one.
  bool next(Problem* block) {
    if (e_ >= all_.batch_count) return false;
    *block = at(i_, j_, l_, e_);
    if ((l_ += k_) < all_.k) return true;
    l_ = 0;
    if ((i_ += m_) < all_.m) return true;
    i_ = 0;
    if ((j_ += n_) < all_.n) return true;
    j_ = 0;
    e_ += batch_;
    return true;
  }

 private:
  using Constants = kernels::SplitConstants;

  static std::int64_t nearly_equal(std::int64_t extent, std::int64_t most, std::int64_t multiple) {
    const std::int64_t blocks = std::max<std::int64_t>(1, (extent + most - 1) / most);
    return ((extent + blocks - 1) / blocks + multiple - 1) / multiple * multiple;
  }
  template <class Matrix>
  static void move(Matrix& x, std::int64_t row, std::int64_t column, std::int64_t entry) {
    x.data = moved(x.data, x.offset(row, column) + entry * x.batch_stride, x.type);
  }

  Problem at(std::int64_t i, std::int64_t j, std::int64_t l, std::int64_t e) const {
    Problem p = all_;
    p.m = std::min(m_, all_.m - i), p.n = std::min(n_, all_.n - j), p.k = std::min(k_, all_.k - l);
    p.batch_count = std::min(batch_, all_.batch_count - e);
    move(p.a, i, l, e);
    move(p.b, l, j, e);
    move(p.c, i, j, e);
    if (l > 0) p.beta = {1, nullptr};
    return p;
  }

  const Problem& all_;
  std::int64_t m_, n_, k_, batch_;
  std::int64_t i_ = 0, j_ = 0, l_ = 0, e_ = 0;
};

}  // namespace xgemm::plan
