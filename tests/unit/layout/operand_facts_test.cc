// Operand facts: known answers, and for random operands the definition itself, checked address by address.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "layout/operand_facts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace xgemm::layout {
namespace {

constexpr std::uintptr_t kAligned = 0x7f0000000000;

StridedOperand operand(std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride,
                       int element_bytes = 4, std::uintptr_t address = kAligned) {
  return {address, rows, cols, row_stride, col_stride, element_bytes};
}

// Facts can be had at compile time.
static_assert(gather_facts({kAligned, 64, 64, 1, 64, 4}).contiguous == Axis::row);
static_assert(max_vector_width(gather_facts({kAligned, 64, 64, 64, 1, 2})) == 8);

TEST(OperandFacts, ColumnMajorIsContiguousAlongTheRowIndex) {
  const OperandFacts facts = gather_facts(operand(100, 50, 1, 128));
  EXPECT_EQ(facts.contiguous, Axis::row);
  EXPECT_EQ(facts.reason, ContiguityReason::unit_stride);
  EXPECT_EQ(facts.contiguity[0], 100);
  EXPECT_EQ(facts.contiguity[1], 1);
  EXPECT_EQ(facts.divisibility, 128);
  EXPECT_EQ(max_vector_width(facts), 4);
}

TEST(OperandFacts, TransposingSwapsTheAxesAndNothingElse) {
  const StridedOperand x = operand(100, 50, 1, 100);
  const OperandFacts facts = gather_facts(x), swapped = gather_facts(transposed(x));
  EXPECT_EQ(swapped.contiguous, Axis::col);
  EXPECT_EQ(swapped.contiguity[1], facts.contiguity[0]);
  EXPECT_EQ(swapped.divisibility, facts.divisibility);
  EXPECT_EQ(swapped.extent[0], facts.extent[1]);
  EXPECT_EQ(gather_facts(transposed(transposed(x))), facts);
}

TEST(OperandFacts, PointerAndLeadingDimensionLimitDivisibilityTogether) {
  EXPECT_EQ(gather_facts(operand(64, 64, 1, 64)).divisibility, 128);
  EXPECT_EQ(gather_facts(operand(64, 64, 1, 68)).divisibility, 16);
  EXPECT_EQ(gather_facts(operand(64, 64, 1, 66)).divisibility, 8);
  EXPECT_EQ(gather_facts(operand(64, 64, 1, 65)).divisibility, 4);
  EXPECT_EQ(gather_facts(operand(64, 64, 1, 64, 4, kAligned + 4)).divisibility, 4);
  EXPECT_EQ(gather_facts(operand(64, 64, 1, 66, 4, kAligned + 16)).divisibility, 8);
  EXPECT_EQ(gather_facts(operand(64, 64, 1, 65, 2)).divisibility, 2);
  EXPECT_EQ(max_vector_width(gather_facts(operand(64, 64, 1, 68, 2))), 4);
  EXPECT_EQ(max_vector_width(gather_facts(operand(64, 64, 1, 72, 2))), 8);
}

TEST(OperandFacts, LeadingDimensionOfASingleLineDoesNotCount) {
  EXPECT_EQ(gather_facts(operand(64, 1, 1, 65)).divisibility, 128);
  EXPECT_EQ(gather_facts(operand(1, 64, 65, 1)).divisibility, 128);
}

TEST(OperandFacts, BatchStrideCountsOnlyInABatch) {
  StridedOperand x = operand(64, 64, 1, 64);
  x.batch_stride = 64 * 64 + 2;
  EXPECT_EQ(gather_facts(x).divisibility, 128);
  x.batch_count = 2;
  EXPECT_EQ(gather_facts(x).divisibility, 8);
  x.batch_stride = 0;  // the same matrix for all
  EXPECT_EQ(gather_facts(x).divisibility, 128);
}

TEST(OperandFacts, AmbiguousStridesSayWhy) {
  // A row of a column-major matrix of one row: its column stride is 1, and so it is contiguous after all.
  OperandFacts facts = gather_facts(operand(1, 9, 1, 1));
  EXPECT_EQ(facts.contiguous, Axis::col);
  EXPECT_EQ(facts.reason, ContiguityReason::unit_stride);
  EXPECT_EQ(facts.contiguity[1], 9);

  // A row of a taller one is strided: no vectors, whatever the alignment.
  facts = gather_facts(operand(1, 9, 1, 32));
  EXPECT_EQ(facts.contiguous, Axis::col);
  EXPECT_EQ(facts.reason, ContiguityReason::single_line);
  EXPECT_EQ(max_vector_width(facts), 1);

  // Overlapping lines (a Hankel matrix).
  facts = gather_facts(operand(5, 9, 1, 1));
  EXPECT_EQ(facts.contiguous, Axis::col);
  EXPECT_EQ(facts.reason, ContiguityReason::both_unit);
  EXPECT_EQ(max_vector_width(facts), 1);

  facts = gather_facts(operand(5, 9, 2, 64));
  EXPECT_EQ(facts.contiguous, Axis::row);
  EXPECT_EQ(facts.reason, ContiguityReason::no_unit_stride);
  EXPECT_EQ(max_vector_width(facts), 1);

  facts = gather_facts(operand(1, 1, 7, 1));
  EXPECT_EQ(facts.contiguous, Axis::col);
  EXPECT_EQ(facts.reason, ContiguityReason::single_element);
  EXPECT_EQ(max_vector_width(facts), 1);

  EXPECT_EQ(max_vector_width(gather_facts(operand(0, 0, 1, 1))), 1);
}

TEST(OperandFacts, ReversedAxesAreNotContiguous) {
  const OperandFacts facts = gather_facts(operand(8, 8, -1, 8));
  EXPECT_EQ(facts.contiguous, Axis::row);
  EXPECT_EQ(facts.reason, ContiguityReason::no_unit_stride);
  EXPECT_EQ(max_vector_width(facts), 1);
}

TEST(OperandFacts, NeverWiderThanTheLine) {
  EXPECT_EQ(max_vector_width(gather_facts(operand(3, 8, 1, 64))), 2);
  EXPECT_EQ(max_vector_width(gather_facts(operand(5, 8, 1, 64))), 4);
  EXPECT_EQ(max_vector_width(gather_facts(operand(5, 8, 1, 64, 2))), 4);
}

// The definition: a width is legal when every line of every matrix starts at a multiple of it and holds at least one.
bool legal(const StridedOperand& x, Axis along, int width) {
  if (width == 1) return true;
  if (x.extent(along) < width || x.stride(along) != 1) return false;
  const Axis line = other(along);
  for (std::int64_t b = 0; b < x.batch_count; ++b) {
    for (std::int64_t l = 0; l < x.extent(line); ++l) {
      const std::int64_t offset = (b * x.batch_stride + l * x.stride(line)) * x.element_bytes;
      const std::uint64_t address = x.address + static_cast<std::uint64_t>(offset);
      if (address % static_cast<std::uint64_t>(width * x.element_bytes) != 0) return false;
    }
  }
  return true;
}

TEST(OperandFacts, VectorWidthIsTheWidestLegalOneForRandomOperands) {
  std::mt19937 random(20231202);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 20000; ++round) {
    StridedOperand x;
    x.element_bytes = pick(0, 1) ? 4 : 2;
    x.rows = pick(1, 12);
    x.cols = pick(1, 12);
    const std::int64_t ld = pick(0, 2) ? 4 * pick(-5, 9) : pick(-20, 40);
    const std::int64_t step = pick(0, 4) ? 1 : pick(-2, 4);
    const bool by_rows = pick(0, 1);
    x.row_stride = by_rows ? ld : step;
    x.col_stride = by_rows ? step : ld;
    x.batch_count = pick(1, 3);
    x.batch_stride = pick(0, 2) ? 8 * pick(0, 20) : pick(0, 99);
    x.address = kAligned + static_cast<std::uintptr_t>(pick(0, 2) ? 0 : pick(0, 20) * x.element_bytes);

    const OperandFacts facts = gather_facts(x);
    int widest = 1;
    for (int width : {2, 4, 8}) {
      if (width * x.element_bytes > kMaxVectorBytes) break;
      if (legal(x, facts.contiguous, width)) widest = width;
    }
    ASSERT_EQ(max_vector_width(facts), widest)
        << to_string(facts) << "; strides " << x.row_stride << ", " << x.col_stride << ", batch " << x.batch_count
        << " by " << x.batch_stride;
    // The other axis never offers more, so that nothing was lost by the choice.
    for (int width : {2, 4, 8}) {
      if (width > widest && width * x.element_bytes <= kMaxVectorBytes) {
        ASSERT_FALSE(legal(x, other(facts.contiguous), width)) << to_string(facts);
      }
    }
  }
}

TEST(OperandFacts, PrintsItself) {
  EXPECT_EQ(to_string(gather_facts(operand(128, 64, 1, 132))),
            "128 x 64 of 4 bytes, fastest along the row index (unit stride), contiguous for 128, divisible by 16 "
            "bytes, vectors of 4");
}

}  // namespace
}  // namespace xgemm::layout
