// AsyncLoader: slices of an operand into OperandTiles by cp.async of kVector elements.
//
// Made for a mainloop whose registers are full of sums and fragments: a thread keeps one address and one offset, the
// vectors of a slice follow from them by additions.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"

namespace xgemm::kernels {

template <class View, class Tile, int kVector, int kThreads>
class AsyncLoader {
  using Element = typename Tile::Element;
  static constexpr bool kAlongK = Tile::kAlongK;
  static constexpr int kBytes = kVector * int{sizeof(Element)};
  static constexpr int kVectors = Tile::kRun / kVector;  // of a line
  static constexpr int kLinesAtOnce = kThreads / kVectors;
  static constexpr int kCount = Tile::kLines / kLinesAtOnce;
  static_assert(kThreads % kVectors == 0 && kCount * kLinesAtOnce == Tile::kLines, "all threads, equally often");
  static_assert(kLinesAtOnce % 2 == 0 || kCount == 1);

 public:
  // Slices of the rows from mn on; k is where the operand ends.
  XGEMM_DEVICE AsyncLoader(const View& operand, std::int64_t mn, std::int64_t k)
      : operand_(operand.template block<Tile::kMn, Tile::kK>(mn, std::int64_t{0})), left_(k) {
    source_ =
        kAlongK ? operand_.address(std::int64_t{line()}, element()) : operand_.address(element(), std::int64_t{line()});
    offset_ = Tile::Swizzle::Type::apply(line() * Tile::kRun + element());
  }

  // Starts the copies of the next slice; does nothing beyond the last.
  XGEMM_DEVICE void copy(typename Tile::Storage& tile, Loc loc = Loc::current()) {
    const std::int64_t line_stride = kAlongK ? operand_.row_stride() : operand_.col_stride();
    const Element* source = source_;
    if (left_ >= Tile::kK && mn_extent() == Tile::kMn) {
      XGEMM_UNROLL
      for (int i = 0; i < kCount; ++i) {
        gpu::copy_async<kBytes>(destination(tile, i), source, kBytes, loc);
        source += kLinesAtOnce * line_stride;
      }
    } else if (left_ > 0) {
      const int k_left = left_ < Tile::kK ? static_cast<int>(left_) : Tile::kK;
      const int lines = kAlongK ? mn_extent() : k_left, run = (kAlongK ? k_left : mn_extent()) - element();
      const int inside = run < 0 ? 0 : (run < kVector ? run : kVector);
      XGEMM_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const int elements = line() + i * kLinesAtOnce < lines ? inside : 0;
        gpu::copy_async<kBytes>(destination(tile, i), source, elements * int{sizeof(Element)}, loc);
        source += kLinesAtOnce * line_stride;
      }
    }
    source_ += Tile::kK * (kAlongK ? std::int64_t{1} : line_stride);
    left_ -= Tile::kK;
  }

 private:
  XGEMM_DEVICE static int line() { return gpu::thread_index() / kVectors; }
  XGEMM_DEVICE static int element() { return gpu::thread_index() % kVectors * kVector; }
  XGEMM_DEVICE int mn_extent() const { return operand_.rows(); }
  XGEMM_DEVICE Element* destination(typename Tile::Storage& tile, int i) const {
    return tile.data + Tile::Swizzle::advance(offset_, i * kLinesAtOnce * Tile::kRun);
  }

  using Block = decltype(std::declval<View>().template block<Tile::kMn, Tile::kK>(std::int64_t{}, std::int64_t{}));
  Block operand_;
  const Element* source_;  // of the next slice's first vector
  int offset_;
  std::int64_t left_;  // of K
};

}  // namespace xgemm::kernels
