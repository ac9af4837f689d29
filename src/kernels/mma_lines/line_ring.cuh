// The streamed operand of mma_lines in shared memory: a ring of slots, each with a slice along k of some lines.
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

// kLines: the most of a slot. kDepth: the most elements of a line in a slice. kThreads: of the CTA, or of a warp with a
// ring of its own.
template <class Element, int kLines, int kDepth, int kThreads>
class LineRing {
  using Vector = gpu::Vector<std::uint32_t, 4>;
  static constexpr int kVector = sizeof(Vector) / sizeof(Element);
  static_assert(sizeof(Element) == 2);

 public:
  // How slots hold lines of x, which is seen as lines along k, of so many elements.
  struct Lie {
    int pitch;
    bool along_k, stretch;
  };
  XGEMM_DEVICE static Lie lie_of(const ConstMatrixArg& x, std::int64_t depth) {
    const bool stretch = depth <= kDepth && (depth == 1 || x.col_stride == 1) && x.row_stride == depth &&
                         MmaLinesPitch::is_stretch(depth);
    const bool along_k = depth == 1 || x.col_stride == 1;
    return {MmaLinesPitch::pitch(most_of(depth), along_k ? x.row_stride : 0, stretch), along_k, stretch};
  }
  // The elements of a line in a slice, where so many are left of K.
  XGEMM_DEVICE static int most_of(std::int64_t left) { return static_cast<int>(left < kDepth ? left : kDepth); }

  // storage: bytes for slots of so many lines. x: as lines along k, `lines` of them in each of so many entries of a
  // batch. depth: of K.
  XGEMM_DEVICE LineRing(Element* storage, int bytes, int slot_lines, const ConstMatrixArg& x, const Lie& lie,
                        std::int64_t lines, std::int64_t depth, unsigned entries)
      : storage_(storage), x_(x), lines_(lines), lie_(lie) {
    slot_ = MmaLinesPitch::slot_elements(slot_lines, lie.pitch);
    stages_ = MmaLinesPitch::stages(bytes, slot_);
    joint_ = x.batch_stride == lines * depth;
    last_ = static_cast<const Element*>(x.data) + (entries - 1) * x.batch_stride + lines * depth;
  }

  XGEMM_DEVICE int stages() const { return stages_; }
  XGEMM_DEVICE int pitch() const { return lie_.pitch; }  // from a line to the next one, in elements
  XGEMM_DEVICE Element* slot(int stage) const { return storage_ + stage * slot_; }
  // Where the first line begins in its slot.
  XGEMM_DEVICE int first(std::int64_t entry, std::int64_t line, std::int64_t k) const {
    return lie_.along_k ? offset(at(entry, line, k)) : 0;
  }

  // Starts the copies of what there is of so many lines, from `first` on, and of `depth` of K, from k on.
  XGEMM_DEVICE void copy(int stage, std::int64_t entry, std::int64_t first, int most, std::int64_t k, int depth,
                         Loc loc = Loc::current()) const {
    const Element* const from = at(entry, first, k);
    const int lines = static_cast<int>(lines_ - first < most ? lines_ - first : most);
    Element* const to = slot(stage) + this->first(entry, first, k);
    const int thread = thread_index();
    if (lie_.stretch) {
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
    } else if (lie_.along_k) {
      copy_lines(to, from, lines, depth, loc);
    } else {
      constexpr int kTogether = MmaLinesPitch::kElementsTogether;
      const int whole = lines * ((depth + 1) / 2 * 2);  // of pairs
      XGEMM_NO_UNROLL
      for (int e = thread; e < whole; e += kThreads * kTogether) {
        std::uint16_t elements[kTogether];
        XGEMM_UNROLL
        for (int j = 0; j < kTogether; ++j) {
          const int line = (e + j * kThreads) % lines, i = (e + j * kThreads) / lines;
          elements[j] = gpu::read_line_or_zero(
              reinterpret_cast<const std::uint16_t*>(from + line * x_.row_stride + i * x_.col_stride), i < depth, loc);
        }
        XGEMM_UNROLL
        for (int j = 0; j < kTogether; ++j) {
          const int line = (e + j * kThreads) % lines, i = (e + j * kThreads) / lines;
          if (e + j * kThreads < whole) {
            gpu::write<Space::shared>(to + line * lie_.pitch + i, Element{elements[j]}, loc);
          } else {
            gpu::skip_store<Space::shared>(loc);
          }
        }
      }
    }
  }

  // Until at most so many of the newest groups of copies are on their way.
  XGEMM_DEVICE static void wait_for_all_but(int groups) {
    static_assert(MmaLinesPitch::kMostStages == 6);
    switch (groups) {
      case 5:
        return gpu::copy_async_wait<5>();
      case 4:
        return gpu::copy_async_wait<4>();
      case 3:
        return gpu::copy_async_wait<3>();
      case 2:
        return gpu::copy_async_wait<2>();
      case 1:
        return gpu::copy_async_wait<1>();
      default:
        return gpu::copy_async_wait<0>();
    }
  }

 private:
  XGEMM_DEVICE static int thread_index() {
    return kThreads == gpu::kWarpSize ? gpu::lane_index() : gpu::thread_index();
  }
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
    const int first = thread_index() / kVector, place = thread_index() % kVector;
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
          gpu::copy_async<sizeof(Vector)>(to + line * lie_.pitch + v, of_line + v,
                                          (depth - v < kVector ? depth - v : kVector) * 2, loc);
      }
    }
    XGEMM_UNROLL
    for (int i = 0; i < kNumber; ++i) {
      const int line = first + i * kAtOnce, before = offset(from + line * x_.row_stride);
      if (line < lines && before != 0) {
        gpu::write<Space::shared>(to + line * lie_.pitch + place - before, Element{elements[i]}, loc);
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
  ConstMatrixArg x_;
  const Element* last_;  // behind the last entry's last line, where entries follow one another
  std::int64_t lines_;
  Lie lie_;
  int slot_, stages_;
  bool joint_;
};

}  // namespace xgemm::kernels
