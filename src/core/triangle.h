// Blocks of a C of which a triangle is computed, as problems of their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/problem.h"
#include "core/status.h"

namespace xgemm {

// Rows [i, i + m) and columns [j, j + n) of a problem's C, all of their elements.
inline Problem rectangle_of(const Problem& problem, std::int64_t i, std::int64_t m, std::int64_t j, std::int64_t n) {
  Problem part = problem;
  part.fill = Fill::full;
  part.m = m;
  part.n = n;
  part.a.data = moved(problem.a.data, problem.a.offset(i, 0), problem.a.type);
  part.b.data = moved(problem.b.data, problem.b.offset(0, j), problem.b.type);
  part.c.data = moved(problem.c.data, problem.c.offset(i, j), problem.c.type);
  return part;
}

// Calls visit(problem) -> Status for what a block has of a triangle: at most a triangle and two rectangles beside it.
// block: of any extents, with the fill of all of C, in which its first element is (i, j).
template <class Visit>
Status for_each_part(const Problem& block, std::int64_t i, std::int64_t j, const Visit& visit) {
  const std::int64_t i_end = i + block.m, j_end = j + block.n;
  if (block.fill == Fill::full) return visit(block);
  const auto rectangle = [&](std::int64_t row, std::int64_t row_end, std::int64_t column, std::int64_t column_end) {
    if (row >= row_end || column >= column_end) return kOk;
    return visit(rectangle_of(block, row - i, row_end - row, column - j, column_end - column));
  };
  if (covers(block.fill, i, j, block.m, block.n)) return rectangle(i, i_end, j, j_end);
  if (!touches(block.fill, i, j, block.m, block.n)) return kOk;
  // Where the diagonal runs through the block.
  const std::int64_t begin = std::max(i, j), end = std::min(i_end, j_end);
  const bool lower = block.fill == Fill::lower;
  XGEMM_RETURN_IF_FAILED(lower ? rectangle(i, i_end, j, begin) : rectangle(i, begin, j, j_end));
  Problem triangle = rectangle_of(block, begin - i, end - begin, begin - j, end - begin);
  triangle.fill = block.fill;
  XGEMM_RETURN_IF_FAILED(visit(triangle));
  return lower ? rectangle(end, i_end, begin, end) : rectangle(begin, end, end, j_end);
}

}  // namespace xgemm
