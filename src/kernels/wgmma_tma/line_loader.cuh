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
  // source: of `lines` lines of `length` elements, so many elements apart; the first tile begins at (line, element).
  XGEMM_DEVICE static LineLoader make(const Element* source, std::int64_t stride, int lines, int length, int line,
                                      int element, int thread) {
    LineLoader loader;
    loader.line_ = thread / kLineChunks;
    loader.element_ = thread % kLineChunks * kElements;
    loader.compact_ = stride == length;
    loader.stride_ = stride;
    const Element* const own = source + (line + loader.line_) * stride;
    loader.source_ = own + element + loader.element_;
    loader.before_ = static_cast<int>(reinterpret_cast<std::uintptr_t>(loader.source_) / sizeof(Element) % kElements);
    loader.begin_ = loader.compact_ ? source : own;
    loader.end_ = loader.compact_ ? source + lines * stride : own + length;
    return loader;
  }

  // Starts the loads of the tile that lies so many lines and elements from the first one. Of it there are `lines` lines
  // and, of each, `left` elements.
  XGEMM_DEVICE void fetch(int far_lines, int far_elements, int lines, int left) {
    const std::int64_t far = far_lines * stride_;
    const Element* source = source_ + far + far_elements;
    lines -= line_;
    left_ = left - element_;
    const std::int64_t between = compact_ ? (lines < kLines ? lines - 1 : kLines - 1) / kAtOnce * kAtOnce * stride_ : 0;
    const std::int64_t moved = compact_ ? 0 : far;
    shifts_ = source - before_ >= begin_ + moved &&
              source + between + (before_ == 0 ? kElements : 2 * kElements - before_) <= end_ + moved;
    if (shifts_) {
      source -= before_;
      XGEMM_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const bool inside = i * kAtOnce < lines;
        const auto* const vectors = reinterpret_cast<const Vector*>(source);
        const Vector low = inside ? gpu::read<gpu::Space::global>(vectors) : Vector{};
        const Vector high = inside && before_ != 0 ? gpu::read<gpu::Space::global>(vectors + 1) : Vector{};
        XGEMM_UNROLL
        for (int w = 0; w < 4; ++w) {
          words_[i][w] = low[w];
          words_[i][4 + w] = high[w];
        }
        source += kAtOnce * stride_;
      }
    } else {
      XGEMM_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const int inside = i * kAtOnce < lines ? left_ : 0;
        XGEMM_UNROLL
        for (int e = 0; e < kElements; ++e)
          words_[i][e] =
              e < inside ? gpu::read<gpu::Space::global>(reinterpret_cast<const std::uint16_t*>(source + e)) : 0;
        source += kAtOnce * stride_;
      }
    }
  }

  // The other half of fetch().
  XGEMM_DEVICE void deposit(Element* tile) {
    const int offset = line_ * kLineBytes + element_ * static_cast<int>(sizeof(Element));
    char* const place = reinterpret_cast<char*>(tile) + (offset ^ (offset >> 3 & (kLineBytes - 16)));
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
  const Element* source_;        // the thread's first chunk of the first tile
  const Element *begin_, *end_;  // of what may be read: of its line there, or of the matrix
  std::int64_t stride_;          // from line to line
  int line_, element_;           // of that chunk
  int before_;                   // elements of its first vector that are not its own
  int left_;                     // elements of the line from the chunk on
  bool compact_;                 // lines without gaps
  bool shifts_;
  std::uint32_t words_[kCount][8];
};

}  // namespace xgemm::kernels
