// A tile of C in shared memory, in columns that lie to vectors of 16 bytes as they do in C, wherever they start there:
// vectors move as they are, and only the elements before a column's first vector and behind its last one by themselves.
//
//     in C        . . . a b c d e | f g h i j k l m | n o p . . . . .
//     here        . . . a b c d e | f g h i j k l m | n o p . . . . .      a column each, with a vector's more room
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"

namespace xgemm::kernels {

template <class Element, int kRows, int kCols, int kThreads>
class AlignedOutput {
  using Vector = gpu::Vector<std::uint32_t, 4>;  // of whole elements: their words move as they are
  static constexpr int kVector = 16 / sizeof(Element);
  static constexpr int kPitch = kRows + kVector;
  static constexpr int kPlaces = kRows / kVector;     // threads that share a column
  static constexpr int kAtOnce = kThreads / kPlaces;  // columns
  static constexpr int kCount = kCols / kAtOnce;      // of a thread
  static_assert(kCount * kAtOnce == kCols && kAtOnce % kVector == 0, "a thread's columns lie alike");
  static_assert(kPlaces >= kVector - 1, "they are enough for what is left of a vector");

 public:
  struct Storage {
    alignas(128) Element data[kCols * kPitch];
  };

  // C's elements from (row, col) on.
  template <class View>
  XGEMM_DEVICE AlignedOutput(Storage& storage, const View& c, std::int64_t row, std::int64_t col, Fill fill)
      : data_(storage.data),
        c_(c.data()),
        ld_(c.col_stride()),
        rows_(c.rows()),
        cols_(c.cols()),
        diagonal_(static_cast<int>(clamped(col - row))),
        fill_(fill) {}

  // Where an element's column begins here.
  XGEMM_DEVICE Element* column(int j) const { return data_ + j * kPitch + shift(j); }

  // Reads all that is to be stored; zeros stand in for other elements.
  XGEMM_DEVICE void load(Loc loc = Loc::current()) const {
    if (is_whole()) {
      load_columns<true>(loc);
    } else {
      XGEMM_NO_UNROLL
      for (int i = gpu::thread_index(); i < kCols * kPitch / kVector; i += kThreads)
        gpu::write<Space::shared>(reinterpret_cast<Vector*>(data_) + i, Vector{}, loc);
      gpu::sync_threads();
      load_columns<false>(loc);
    }
    gpu::copy_async_wait<0>();
  }

  XGEMM_DEVICE void store(Loc loc = Loc::current()) const {
    if (is_whole()) {
      Vector vectors[kCount];
      Element ends[kCount];
      const Columns columns(*this);
      for_each_column<true>(columns, [&](int i, const Element* tile, Element*, const Part& part) {
        vectors[i] = read_if<Space::shared>(reinterpret_cast<const Vector*>(tile + part.vector), part.has_vector, loc);
        ends[i] = read_if<Space::shared>(tile + part.first, part.has_first, loc);
      });
      for_each_column<true>(columns, [&](int i, Element*, Element* c, const Part& part) {
        write_if<Space::global>(reinterpret_cast<Vector*>(c + part.vector), part.has_vector, vectors[i], loc);
        write_if<Space::global>(c + part.first, part.has_first, ends[i], loc);
      });
    } else {
      const Columns columns(*this);
      XGEMM_NO_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const Element* const tile = columns.tile(i);
        Element* const c = columns.c(i);
        const Part part = part_of(columns, i);
        const auto move = [&](int row, bool is_there, const auto* from, auto* to) {
          write_if<Space::global>(to + row, is_there, read_if<Space::shared>(from + row, is_there, loc), loc);
        };
        move(0, part.has_vector, reinterpret_cast<const Vector*>(tile + part.vector),
             reinterpret_cast<Vector*>(c + part.vector));
        move(part.first, part.has_first, tile, c);
        move(part.last, part.has_last, tile, c);
      }
    }
  }

 private:
  // What a thread has of a column: a vector, and an element before the first and one behind the last vector, by their
  // rows.
  struct Part {
    int vector, first, last;
    bool has_vector, has_first, has_last;
  };

  // The columns that a thread has a part of, and its place in them.
  struct Columns {
    XGEMM_DEVICE explicit Columns(const AlignedOutput& output) {
      const auto thread = static_cast<unsigned>(gpu::opaque(gpu::thread_index()));
      place = static_cast<int>(thread % kPlaces), first = static_cast<int>(thread / kPlaces);
      shift = output.shift(first);
      first_tile = output.data_ + first * kPitch + shift;
      first_c = output.c_ + first * output.ld_;
      step = kAtOnce * output.ld_;
    }
    XGEMM_DEVICE Element* tile(int i) const { return first_tile + i * kAtOnce * kPitch; }
    XGEMM_DEVICE Element* c(int i) const { return first_c + i * step; }

