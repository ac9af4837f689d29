// How a batch is computed whose matrices are found by pointers, where no kernel finds them (runtime/device_gemm.cc). On
// the host each is a product of its own. On a GPU the matrices are copied to a buffer, as many entries at once as it
// holds, as a strided batch that every kernel and every epilogue serves, and C is copied back. Pure.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/finishing.h"
#include "core/problem.h"
#include "core/scattering.h"

namespace xgemm {

// A matrix in the buffer: columns a multiple of 16 bytes apart.
struct CopiedMatrix {
  std::int64_t rows, columns, ld;
  DType type;

  static CopiedMatrix of(std::int64_t rows, std::int64_t columns, DType type) {
    const std::int64_t vector = 16 / size_of(type);
    return {rows, columns, (rows + vector - 1) / vector * vector, type};
  }
  std::int64_t elements() const { return ld * columns; }
  // More than can be had is not counted.
  std::int64_t bytes() const {
    constexpr std::int64_t kMost = std::int64_t{1} << 60;
    const double all = double(ld) * double(columns) * size_of(type);
    return all < double(kMost) ? elements() * size_of(type) : kMost;
  }
};

// Of an entry. Inputs that are not read are empty.
struct CopiedEntry {
  CopiedMatrix a, b, c;

  explicit CopiedEntry(const Problem& p)
      : a(input(p, p.a, p.m, p.k)), b(input(p, p.b, p.k, p.n)), c(CopiedMatrix::of(p.m, p.n, p.c.type)) {}
  std::int64_t bytes() const { return a.bytes() + b.bytes() + c.bytes(); }

 private:
  // rows, columns: of op(X).
  static CopiedMatrix input(const Problem& p, const InputMatrix& x, std::int64_t rows, std::int64_t columns) {
    if (!p.reads_inputs()) rows = columns = 0;
    return x.op == Op::none ? CopiedMatrix::of(rows, columns, x.type) : CopiedMatrix::of(columns, rows, x.type);
  }
};

inline std::int64_t entries_at_once(const Problem& p) {
  const std::int64_t one = std::max<std::int64_t>(1, CopiedEntry(p).bytes());
  return std::clamp<std::int64_t>(kMostBufferedBytes / one, 1, p.batch_count);
}

// Some entries, still by their pointers.
inline Problem some_entries(const Problem& all, std::int64_t first, std::int64_t count) {
  Problem p = columns_of(all, 0, all.n, first, count);
  p.a.data = all.a.data == nullptr ? nullptr : static_cast<const void* const*>(all.a.data) + first;
  p.b.data = all.b.data == nullptr ? nullptr : static_cast<const void* const*>(all.b.data) + first;
  p.c.data = static_cast<void**>(all.c.data) + first;
  return p;
}

// Some entries as a strided batch in the buffer.
inline Problem copied_entries(const Problem& all, std::int64_t first, std::int64_t count, void* buffer) {
  Problem p = some_entries(all, first, count);
  const CopiedEntry entry(all);
  p.batch_kind = BatchKind::strided;
  char* to = static_cast<char*>(buffer);
  const auto place = [&](auto& x, const CopiedMatrix& copy) {
    x.data = to, x.ld = std::max<std::int64_t>(1, copy.ld), x.step = 1;
    x.batch_stride = p.batch_count > 1 ? copy.elements() : 0;
    to += copy.bytes() * p.batch_count;
  };
  place(p.a, entry.a), place(p.b, entry.b), place(p.c, entry.c);
  return p;
}

// An entry whose pointers are in host memory, as a product of its own.
inline Problem entry_of(const Problem& all, std::int64_t index) {
  Problem p = columns_of(all, 0, all.n, index, 1);
  p.batch_kind = BatchKind::strided;
  if (all.reads_inputs()) {
    p.a.data = static_cast<const void* const*>(all.a.data)[index];
    p.b.data = static_cast<const void* const*>(all.b.data)[index];
  }
  p.c.data = static_cast<void* const*>(all.c.data)[index];
  Epilogue& e = p.epilogue;
  if (e.old_c == p.c.data) e.old_c = nullptr, e.ld_old_c = e.stride_old_c = 0;  // C itself
  return p;
}

}  // namespace xgemm
