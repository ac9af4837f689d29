// How slices of an operand come to shared memory: by cp.async of all threads, [k][line], wherever lines start and
// however they lie. A line is a row of A, or a column of B.
//
//   vectors      lines lie side by side, and each k of them starts on 16 bytes: 16 bytes at a time
//   along lines  lines lie anyhow: word by word, neighbours in a warp are of neighbouring lines
//   along k      lines are contiguous: word by word, eight k of four lines in a warp
//
// Beyond the last line, and beyond the last k, there are zeros.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/matrix_view.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

template <int kLines, int kTileK, int kThreads>
class FfmaAsyncSliceLoader {
 public:
  // From one k of a slice to the next. Words of eight k and four lines lie in 32 banks.
  static constexpr int kLine = kLines + 4;

  // x: of which a line is (line, all k). by_pointers: as entry_of() takes it.
  XGEMM_DEVICE FfmaAsyncSliceLoader(const ConstMatrixArg& x, std::int64_t batch, std::int64_t first_line,
                                    std::int64_t lines, bool by_pointers) {
    const float* const data = entry_of<const float>(x, batch, by_pointers) + first_line * x.row_stride;
    const int thread = gpu::thread_index();
    const int inside = lines - first_line < kLines ? static_cast<int>(lines - first_line) : kLines;
    way_ = x.col_stride == 1 ? Way::along_k
           : x.row_stride == 1 && x.col_stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0
               ? Way::vectors
               : Way::along_lines;
    if (way_ == Way::along_k) {
      line_ = thread / kLanesK;
      k_ = thread % kLanesK;
      left_ = inside - line_;
      step_ = kLineStep * x.row_stride;
    } else {
      const int width = way_ == Way::vectors ? 4 : 1, of_k = kLines / width;
      line_ = thread % of_k * width;
      k_ = thread / of_k;
      left_ = inside - line_;
      step_ = kThreads / of_k * x.col_stride;
    }
    from_ = data + line_ * x.row_stride + k_ * x.col_stride;
    slice_ = kTileK * x.col_stride;
  }

  // Starts the copies of the next slice, of which there are `depth` k.
  XGEMM_DEVICE void copy(float* slice, int depth) {
    float* const to = slice + k_ * kLine + line_;
    if (way_ == Way::along_k) {
      const float* at = from_;
      XGEMM_UNROLL
      for (int l = 0; l < kLines; l += kLineStep, at += step_) {
        XGEMM_UNROLL
        for (int h = 0; h < kTileK; h += kLanesK)
          gpu::copy_line_async<4>(to + h * kLine + l, at + h, l < left_ && k_ + h < depth ? 4 : 0);
      }
    } else if (way_ == Way::vectors) {
      copy_along_lines<4>(to, depth);
    } else {
      copy_along_lines<1>(to, depth);
    }
    from_ += slice_;
  }

 private:
  enum class Way : std::uint8_t { vectors, along_lines, along_k };
  // Along k: of a warp's lanes, so many have neighbours of a line.
  static constexpr int kLanesK = 8, kLineStep = kThreads / kLanesK;
  static_assert(kLines % kLineStep == 0 && kTileK % kLanesK == 0);

  template <int kWidth>
  XGEMM_DEVICE void copy_along_lines(float* to, int depth) const {
    constexpr int kStep = kThreads / (kLines / kWidth);
    static_assert(kThreads % (kLines / kWidth) == 0 && kTileK % kStep == 0);
    const int bytes = left_ <= 0 ? 0 : left_ < kWidth ? 4 * left_ : 4 * kWidth;
    const float* at = from_;
    XGEMM_UNROLL
    for (int h = 0; h < kTileK; h += kStep, at += step_)
      gpu::copy_line_async<4 * kWidth>(to + h * kLine, at, k_ + h < depth ? bytes : 0);
  }

  Way way_;
  int line_, k_;       // of this thread's first element of a slice
  int left_;           // lines from there on
  const float* from_;  // this thread's first element of the next slice
  std::int64_t step_;  // from one of its elements to the next
  std::int64_t slice_;
};

}  // namespace xgemm::kernels
