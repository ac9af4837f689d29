// Facts about a strided operand that decide how it may be loaded: which axis is contiguous, for how many elements, and
// by which power of two every vector along that axis is aligned.
//
// An operand is rows x cols (x batch); element (i, j) of matrix b lies at
//
//     address + (i * row_stride + j * col_stride + b * batch_stride) * element_bytes.
//
// Axis::row is the first index (i), Axis::col the second (j): a column-major matrix is contiguous along Axis::row, a
// row-major one along Axis::col. Facts are taken from the very pointers that a kernel receives, so staging and packing
// come first. Pure and constexpr: the address is a number and is never followed.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "core/magnitude.h"
#include "core/portability.h"

namespace xgemm::layout {

enum class Axis : int { row = 0, col = 1 };

XGEMM_HOST_DEVICE constexpr Axis other(Axis axis) {
  return axis == Axis::row ? Axis::col : Axis::row;
}

// Alignment beyond this many bytes (a cache line of every GPU served, and the strictest demand of any load) is not told
// apart.
inline constexpr int kMaxDivisibility = 128;

// The widest vector load or store of one thread.
inline constexpr int kMaxVectorBytes = 16;

struct StridedOperand {
  std::uintptr_t address = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 1;  // elements between (i, j) and (i + 1, j)
  std::int64_t col_stride = 0;  // elements between (i, j) and (i, j + 1)
  int element_bytes = 4;
  std::int64_t batch_count = 1;
  std::int64_t batch_stride = 0;  // elements

  XGEMM_HOST_DEVICE constexpr std::int64_t extent(Axis axis) const { return axis == Axis::row ? rows : cols; }
  XGEMM_HOST_DEVICE constexpr std::int64_t stride(Axis axis) const {
    return axis == Axis::row ? row_stride : col_stride;
  }
};

// op(X) = X^T of the same memory.
XGEMM_HOST_DEVICE constexpr StridedOperand transposed(const StridedOperand& x) {
  return {x.address, x.cols, x.rows, x.col_stride, x.row_stride, x.element_bytes, x.batch_count, x.batch_stride};
}

// Why `OperandFacts::contiguous` is the axis it is. An axis of extent 0 or 1 is never stepped along, so its stride says
// nothing: that is where strides alone would be ambiguous.
enum class ContiguityReason : int {
  unit_stride,     // one axis, and only one, has stride 1 and more than one element
  both_unit,       // both have (neighbouring lines overlap in memory): the longer one, the rows of equals
  single_line,     // one axis alone has more than one element, and its stride is not 1: that axis, no contiguity
  single_element,  // at most one element along either axis: by the strides, as if there were more
  no_unit_stride   // two axes with more than one element, neither of stride 1: the one with the shorter stride
};

struct OperandFacts {
  Axis contiguous = Axis::row;  // the axis to walk fastest
  ContiguityReason reason = ContiguityReason::single_element;
  std::int64_t extent[2] = {0, 0};      // elements along each axis
  std::int64_t contiguity[2] = {1, 1};  // elements that follow one another in memory along each axis, at least 1
  int divisibility = 1;                 // bytes; divides the address and every step between lines and matrices
  int element_bytes = 4;

  constexpr bool operator==(const OperandFacts&) const = default;
};

namespace detail {

// The largest power of two that divides x, kMaxDivisibility at most. Everything divides 0. Works modulo 2^64, which
// leaves the low bits of products and of negative strides as they are.
XGEMM_HOST_DEVICE constexpr int power_of_two_divisor(std::uint64_t x) {
  const std::uint64_t capped = x | static_cast<std::uint64_t>(kMaxDivisibility);
  return static_cast<int>(capped & (~capped + 1));
}

XGEMM_HOST_DEVICE constexpr std::int64_t floor_power_of_two(std::int64_t x) {
  std::int64_t p = 1;
  while (p <= x / 2) p *= 2;
  return p;
}

}  // namespace detail

// The widest vector, in elements (a power of two), that may be moved at once along an axis with this contiguity and
// divisibility. A vector wider than the contiguity would leave the matrix even where it is aligned.
XGEMM_HOST_DEVICE constexpr int vector_width(int divisibility, std::int64_t contiguity, int element_bytes) {
  const std::int64_t bytes = divisibility < kMaxVectorBytes ? divisibility : kMaxVectorBytes;
  const std::int64_t aligned = bytes / element_bytes;
  const std::int64_t width = aligned < contiguity ? aligned : contiguity;
  return static_cast<int>(detail::floor_power_of_two(width < 1 ? 1 : width));
}

XGEMM_HOST_DEVICE constexpr OperandFacts gather_facts(const StridedOperand& x) {
  const bool long_row = x.rows > 1, long_col = x.cols > 1;
  const bool unit_row = long_row && x.row_stride == 1, unit_col = long_col && x.col_stride == 1;

  OperandFacts facts;
  facts.extent[0] = x.rows;
  facts.extent[1] = x.cols;
  facts.element_bytes = x.element_bytes;
  if (unit_row && unit_col) {
    facts.contiguous = x.cols > x.rows ? Axis::col : Axis::row;
    facts.reason = ContiguityReason::both_unit;
  } else if (unit_row || unit_col) {
    facts.contiguous = unit_row ? Axis::row : Axis::col;
    facts.reason = ContiguityReason::unit_stride;
  } else if (long_row != long_col) {
    facts.contiguous = long_row ? Axis::row : Axis::col;
    facts.reason = ContiguityReason::single_line;
  } else {
    const bool row_shorter = magnitude(x.row_stride) <= magnitude(x.col_stride);
    facts.contiguous = row_shorter ? Axis::row : Axis::col;
    facts.reason = long_row ? ContiguityReason::no_unit_stride : ContiguityReason::single_element;
  }
  if (unit_row) facts.contiguity[0] = x.rows;
  if (unit_col) facts.contiguity[1] = x.cols;

  // One bit pattern whose trailing zeros are the common ones of everything that is added to the address. The unit
  // stride is what vectors run along and stays out; steps that are never taken do too.
  std::uint64_t steps = x.address;
  const auto add_step = [&](std::int64_t stride) {
    steps |= static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(x.element_bytes);
  };
  const Axis line = other(facts.contiguous);
  const bool contiguous_is_unit = facts.contiguous == Axis::row ? unit_row : unit_col;
  if (x.extent(line) > 1) add_step(x.stride(line));
  if (!contiguous_is_unit && x.extent(facts.contiguous) > 1) add_step(x.stride(facts.contiguous));
  if (x.batch_count > 1) add_step(x.batch_stride);
  facts.divisibility = detail::power_of_two_divisor(steps);
  return facts;
}

// The widest legal vector along the operand's own contiguous axis: of 1 to 8 elements, of two, four or eight bytes.
XGEMM_HOST_DEVICE constexpr int max_vector_width(const OperandFacts& facts) {
  return vector_width(facts.divisibility, facts.contiguity[static_cast<int>(facts.contiguous)], facts.element_bytes);
}

const char* to_string(Axis axis);
const char* to_string(ContiguityReason reason);

// One line, for explain and for test failures: "128 x 64 of 4 bytes, fastest along the row index (unit stride),
// contiguous for 128, divisible by 16 bytes, vectors of 4".
std::string to_string(const OperandFacts& facts);

}  // namespace xgemm::layout
