// ShiftingLoader: slices of a 16-bit operand whose lines start anywhere (an odd leading dimension, a pointer to an odd
// element) into OperandTiles, through registers.
//
// Eight neighbouring threads share a line of 64 elements, a chunk of 16 bytes each. A thread reads the three aligned
// pieces of 8 bytes that its chunk's bytes lie in, and shifts:
//
//     source | . . a b | c d e f | g h . . |
//     chunk  | a b c d   e f g h |
//
// A thread's lines are a multiple of four apart, so that its chunks lie alike, and the same holds from slice to slice.
// Nothing outside the operand is read: a piece that reaches beyond an end of its line counts as zeros, and what of it
// is there, fewer than four elements at either end, is read by element, one by each thread of the line, and stored
// after the chunks. So all loads of a slice are under way at once.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/kernel.cuh"
#include "kernels/common/read_line.cuh"
#include "kernels/mma_swizzled/operand_tile.cuh"

namespace xgemm::kernels {

template <class View, class Tile, int kThreads>
class ShiftingLoader {
  using Element = typename Tile::Element;
  using Vector = gpu::Vector<std::uint32_t, 4>;
  using Piece = gpu::Vector<std::uint32_t, 2>;
  static constexpr bool kAlongK = Tile::kAlongK;
  static constexpr int kRun = Tile::kRun;
  static constexpr int kVector = sizeof(Vector) / sizeof(Element);
  static constexpr int kPiece = sizeof(Piece) / sizeof(Element);
  static constexpr int kPlaces = kRun / kVector;         // threads of a line
  static constexpr int kAtOnce = kThreads / kPlaces;     // lines
  static constexpr int kCount = Tile::kLines / kAtOnce;  // of a thread
  static_assert(sizeof(Element) == 2 && kCount * kAtOnce == Tile::kLines && kAtOnce % 8 == 0,
                "a thread's chunks lie alike, in global memory and in the tile");
  static_assert(kPlaces == 2 * kPiece && gpu::kWarpSize % kPlaces == 0, "a warp has lines, and threads for their ends");
  static_assert(std::is_same_v<typename Tile::Swizzle::Type, XorSwizzle<3, 3, 3>>, "as deposit() has it");

 public:
  // Slices of the rows from mn on.
  XGEMM_DEVICE ShiftingLoader(const View& operand, std::int64_t mn)
      : stride_(kAlongK ? operand.row_stride() : operand.col_stride()) {
    source_ = kAlongK ? operand.address(mn + line(), element()) : operand.address(mn + element(), line());
    mn_left_ = clamped(operand.rows() - mn);
    begins_ = kAlongK || mn == 0;
  }

  // Starts the loads of the next slice. `k_left` of K are left from there on.
  XGEMM_DEVICE void fetch(std::int64_t k_left, Loc loc = Loc::current()) {
    // Elements that are left of the slice's lines, and lines from the thread's first one on.
    const int left = kAlongK ? clamped(k_left) : mn_left_, lines = (kAlongK ? mn_left_ : clamped(k_left)) - line();
    const int before = this->before(), begin = element() - before;  // of the thread's pieces
    // The line's elements before its first piece, and where those behind the last one begin.
    const int head = begins_ ? -before & (kPiece - 1) : 0, tail = left - ((before + left) & (kPiece - 1));
    const int end = place() < kPiece ? place() : tail + place() - kPiece;
    const bool has_end = place() < kPiece ? end < head : end >= head;
    end_ = has_end && end < (left < kRun ? left : kRun) ? end : kRun;
    const int first = begins_ ? 0 : -kPiece;
    const Element* source = source_;
    XGEMM_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const int inside = i * kAtOnce < lines ? left : -kRun;
      const auto* const pieces = reinterpret_cast<const Piece*>(source - before);
      XGEMM_UNROLL
      for (int q = 0; q < kPieces; ++q)
        pieces_[i][q] =
            gpu::read_line_or_zero(pieces + q, begin + (q + 1) * kPiece <= inside && (q > 0 || begin >= first), loc);
      elements_[i] = gpu::read_line_or_zero(reinterpret_cast<const std::uint16_t*>(source - element() + end_),
                                            end_ < inside && end_ < kRun, loc);
      source += kAtOnce * stride_;
    }
    source_ += Tile::kK * (kAlongK ? std::int64_t{1} : stride_);
    if (kAlongK) begins_ = false;
  }

  // The other half of fetch().
  XGEMM_DEVICE void deposit(typename Tile::Storage& tile, Loc loc = Loc::current()) const {
    const int swizzle = line() % 8 * kVector;
    Element* const data = tile.data + line() * kRun;
    XGEMM_UNROLL
    for (int i = 0; i < kCount; ++i)
      gpu::write<Space::shared>(reinterpret_cast<Vector*>(data + i * kAtOnce * kRun + (element() ^ swizzle)),
                                shifted(pieces_[i]), loc);
    gpu::sync_warp();
    XGEMM_UNROLL
    for (int i = 0; i < kCount; ++i) {
      if (end_ < kRun) {
        gpu::write<Space::shared>(data + i * kAtOnce * kRun + (end_ ^ swizzle), Element{elements_[i]}, loc);
      } else {
        gpu::skip_store<Space::shared>(loc);
      }
    }
  }

 private:
  static constexpr int kPieces = 3;  // of a chunk

  XGEMM_DEVICE static unsigned thread() { return static_cast<unsigned>(gpu::thread_index()); }
  XGEMM_DEVICE static int line() { return static_cast<int>(thread() / kPlaces); }
  XGEMM_DEVICE static int place() { return static_cast<int>(thread() % kPlaces); }
  XGEMM_DEVICE static int element() { return place() * kVector; }
  // Elements of the thread's first pieces that lie before its chunks.
  XGEMM_DEVICE int before() const {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(source_) / sizeof(Element)) & (kPiece - 1);
  }
  // What is more than two tiles looks the same from here.
  XGEMM_DEVICE static int clamped(std::int64_t extent) {
    static_assert(Tile::kMn <= 64 && Tile::kK <= 64);
    return extent < 128 ? static_cast<int>(extent) : 128;
  }

  // By 4 bytes, by 2.
  XGEMM_DEVICE Vector shifted(const Piece (&pieces)[kPieces]) const {
    const int before = this->before();
    std::uint32_t words[2 * kPieces];
    XGEMM_UNROLL
    for (int w = 0; w < 2 * kPieces; ++w) words[w] = pieces[w / 2][w % 2];
    XGEMM_UNROLL
    for (int w = 0; w < 5; ++w) words[w] = before & 2 ? words[w + 1] : words[w];
    const int bits = before % 2 * 16;
    Vector chunk;
    XGEMM_UNROLL
    for (int w = 0; w < 4; ++w)
      chunk[w] = static_cast<std::uint32_t>((std::uint64_t{words[w + 1]} << 32 | words[w]) >> bits);
    return chunk;
  }

  const Element* source_;  // the thread's first chunk of the next slice
  std::int64_t stride_;    // between lines
  int mn_left_;
  bool begins_;  // the next slice is where lines begin
  int end_;      // where in a line the element lies that the thread has beside its chunk; kRun: nowhere
  Piece pieces_[kCount][kPieces];
  std::uint16_t elements_[kCount];
};

}  // namespace xgemm::kernels
