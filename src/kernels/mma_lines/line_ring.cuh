// The streamed operand of mma_lines in shared memory: a ring of slots, each with a slice along k of a tile's lines.
// Lines lie in a slot to vectors of 16 bytes as they do in memory, and come by those vectors (cp.async). Lines that
// follow one another in memory without a gap are one stretch, and do so here as well; others are kept apart, so that no
// vector has a part of two.
//
//     memory      . . a a a a a b | b b b b c c c c | c . . .         lines of five elements
//     slot        0 0 a a a a a b | b b b b c c c c | c 0 0 0
//
// Nothing is read but the operand: of a vector that begins before it, element by element, and of one that ends behind
// it, what of it is there. Zeros stand in for the rest.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/mma_lines/instances.h"

namespace xgemm::kernels {

// kLines: of a tile. kDepth: the most elements of a line in a slice.
template <class Element, int kLines, int kDepth, int kRingBytes, int kThreads>
class LineRing {
  using Vector = gpu::Vector<std::uint32_t, 4>;
  static constexpr int kVector = sizeof(Vector) / sizeof(Element);
  static_assert(sizeof(Element) == 2);

 public:
  struct Storage {
    alignas(128) Element data[kRingBytes / sizeof(Element)];
  };

  // x: as lines along k, `lines` of them in each of so many entries of a batch. depth: of K.
  XGEMM_DEVICE LineRing(Storage& storage, const ConstMatrixArg& x, std::int64_t lines, std::int64_t depth,
                        unsigned entries)
      : storage_(storage.data), x_(x), lines_(lines) {
    constexpr MmaLinesPitch of_slots = {kLines, kRingBytes};
    const bool stretch = depth <= kDepth && (depth == 1 || x.col_stride == 1) && x.row_stride == depth &&
                         MmaLinesPitch::is_stretch(depth);
    const int most = static_cast<int>(depth < kDepth ? depth : kDepth);
    along_k_ = depth == 1 || x.col_stride == 1;
    pitch_ = of_slots.pitch(most, along_k_ ? x.row_stride : 0, stretch);
    slot_ = of_slots.slot_elements(pitch_);
    stages_ = of_slots.stages(slot_);
    stretch_ = stretch;
    joint_ = x.batch_stride == lines * depth;
    last_ = static_cast<const Element*>(x.data) + (entries - 1) * x.batch_stride + lines * depth;
  }

  XGEMM_DEVICE int stages() const { return stages_; }
  XGEMM_DEVICE int pitch() const { return pitch_; }  // from a line to the next one, in elements
  XGEMM_DEVICE Element* slot(int stage) const { return storage_ + stage * slot_; }
  // Where the first line begins in its slot.
  XGEMM_DEVICE int first(std::int64_t entry, std::int64_t line, std::int64_t k) const {
    return along_k_ ? offset(at(entry, line, k)) : 0;
  }

  // Starts the copies of what there is of a tile's lines, from `first` on, and of `depth` of K, from k on.
  XGEMM_DEVICE void copy(int stage, std::int64_t entry, std::int64_t first, std::int64_t k, int depth,
                         Loc loc = Loc::current()) const {
    const Element* const from = at(entry, first, k);
    const int lines = static_cast<int>(lines_ - first < kLines ? lines_ - first : kLines);
    Element* const to = slot(stage) + this->first(entry, first, k);
    const int thread = gpu::thread_index();
    if (stretch_) {
      const int length = lines * depth, before = offset(from);
      const Element* const begin = joint_ ? static_cast<const Element*>(x_.data) : at(entry, 0, 0);
      const std::int64_t there_before = from - begin, there = (joint_ ? last_ : begin + lines_ * depth) - from;
      const int first_vector = thread * kVector - before;
      if (there_before >= before && there >= length + kVector - 1) {
        const Element* source = from + first_vector;
        XGEMM_NO_UNROLL
        for (int e = first_vector; e < length; e += kThreads * kVector, source += kThreads * kVector)
          gpu::copy_async<sizeof(Vector)>(to + e, source, sizeof(Vector), loc);
      } else {
        XGEMM_NO_UNROLL
        for (int e = first_vector; e < length; e += kThreads * kVector)
          copy_vector(to + e, from + e, e + there_before < 0 ? -e : 0,
                      static_cast<int>(there - e < kVector ? there - e : kVector), loc);
      }
    } else if (along_k_) {
      copy_lines(to, from, lines, depth, loc);
    } else {
      const int whole = (depth + 1) / 2 * 2;  // of pairs
      XGEMM_NO_UNROLL
      for (int e = thread; e < lines * whole; e += kThreads) {
        const int line = e % lines, i = e / lines;
        const auto* const element =
            reinterpret_cast<const std::uint16_t*>(from + line * x_.row_stride + i * x_.col_stride);
        gpu::write<Space::shared>(to + line * pitch_ + i, Element{gpu::read_line_or_zero(element, i < depth, loc)},
                                  loc);
      }
    }
  }

