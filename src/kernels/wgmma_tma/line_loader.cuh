// Lines of 16-bit elements that start anywhere, from global memory to a swizzled tile as TMA would leave it: by a team
// of threads, through registers.
//
// A thread has a chunk of 16 bytes in each of a few lines. It reads the two aligned vectors that the chunk's bytes lie
// in, and shifts:
//
//     source | . . a b c d e f | g h . . . . . . |
//     chunk  | a b c d e f g h |
//
// A thread's lines are a multiple of eight apart, so that its chunks lie alike, and the same holds from slice to slice.
// Where its vectors would reach beyond their line, or, of lines without gaps between them, beyond the matrix, it reads
// element by element: nothing outside of the operand is read. Zeros stand in for what is outside.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/predicated.cuh"
#include "kernels/common/swizzle.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

// The 16 bytes that begin so many elements of 16 bits, fewer than eight, behind the first of two vectors: by 8 bytes,
// by 4, by 2.
XGEMM_DEVICE gpu::Vector<std::uint32_t, 4> shifted(std::uint32_t (&words)[8], int before) {
  XGEMM_UNROLL
  for (int w = 0; w < 6; ++w) words[w] = before & 4 ? words[w + 2] : words[w];
  XGEMM_UNROLL
  for (int w = 0; w < 5; ++w) words[w] = before & 2 ? words[w + 1] : words[w];
  const int bits = before % 2 * 16;
  gpu::Vector<std::uint32_t, 4> result;
  XGEMM_UNROLL
  for (int w = 0; w < 4; ++w)
    result[w] = static_cast<std::uint32_t>((std::uint64_t{words[w + 1]} << 32 | words[w]) >> bits);
  return result;
}

// kLines lines of kLineBytes, 32, 64 or 128, which is also the width of the swizzle; by kThreads threads.
template <class Element, int kLines, int kLineBytes, int kThreads>
class LineLoader {
  using Vector = gpu::Vector<std::uint32_t, 4>;
  static constexpr int kElements = sizeof(Vector) / sizeof(Element);
  static constexpr int kLineChunks = kLineBytes / static_cast<int>(sizeof(Vector));
  static constexpr int kAtOnce = kThreads / kLineChunks;  // lines
  static constexpr int kCount = kLines / kAtOnce;         // chunks of a thread
  static_assert(sizeof(Element) == 2 && kLines % kAtOnce == 0 && kAtOnce * kLineBytes % 1024 == 0,
                "a thread's chunks lie alike, in global memory and in the swizzle");

 public:
  // source: lines so many elements apart, without gaps between them or not; the tile begins at (line, element).
  XGEMM_DEVICE static LineLoader make(const Element* source, std::int64_t stride, int line, int element, int thread,
                                      bool gapless) {
    LineLoader loader;
    loader.line_ = thread / kLineChunks;
    loader.element_ = thread % kLineChunks * kElements;
    loader.stride_ = stride;
    loader.source_ = source + (line + loader.line_) * stride + element + loader.element_;
    loader.before_ = static_cast<int>(reinterpret_cast<std::uintptr_t>(loader.source_) / sizeof(Element) % kElements);
    // Vectors reach no further than 7 elements in front of a chunk, and 15 behind its line.
    const bool first = element + loader.element_ < loader.before_;
    loader.starts_ =
        first && (!gapless || line + loader.line_ == 0 || (stride < kElements && line + loader.line_ < kElements));
    loader.lines_behind_ = !gapless ? kAll : stride >= 2 * kElements ? 1 : 2 * kElements;
    return loader;
  }

  // On to the tile so far away, a multiple of eight elements or lines.
  XGEMM_DEVICE void move(int lines, int elements) {
    source_ += lines * stride_ + elements;
    starts_ = starts_ && elements == 0 && lines_behind_ == kAll;
  }

  // Starts the loads of the tile. Of the operand there are so many lines from there on and, of each, `left` elements.
  XGEMM_DEVICE void fetch(int lines, int left) {
    left_ = left - element_;
    lines = left_ > 0 ? lines - line_ : 0;
    const bool two = before_ != 0 && left_ > kElements - before_;  // vectors have something of the chunk
    // The thread's last line, from its first one on.
    const int last = lines > kLines - kAtOnce ? kLines - kAtOnce : (lines - 1) / kAtOnce * kAtOnce;
    const bool ends = left_ < (two ? 2 : 1) * kElements - before_ && lines - 1 - last < lines_behind_;
    shifts_ = lines <= 0 || !(starts_ || ends);
    if (shifts_) {
      const Element* from = source_ - before_;
      XGEMM_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const bool inside = i * kAtOnce < lines;
        const auto* const vectors = reinterpret_cast<const Vector*>(from);
        const Vector low = gpu::read_if(inside, vectors), high = gpu::read_if(inside && two, vectors + 1);
        XGEMM_UNROLL
        for (int w = 0; w < 4; ++w) {
          words_[i][w] = low[w];
          words_[i][4 + w] = high[w];
        }
        from += kAtOnce * stride_;
      }
    } else {
      const auto* from = reinterpret_cast<const std::uint16_t*>(source_);
      XGEMM_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const int inside = i * kAtOnce < lines ? left_ : 0;
        XGEMM_UNROLL
        for (int e = 0; e < kElements; ++e) words_[i][e] = e < inside ? gpu::read<gpu::Space::global>(from + e) : 0;
        from += kAtOnce * stride_;
      }
    }
  }

  // The other half of fetch().
  XGEMM_DEVICE void deposit(Element* tile) {
    const int offset = line_ * kLineBytes + element_ * static_cast<int>(sizeof(Element));
    char* const place = reinterpret_cast<char*>(tile) + tma_swizzled<kLineBytes>(offset);
    const auto store = [&](int i, const Vector& chunk) {
      gpu::write<gpu::Space::shared>(reinterpret_cast<Vector*>(place + i * kAtOnce * kLineBytes), chunk);
    };
    if (shifts_) {
      XGEMM_UNROLL
      for (int i = 0; i < kCount; ++i) {
        Vector chunk = shifted(words_[i], before_);
        if (left_ < kElements) {
          XGEMM_UNROLL
          for (int w = 0; w < 4; ++w) chunk[w] = left_ > 2 * w + 1 ? chunk[w] : left_ > 2 * w ? chunk[w] & 0xffff : 0;
        }
        store(i, chunk);
      }
    } else {
      XGEMM_UNROLL
      for (int i = 0; i < kCount; ++i) {
        Vector chunk;
        XGEMM_UNROLL
        for (int w = 0; w < 4; ++w) chunk[w] = words_[i][2 * w] | words_[i][2 * w + 1] << 16;
        store(i, chunk);
      }
    }
  }

 private:
  static constexpr int kAll = 1 << 30;

  const Element* source_;  // the thread's first chunk
  std::int64_t stride_;    // from line to line
  int line_, element_;     // of that chunk, in the tile
  int before_;             // elements of its first vector that are not its own
  int lines_behind_;       // with so many lines of the operand behind it, a chunk's vectors reach nothing else
  int left_;               // elements of the line from the chunk on
  bool starts_;            // the chunk's first vector begins in front of the operand
  bool shifts_;
  std::uint32_t words_[kCount][8];
};

}  // namespace xgemm::kernels
