// Lines of 16-bit elements that start on some bytes, from global memory to a swizzled tile as TMA would leave it: by a
// team of threads, by cp.async.
//
// A thread has a piece of kVector elements in each of a few lines, which lie alike in the swizzle. What is outside of
// the operand is filled with zeros and not read.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/swizzle.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

// kLines lines of kLineBytes, 32, 64 or 128, which is also the width of the swizzle; by kThreads threads.
template <class Element, int kVector, int kLines, int kLineBytes, int kThreads>
class LineCopier {
  static_assert(sizeof(Element) == 2 && (kVector == 2 || kVector == 4));
  static constexpr int kBytes = kVector * static_cast<int>(sizeof(Element));
  static constexpr int kLinePieces = kLineBytes / kBytes;
  static constexpr int kAtOnce = kThreads / kLinePieces;  // lines
  static constexpr int kCount = kLines / kAtOnce;         // pieces of a thread
  static_assert(kLines % kAtOnce == 0 && kAtOnce * kLineBytes % 1024 == 0,
                "a thread's pieces lie alike in the swizzle");

 public:
  // source: lines so many elements apart; the tile begins at (line, element).
  XGEMM_DEVICE static LineCopier make(const Element* source, std::int64_t stride, int line, int element, int thread) {
    LineCopier copier;
    copier.line_ = thread / kLinePieces;
    copier.element_ = thread % kLinePieces * kVector;
    copier.stride_ = stride;
    copier.source_ = source + (line + copier.line_) * stride + element + copier.element_;
    const int offset = copier.line_ * kLineBytes + copier.element_ * static_cast<int>(sizeof(Element));
    copier.place_ = tma_swizzled<kLineBytes>(offset);
    return copier;
  }

  // On to the tile so far away.
  XGEMM_DEVICE void move(int lines, int elements) { source_ += lines * stride_ + elements; }

  // Starts the copies of the tile. Of the operand there are so many lines from there on and, of each, `left` elements.
  XGEMM_DEVICE void copy(Element* tile, int lines, int left) const {
    char* const place = reinterpret_cast<char*>(tile) + place_;
    const int elements = left - element_;
    const int bytes = (elements < 0 ? 0 : elements < kVector ? elements : kVector) * static_cast<int>(sizeof(Element));
    lines -= line_;
    const Element* from = source_;
    XGEMM_UNROLL
    for (int i = 0; i < kCount; ++i) {
      gpu::copy_async<kBytes>(place + i * kAtOnce * kLineBytes, from, i * kAtOnce < lines ? bytes : 0);
      from += kAtOnce * stride_;
    }
  }

 private:
  const Element* source_;  // the thread's first piece
  std::int64_t stride_;    // from line to line
  int line_, element_;     // of that piece, in the tile
  int place_;              // of it, in bytes
};

}  // namespace xgemm::kernels
