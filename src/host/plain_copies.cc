// The copies, in loops along the axis on which the plain side is contiguous.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/plain_copies.h"

#include <cstdint>

#include "core/fill.h"

namespace xgemm::host {
namespace {

using std::int64_t;

// Elements in memory: of A or B as stored, or of C.
struct Elements {
  void* data;
  int64_t step, ld, batch_stride;
};

Elements elements_of(const InputMatrix& x) {
  return {const_cast<void*>(x.data), x.step, x.ld, x.batch_stride};
}
Elements elements_of(const OutputMatrix& x) {
  return {x.data, x.step, x.ld, x.batch_stride};
}

// How many elements are copied.
struct Extents {
  int64_t rows, cols, entries;
  DType type;
  Fill fill = Fill::full;

  // No number of bytes that is too large to count can be had.
  int64_t bytes() const {
    const double all = double(rows) * double(cols) * double(entries) * size_of(type);
    return all < 0x1p62 ? rows * cols * entries * size_of(type) : int64_t{1} << 62;
  }
};

Extents extents_of_a(const Problem& p) {
  return {p.a_rows(), p.a_cols(), p.shares(p.a) ? 1 : p.batch_count, p.a.type};
}
Extents extents_of_b(const Problem& p) {
  return {p.b_rows(), p.b_cols(), p.shares(p.b) ? 1 : p.batch_count, p.b.type};
}
Extents extents_of_c(const Problem& p) {
  return {p.m, p.n, p.batch_count, p.c.type, p.fill};
}

// Bits are copied: a NaN keeps its own.
template <class Word>
void copy(const Elements& x, const Elements& y, const Extents& e) {
  for (int64_t entry = 0; entry < e.entries; ++entry)
    for (int64_t j = 0; j < e.cols; ++j) {
      const Word* const from = static_cast<const Word*>(x.data) + entry * x.batch_stride + j * x.ld;
      Word* const to = static_cast<Word*>(y.data) + entry * y.batch_stride + j * y.ld;
      const auto [begin, end] = rows_of_column(e.fill, j, e.rows);
      for (int64_t i = begin; i < end; ++i) to[i * y.step] = from[i * x.step];
    }
}

void copy(const Elements& x, const Elements& y, const Extents& e) {
  switch (size_of(e.type)) {
    case 2:
      return copy<std::uint16_t>(x, y, e);
    case 4:
      return copy<std::uint32_t>(x, y, e);
    default:
      return copy<std::uint64_t>(x, y, e);
  }
}

// The matrix becomes a plain one in the buffer.
template <class Matrix>
void place(Matrix& x, std::byte* buffer, const Extents& e) {
  x.data = buffer;
  x.ld = e.rows;
  x.step = 1;
  if (x.batch_stride != 0) x.batch_stride = e.rows * e.cols;
}

}  // namespace

Operands not_plain(const Problem& p) {
  return {p.reads_inputs() && !p.has_plain_a(), p.reads_inputs() && !p.has_plain_b(), !p.has_plain_c()};
}

PlainCopies::PlainCopies(const Problem& p, Operands copied)
    : original_(p),
      plain_(p),
      copies_c_(copied.c),
      a_(copied.a ? extents_of_a(p).bytes() : 0),
      b_(copied.b ? extents_of_b(p).bytes() : 0),
      c_(copied.c ? extents_of_c(p).bytes() : 0) {
  if (!ok()) return;
  if (copied.a) {
    place(plain_.a, a_.data(), extents_of_a(p));
    copy(elements_of(p.a), elements_of(plain_.a), extents_of_a(p));
  }
  if (copied.b) {
    place(plain_.b, b_.data(), extents_of_b(p));
    copy(elements_of(p.b), elements_of(plain_.b), extents_of_b(p));
  }
  if (copied.c) {
    place(plain_.c, c_.data(), extents_of_c(p));
    if (p.reads_c() && p.epilogue.old_c == nullptr) copy(elements_of(p.c), elements_of(plain_.c), extents_of_c(p));
  }
}

void PlainCopies::write_back() const noexcept {
  if (copies_c_) copy(elements_of(plain_.c), elements_of(original_.c), extents_of_c(original_));
}

}  // namespace xgemm::host
