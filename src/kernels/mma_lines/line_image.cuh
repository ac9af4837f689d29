// A tile of C in shared memory, whose columns lie to vectors of 16 bytes as they do in C: whole vectors move as they
// are, and what shares one with something else element by element. Where nothing lies between the columns of C, the
// tile is one stretch of memory, here as there.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/mma_lines/instances.h"

namespace xgemm::kernels {

// A tile of at most kRows x kCols.
template <class Element, int kRows, int kCols, int kThreads>
class LineImage {
  using Vector = gpu::Vector<std::uint32_t, 4>;
  static constexpr int kVector = 16 / sizeof(Element);
  static_assert(kRows % MmaLinesPitch::kBanks == 0, "the longest pitch is a vector more");

 public:
  struct Storage {
    alignas(128) Element data[kCols * (kRows + kVector) + kVector];
  };

  template <class View>
  XGEMM_DEVICE LineImage(Storage& storage, const View& c)
      : c_(c.data()), ld_(c.col_stride()), rows_(static_cast<int>(c.rows())), cols_(static_cast<int>(c.cols())) {
    pitch_ = rows_ + (static_cast<int>(ld_ - rows_) & (kVector - 1));
    if (!MmaLinesPitch::is_stretch(pitch_)) pitch_ += kVector;
    shift_ = static_cast<int>(reinterpret_cast<std::uintptr_t>(c_) / sizeof(Element)) & (kVector - 1);
    first_ = storage.data + shift_;
  }

  XGEMM_DEVICE Element* at(int i, int j) const { return first_ + j * pitch_ + i; }

  XGEMM_DEVICE int rows() const { return rows_; }
  XGEMM_DEVICE int cols() const { return cols_; }
  XGEMM_DEVICE int pitch() const { return pitch_; }  // from a column to the next one
  // Whether rows that follow one another, from an even one on, are a word in every column.
  XGEMM_DEVICE bool in_pairs() const { return ((shift_ | pitch_ | rows_) & 1) == 0; }

  XGEMM_DEVICE void load(Loc loc = Loc::current()) const { move<true>(loc); }
  XGEMM_DEVICE void store(Loc loc = Loc::current()) const { move<false>(loc); }

 private:
  XGEMM_DEVICE bool is_stretch() const { return ld_ == rows_ && pitch_ == rows_; }

  // Moves the whole vectors of each column, or of the stretch that all of them are, and the elements before and behind
  // these: from C, or to it. Eight threads share a column.
  template <bool kLoads>
  XGEMM_DEVICE void move(Loc loc) const {
    const int thread = gpu::thread_index();
    if (is_stretch()) {
      move_run<kLoads, kThreads>(0, 0, cols_ * rows_, thread, loc);
    } else {
      XGEMM_NO_UNROLL
      for (int column = thread / kVector; column < cols_; column += kThreads / kVector)
        move_run<kLoads, kVector>(column * pitch_, column * ld_, rows_, thread % kVector, loc);
    }
  }
  // What begins at elements `at` here and in_c of C, by kTogether threads.
  template <bool kLoads, int kTogether>
  XGEMM_DEVICE void move_run(int at, std::int64_t in_c, int length, int place, Loc loc) const {
    const int head = -(shift_ + at) & (kVector - 1), tail = length - ((shift_ + at + length) & (kVector - 1));
    XGEMM_NO_UNROLL
    for (int e = head + place * kVector; e < tail; e += kTogether * kVector)
      move_part<kLoads, Vector>(at + e, in_c + e, true, loc);
    if (place < kVector) {
      move_part<kLoads, Element>(at + place, in_c + place, place < head && place < length, loc);
      const int e = tail + place;
      move_part<kLoads, Element>(at + e, in_c + e, e >= head && e < length, loc);
    }
  }
  template <bool kLoads, class Part>
  XGEMM_DEVICE void move_part(int at, std::int64_t in_c, bool is_there, Loc loc) const {
    constexpr Space kFrom = kLoads ? Space::global : Space::shared, kTo = kLoads ? Space::shared : Space::global;
    if (is_there) {
      auto* const here = reinterpret_cast<Part*>(first_ + at);
      auto* const there = reinterpret_cast<Part*>(c_ + in_c);
      gpu::write<kTo>(kLoads ? here : there, gpu::read<kFrom>(kLoads ? there : here, loc), loc);
    } else {
      gpu::skip_load<kFrom>(loc);
      gpu::skip_store<kTo>(loc);
    }
  }

  Element* c_;
  std::int64_t ld_;
  int rows_, cols_, pitch_, shift_;
  Element* first_;
};

}  // namespace xgemm::kernels