    int place, first, shift;
    Element *first_tile, *first_c;
    std::int64_t step;
  };

  // Whether all of the tile is to be stored.
  XGEMM_DEVICE bool is_whole() const { return rows_ == kRows && cols_ == kCols && fill_ == Fill::full; }

  // Of a column of a whole tile, which has a vector's worth of single elements or none: they count as first ones.
  XGEMM_DEVICE static Part part_of_whole(const Columns& columns) {
    const int head = -columns.shift & (kVector - 1), place = columns.place;
    Part part{};
    part.vector = head + place * kVector;
    part.has_vector = part.vector + kVector <= kRows;
    part.first = place < head ? place : kRows - kVector + place;
    part.has_first = head != 0 && place < kVector;
    return part;
  }
  XGEMM_DEVICE Part part_of(const Columns& columns, int i) const {
    const int j = columns.first + i * kAtOnce, place = columns.place, shift = columns.shift;
    // Rows of the column that are C's.
    const int begin = fill_ == Fill::lower && j + diagonal_ > 0 ? j + diagonal_ : 0;
    int end = fill_ == Fill::upper && j + diagonal_ + 1 < rows_ ? j + diagonal_ + 1 : rows_;
    if (j >= cols_) end = 0;
    const int head = begin + (-(shift + begin) & (kVector - 1));  // the first one that a vector begins with
    const int tail = end - ((shift + end) & (kVector - 1));
    Part part;
    part.vector = head + place * kVector;
    part.first = begin + place;
    part.last = tail + place;
    part.has_vector = part.vector + kVector <= end;
    part.has_first = part.first < (head < end ? head : end);
    part.has_last = part.last >= head && part.last < end;
    return part;
  }

  // f(number, the column here, the column in C, the thread's part)
  template <bool kWhole, class F>
  XGEMM_DEVICE void for_each_column(const Columns& columns, const F& f) const {
    const Part part = part_of_whole(columns);
    XGEMM_UNROLL
    for (int i = 0; i < kCount; ++i) f(i, columns.tile(i), columns.c(i), kWhole ? part : part_of(columns, i));
  }

  // All loads are under way at once.
  template <bool kWhole>
  XGEMM_DEVICE void load_columns(Loc loc) const {
    Element first[kCount], last[kCount];
    for_each_column<kWhole>(Columns(*this), [&](int i, Element* tile, const Element* c, const Part& part) {
      if (part.has_vector) {
        gpu::copy_async<16>(tile + part.vector, c + part.vector, 16, loc);
      } else {
        gpu::skip_load<Space::global>(loc);
      }
      first[i] = read_if<Space::global>(c + part.first, part.has_first, loc);
      if (!kWhole) last[i] = read_if<Space::global>(c + part.last, part.has_last, loc);
    });
    gpu::copy_async_commit();
    for_each_column<kWhole>(Columns(*this), [&](int i, Element* tile, const Element*, const Part& part) {
      write_if<Space::shared>(tile + part.first, part.has_first, first[i], loc);
      if (!kWhole) write_if<Space::shared>(tile + part.last, part.has_last, last[i], loc);
    });
  }

  XGEMM_DEVICE int shift(int j) const {
    const auto address = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(c_) / sizeof(Element));
    return static_cast<int>((address + static_cast<unsigned>(j) * static_cast<unsigned>(ld_)) & (kVector - 1));
  }
  XGEMM_DEVICE static std::int64_t clamped(std::int64_t x) {
    constexpr std::int64_t kFar = 2 * (kRows + kCols);
    return x < -kFar ? -kFar : x > kFar ? kFar : x;
  }
  template <Space kSpace, class T>
  XGEMM_DEVICE static T read_if(const T* from, bool is_there, Loc loc) {
    if (is_there) return gpu::read<kSpace>(from, loc);
    gpu::skip_load<kSpace>(loc);
    return {};
  }
  template <Space kSpace, class T>
  XGEMM_DEVICE static void write_if(T* to, bool is_there, const T& value, Loc loc) {
    if (is_there) {
      gpu::write<kSpace>(to, value, loc);
    } else {
      gpu::skip_store<kSpace>(loc);
    }
  }

  Element* data_;
  Element* c_;
  std::int64_t ld_;
  int rows_, cols_;
  int diagonal_;  // the row on C's diagonal in the tile's first column
  Fill fill_;
};

}  // namespace xgemm::kernels
