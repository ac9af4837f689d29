// AsyncLoader: slices of an operand into OperandTiles by cp.async of kVector elements.
//
// Made for a mainloop whose registers are full of sums and fragments: a thread keeps one address and one offset, the
// vectors of a slice follow from them by additions.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/mma_swizzled/operand_tile.cuh"

namespace xgemm::kernels {

template <class View, class Tile, int kVector, int kThreads>
class AsyncLoader {
  using Element = typename Tile::Element;
  static constexpr bool kAlongK = Tile::kAlongK;
  static constexpr bool kDoubles = sizeof(Element) == 8;  // whose sums and fragments leave the fewest registers
  static constexpr int kBytes = kVector * int{sizeof(Element)};
  static constexpr int kVectors = Tile::kRun / kVector;  // of a line
  static constexpr int kLinesAtOnce = kThreads / kVectors;
  static constexpr int kCount = Tile::kLines / kLinesAtOnce;
  static_assert(kThreads % kVectors == 0 && kCount * kLinesAtOnce == Tile::kLines, "all threads, equally often");
  static_assert((kLinesAtOnce & (kLinesAtOnce - 1)) == 0, "lines advance by powers of two");

 public:
  // Slices of the rows from mn on.
  XGEMM_DEVICE AsyncLoader(const View& operand, std::int64_t mn)
      : line_stride_(kAlongK ? operand.row_stride() : operand.col_stride()) {
    const std::int64_t rows = operand.rows() - mn;
    mn_left_ = rows < Tile::kMn ? static_cast<int>(rows) : Tile::kMn;
    source_ = kAlongK ? operand.address(mn + line(), element()) : operand.address(mn + element(), line());
    offset_ = Tile::Swizzle::Type::apply(line() * Tile::kRun + element());
  }

  // Starts the copies of the next slice. `k_left` of K are left from there on; where nothing is, nothing is copied.
  XGEMM_DEVICE void copy(typename Tile::Storage& tile, std::int64_t k_left, Loc loc = Loc::current()) {
    if (k_left >= Tile::kK && mn_left_ == Tile::kMn) {
      for_each_copy<kDoubles ? 4 : kCount>(
          [&](int i, const Element* source) { gpu::copy_async<kBytes>(destination(tile, i), source, kBytes, loc); });
    } else if (k_left > 0) {
      const int k_inside = k_left < Tile::kK ? static_cast<int>(k_left) : Tile::kK;
      const int lines = kAlongK ? mn_left_ : k_inside, run = (kAlongK ? k_inside : mn_left_) - element();
      const int inside = run < 0 ? 0 : (run < kVector ? run : kVector);
      for_each_copy<kDoubles ? 1 : kCount>([&](int i, const Element* source) {
        const int elements = line() + i * kLinesAtOnce < lines ? inside : 0;
        gpu::copy_async<kBytes>(destination(tile, i), source, elements * int{sizeof(Element)}, loc);
      });
    }
    source_ += Tile::kK * (kAlongK ? std::int64_t{1} : line_stride_);
  }

 private:
  // f(number, address) for the thread's vectors of a slice, so many of them unrolled.
  template <int kUnrolled, class F>
  XGEMM_DEVICE void for_each_copy(const F& f) const {
    constexpr int kAtOnce = kUnrolled < kCount ? kUnrolled : kCount;
    static_assert(kCount % kAtOnce == 0);
    const Element* source = source_;
    XGEMM_NO_UNROLL
    for (int first = 0; first < kCount; first += kAtOnce) {
      XGEMM_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        f(first + i, source);
        source += kLinesAtOnce * line_stride_;
      }
    }
  }

  XGEMM_DEVICE static int line() { return gpu::thread_index() / kVectors; }
  XGEMM_DEVICE static int element() { return gpu::thread_index() % kVectors * kVector; }
  XGEMM_DEVICE Element* destination(typename Tile::Storage& tile, int i) const {
    return tile.data + Tile::Swizzle::advance(offset_, i * kLinesAtOnce * Tile::kRun);
  }

  const Element* source_;  // the thread's first vector of the next slice
  std::int64_t line_stride_;
  int mn_left_;
  int offset_;  // of that vector in a tile
};

}  // namespace xgemm::kernels
