// A tile of C in shared memory, whose columns lie to vectors of 16 bytes as they do in C: whole vectors move as they
// are, and what shares one with something else element by element. Where nothing lies between the columns of C, the
// tile is one stretch of memory, here as there.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/kernel.cuh"

namespace xgemm::kernels {

// A tile of at most kRows x kCols.
template <class Element, int kRows, int kCols, int kThreads>
class LineImage {
  using Vector = gpu::Vector<std::uint32_t, 4>;
  static constexpr int kVector = 16 / sizeof(Element);
  static constexpr int kBanks = 32;  // columns are not half of these words apart, nor a multiple of it
  static_assert(kRows % kBanks == 0);

 public:
  struct Storage {
    alignas(128) Element data[kCols * (kRows + kVector) + kVector];
  };

  template <class View>
  XGEMM_DEVICE LineImage(Storage& storage, const View& c)
      : c_(c.data()), ld_(c.col_stride()), rows_(static_cast<int>(c.rows())), cols_(static_cast<int>(c.cols())) {
    pitch_ = rows_ + (static_cast<int>(ld_ - rows_) & (kVector - 1));
    if (pitch_ % kBanks == 0) pitch_ += kVector;
    shift_ = static_cast<int>(reinterpret_cast<std::uintptr_t>(c_) / sizeof(Element)) & (kVector - 1);
    first_ = storage.data + shift_;
  }

  XGEMM_DEVICE Element* at(int i, int j) const { return first_ + j * pitch_ + i; }

  XGEMM_DEVICE int rows() const { return rows_; }
  XGEMM_DEVICE int cols() const { return cols_; }
  XGEMM_DEVICE int pitch() const { return pitch_; }  // from a column to the next one

  XGEMM_DEVICE void load(Loc loc = Loc::current()) const {
    for_each_run(
        [&](auto size, int at, std::int64_t in_c) {
          using Part = std::conditional_t<decltype(size)::value == 1, Element, Vector>;
          gpu::write<Space::shared>(reinterpret_cast<Part*>(first_ + at),
                                    gpu::read<Space::global>(reinterpret_cast<const Part*>(c_ + in_c), loc), loc);
        },
        [&] {
          gpu::skip_load<Space::global>(loc);
          gpu::skip_store<Space::shared>(loc);
        });
  }
  XGEMM_DEVICE void store(Loc loc = Loc::current()) const {
    for_each_run(
        [&](auto size, int at, std::int64_t in_c) {
          using Part = std::conditional_t<decltype(size)::value == 1, Element, Vector>;
          gpu::write<Space::global>(reinterpret_cast<Part*>(c_ + in_c),
                                    gpu::read<Space::shared>(reinterpret_cast<const Part*>(first_ + at), loc), loc);
        },
        [&] {
          gpu::skip_load<Space::shared>(loc);
          gpu::skip_store<Space::global>(loc);
        });
  }

 private:
  XGEMM_DEVICE bool is_stretch() const { return ld_ == rows_ && pitch_ == rows_; }

  // Calls move(elements, where they begin here, and in C) for the whole vectors of each column, or of the stretch that
  // all of them are, and for the elements before and behind these; skip() of a thread that has none. Eight threads
  // share a column.
  template <class Move, class Skip>
  XGEMM_DEVICE void for_each_run(const Move& move, const Skip& skip) const {
    const int thread = gpu::thread_index();
    if (is_stretch()) {
      move_run<kThreads>(0, 0, cols_ * rows_, thread, move, skip);
    } else {
      XGEMM_NO_UNROLL
      for (int column = thread / kVector; column < cols_; column += kThreads / kVector)
        move_run<kVector>(column * pitch_, column * ld_, rows_, thread % kVector, move, skip);
    }
  }
  // By so many threads.
  template <int kTogether, class Move, class Skip>
  XGEMM_DEVICE void move_run(int at, std::int64_t in_c, int length, int place, const Move& move,
                             const Skip& skip) const {
    const int head = -(shift_ + at) & (kVector - 1), tail = length - ((shift_ + at + length) & (kVector - 1));
    XGEMM_NO_UNROLL
    for (int e = head + place * kVector; e < tail; e += kTogether * kVector) move(Int<kVector>{}, at + e, in_c + e);
    if (place < kVector) {
      const auto move_end = [&](int e, bool is_there) {
        if (is_there) {
          move(Int<1>{}, at + e, in_c + e);
        } else {
          skip();
        }
      };
      move_end(place, place < head && place < length);
      move_end(tail + place, tail + place >= head && tail + place < length);
    }
  }

  Element* c_;
  std::int64_t ld_;
  int rows_, cols_, pitch_, shift_;
  Element* first_;
};

}  // namespace xgemm::kernels
