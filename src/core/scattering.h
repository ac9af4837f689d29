// How a product is computed whose C is not plain (core/problem.h), since no kernel writes such a C: part by part in a
// buffer, from which the elements are then scattered. Each part is a product with a plain C, so that every kernel and
// every epilogue serves, and elements are rounded as they would be. Pure.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/finishing.h"
#include "core/problem.h"
#include "core/status.h"
#include "core/triangle.h"

namespace xgemm {

// A column of the buffer, in elements: a multiple of 16 bytes.
inline std::int64_t buffered_column(const Problem& p) {
  const std::int64_t vector = 16 / size_of(p.c.type);
  return (p.m + vector - 1) / vector * vector;
}

inline std::int64_t buffered_bytes(const Problem& p) {
  return buffered_column(p) * p.n * p.batch_count * size_of(p.c.type);
}

// The product with its C in the buffer.
inline Problem with_buffered_c(const Problem& problem, void* buffer) {
  Problem p = problem;
  p.c = {problem.c.type, buffer, buffered_column(problem), p.batch_count > 1 ? buffered_column(problem) * p.n : 0};
  return p;
}

// Whether what C holds before is moved to the buffer: an old C elsewhere is read where it is.
inline bool gathers_c(const Problem& p) {
  return p.reads_c() && p.epilogue.old_c == nullptr;
}

// Calls visit(problem) -> Status for parts of a product that cover it, whose buffers take no more than `most` bytes.
template <class Visit>
Status for_each_buffered_part(const Problem& p, std::int64_t most, const Visit& visit) {
  const double bytes = double(buffered_column(p)) * double(p.n) * double(p.batch_count) * double(size_of(p.c.type));
  if (bytes <= double(most) || (p.n == 1 && p.batch_count == 1)) return visit(p);
  const auto half = [](std::int64_t x) { return x > 256 ? (x / 2 + 127) / 128 * 128 : (x + 1) / 2; };
  if (p.batch_count > 1 || p.fill == Fill::full) {
    const std::int64_t entries = p.batch_count > 1 ? half(p.batch_count) : 1;
    const std::int64_t columns = p.batch_count > 1 ? p.n : half(p.n);
    for (std::int64_t entry = 0; entry < p.batch_count; entry += entries)
      for (std::int64_t column = 0; column < p.n; column += columns)
        XGEMM_RETURN_IF_FAILED(for_each_buffered_part(columns_of(p, column, columns, entry, entries), most, visit));
    return kOk;
  }
  const std::int64_t size = half(p.n);
  for (std::int64_t j = 0; j < p.n; j += size)
    for (std::int64_t i = 0; i < p.n; i += size) {
      Problem block = rectangle_of(p, i, std::min(size, p.n - i), j, std::min(size, p.n - j));
      block.fill = p.fill;
      XGEMM_RETURN_IF_FAILED(
          for_each_part(block, i, j, [&](const Problem& part) { return for_each_buffered_part(part, most, visit); }));
    }
  return kOk;
}

}  // namespace xgemm