 private:
  XGEMM_DEVICE const Element* at(std::int64_t entry, std::int64_t line, std::int64_t k) const {
    return static_cast<const Element*>(x_.data) + entry * x_.batch_stride + line * x_.row_stride + k * x_.col_stride;
  }
  XGEMM_DEVICE static int offset(const Element* at) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(at) / sizeof(Element)) & (kVector - 1);
  }

  // Eight threads share a line. Each brings an element of the vector that the line begins in, if that is no whole one,
  // and every eighth of the others.
  XGEMM_DEVICE void copy_lines(Element* to, const Element* from, int lines, int depth, Loc loc) const {
    constexpr int kAtOnce = kThreads / kVector, kNumber = kLines / kAtOnce;
    static_assert(kNumber * kAtOnce == kLines);
    const int first = gpu::thread_index() / kVector, place = gpu::thread_index() % kVector;
    std::uint16_t elements[kNumber];
    XGEMM_UNROLL
    for (int i = 0; i < kNumber; ++i) {
      const int line = first + i * kAtOnce;
      const Element* const of_line = from + line * x_.row_stride;
      const int e = place - offset(of_line);
      elements[i] = gpu::read_line_or_zero(reinterpret_cast<const std::uint16_t*>(of_line + e),
                                           line < lines && offset(of_line) != 0 && e >= 0 && e < depth, loc);
      if (line < lines) {
        XGEMM_NO_UNROLL
        for (int v = e - place + (offset(of_line) != 0 ? kVector : 0) + place * kVector; v < depth;
             v += kVector * kVector)
          gpu::copy_async<sizeof(Vector)>(to + line * pitch_ + v, of_line + v,
                                          (depth - v < kVector ? depth - v : kVector) * 2, loc);
      }
    }
    XGEMM_UNROLL
    for (int i = 0; i < kNumber; ++i) {
      const int line = first + i * kAtOnce, before = offset(from + line * x_.row_stride);
      if (line < lines && before != 0) {
        gpu::write<Space::shared>(to + line * pitch_ + place - before, Element{elements[i]}, loc);
      } else {
        gpu::skip_store<Space::shared>(loc);
      }
    }
  }

  // The elements from begin to end of a vector, and zeros.
  XGEMM_DEVICE static void copy_vector(Element* to, const Element* from, int begin, int end, Loc loc) {
    if (begin == 0) {
      gpu::copy_async<sizeof(Vector)>(to, from, end * static_cast<int>(sizeof(Element)), loc);
      return;
    }
    XGEMM_NO_UNROLL
    for (int i = 0; i < kVector; ++i) {
      const auto* const element = reinterpret_cast<const std::uint16_t*>(from) + i;
      gpu::write<Space::shared>(to + i, Element{gpu::read_line_or_zero(element, i >= begin && i < end, loc)}, loc);
    }
  }

  Element* storage_;
  const ConstMatrixArg& x_;
  const Element* last_;  // behind the last entry's last line, where entries follow one another
  std::int64_t lines_;
  int pitch_, slot_, stages_;
  bool along_k_, stretch_, joint_;
};

}  // namespace xgemm::kernels
