// Which elements of C a product computes: all, or those of a triangle, as rank-k updates do. The others are neither
// read nor written.
#pragma once

#include <cstdint>

#include "core/portability.h"

namespace xgemm {

// Of a column-major C. The values are those of enum xgemm_fill. A triangle includes the diagonal, and C is square then.
enum class Fill : std::uint8_t { full, lower, upper };

// Of the transpose of C.
constexpr Fill transposed(Fill fill) {
  return fill == Fill::lower ? Fill::upper : fill == Fill::upper ? Fill::lower : fill;
}

XGEMM_HOST_DEVICE constexpr bool contains(Fill fill, std::int64_t i, std::int64_t j) {
  return fill == Fill::full || (fill == Fill::lower ? i >= j : i <= j);
}

// Whether the rectangle of rows x columns at (i, j) has an element in it, and whether all of its elements are.
XGEMM_HOST_DEVICE constexpr bool touches(Fill fill, std::int64_t i, std::int64_t j, std::int64_t rows,
                                         std::int64_t columns) {
  return fill == Fill::lower ? contains(fill, i + rows - 1, j) : contains(fill, i, j + columns - 1);
}
XGEMM_HOST_DEVICE constexpr bool covers(Fill fill, std::int64_t i, std::int64_t j, std::int64_t rows,
                                        std::int64_t columns) {
  return fill == Fill::lower ? contains(fill, i, j + columns - 1) : contains(fill, i + rows - 1, j);
}

// The rows of column j of a matrix of m rows: [begin, end).
struct RowRange {
  std::int64_t begin, end;
};
constexpr RowRange rows_of_column(Fill fill, std::int64_t j, std::int64_t m) {
  const std::int64_t before = j < 0 ? 0 : j < m ? j : m, after = j + 1 < 0 ? 0 : j + 1 < m ? j + 1 : m;
  return {fill == Fill::lower ? before : 0, fill == Fill::upper ? after : m};
}

}  // namespace xgemm
