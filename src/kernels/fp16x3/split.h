// What the passes before an fp16x3 product are told, and where things lie in its workspace. Plain data and pure host
// code.
//
// A line is a row of op(A) or a column of op(B). Its elements are scaled by a power of two, so that the largest lies in
// [2^14, 2^15), and split: x = (high + low / 2^11) * factor, high and low in fp16. docs/numerics.md derives what that
// keeps, for which elements.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/common/params.h"

namespace xgemm::kernels {

struct SplitConstants {
  // Of a product that is computed at once: a workspace of 512 MiB, and sums that the bounds of docs/numerics.md are
  // for.
  static constexpr std::int64_t kMostExtent = 8192, kLeastK = 512;

  static constexpr int kLineExponent = 14;  // of a line's largest element when it is scaled
  // Exponents of the largest elements of lines whose products neither overflow nor fall below what fp32 holds.
  static constexpr int kLeastExponent = -50, kMostExponent = 50;
  // Scaled elements from 2^kFullExponent on keep all their bits but half of the last one.
  static constexpr int kFullExponent = -13;

  // Of a product over k, the exponent of the least element that may occur beside 0: its error, relative to itself, is
  // at most k / 8 units of 2^-23.
  static constexpr int least_element_exponent(std::int64_t k) {
    return kFullExponent + 1 -
           static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(8, k)) / 8));
  }
};

// An operand. Strides in elements; mn is the axis that it shares with C.
struct SplitOperand {
  const float* data;
  std::int64_t mn_stride, k_stride;
  std::int64_t mn;
  std::uint16_t* parts;     // all lines of high parts, then all of low ones, along k
  std::int64_t part;        // elements from one part to the other
  unsigned* largest;        // the bits of the largest magnitude of each line, of one stretch of k after the other
  float* factors;           // of lines
  std::int64_t lines;       // mn, as the arrays of lines are stored
  std::int64_t line_tiles;  // CTAs along mn
};

struct SplitParams {
  static constexpr int kThreads = 256;
  static constexpr int kLines = 64;          // of a CTA
  static constexpr int kSlice = 64;          // of k at a time
  static constexpr int kSplit = 128;         // of k that a CTA of the second pass splits
  static constexpr int kMostStretches = 16;  // of k, that CTAs of the first pass look at

  SplitOperand operands[2];
  std::int64_t k;
  std::int64_t ld;       // elements from one line of parts to the next
  std::int64_t stretch;  // of k
  int stretches;
  float least_element;  // scaled
  unsigned* unsafe;     // becomes 1 where the product has to be computed otherwise,
  unsigned* count;      // and is counted here, if this is not null

  std::int64_t line_tiles() const { return operands[0].line_tiles + operands[1].line_tiles; }
  std::int64_t measure_ctas() const { return line_tiles() * stretches; }
  std::int64_t split_ctas() const { return line_tiles() * ((k + kSplit - 1) / kSplit); }
};

// The workspace of a product of m x n over k: first the word `unsafe`, from where the fallback reads it.
class SplitWorkspace {
 public:
  SplitWorkspace(std::int64_t m, std::int64_t n, std::int64_t k)
      : ld_(rounded_up(k, kAlignment / 2)),
        stretch_(rounded_up((k + SplitParams::kMostStretches - 1) / SplitParams::kMostStretches, SplitParams::kSplit)),
        stretches_(static_cast<int>((k + stretch_ - 1) / stretch_)) {
    const std::int64_t extents[2] = {m, n};
    for (int i = 0; i < 2; ++i) {
      lines_[i] = rounded_up(extents[i], kLinesOfTiles);
      largest_[i] = take(stretches_ * lines_[i] * 4);
      factors_[i] = take(lines_[i] * 4);
      part_[i] = extents[i] * ld_;
      parts_[i] = take(2 * part_[i] * 2);
    }
  }

  std::size_t bytes() const { return static_cast<std::size_t>(end_); }

  // The passes over the operands of g.
  SplitParams passes(const GemmParams& g, void* workspace, unsigned* count) const {
    SplitParams p{};
    const ConstMatrixArg* const x[2] = {&g.a, &g.b};
    const std::int64_t mn[2] = {g.m, g.n};
    const std::int64_t mn_stride[2] = {g.a.row_stride, g.b.col_stride}, k_stride[2] = {g.a.col_stride, g.b.row_stride};
    for (int i = 0; i < 2; ++i)
      p.operands[i] = {static_cast<const float*>(x[i]->data),
                       mn_stride[i],
                       k_stride[i],
                       mn[i],
                       at<std::uint16_t>(workspace, parts_[i]),
                       part_[i],
                       at<unsigned>(workspace, largest_[i]),
                       at<float>(workspace, factors_[i]),
                       lines_[i],
                       (mn[i] + SplitParams::kLines - 1) / SplitParams::kLines};
    p.k = g.k;
    p.ld = ld_;
    p.stretch = stretch_;
    p.stretches = stretches_;
    const int exponent = SplitConstants::least_element_exponent(g.k);
    p.least_element = 1.0f / static_cast<float>(1 << -exponent);
    p.unsafe = static_cast<unsigned*>(workspace);
    p.count = count;
    return p;
  }

  // The product of what they leave: parts lie one batch stride apart.
  GemmParams product(const GemmParams& g, void* workspace) const {
    GemmParams p = g;
    p.a = {at<std::uint16_t>(workspace, parts_[0]), ld_, 1, part_[0]};
    p.b = {at<std::uint16_t>(workspace, parts_[1]), 1, ld_, part_[1]};
    p.factors_a = at<float>(workspace, factors_[0]);
    p.factors_b = at<float>(workspace, factors_[1]);
    p.condition = {static_cast<unsigned*>(workspace), 0};
    return p;
  }

 private:
  static constexpr std::int64_t kAlignment = 128;
  static constexpr std::int64_t kLinesOfTiles = 256;  // no tile reaches further

  static constexpr std::int64_t rounded_up(std::int64_t x, std::int64_t multiple) {
    return (x + multiple - 1) / multiple * multiple;
  }
  std::int64_t take(std::int64_t bytes) {
    const std::int64_t at = end_;
    end_ += rounded_up(bytes, kAlignment);
    return at;
  }
  template <class T>
  static T* at(void* workspace, std::int64_t offset) {
    return reinterpret_cast<T*>(static_cast<unsigned char*>(workspace) + offset);
  }

  std::int64_t ld_, stretch_;
  int stretches_;
  std::int64_t lines_[2], largest_[2], factors_[2], parts_[2], part_[2];
  std::int64_t end_ = kAlignment;
};

}  // namespace xgemm::kernels
