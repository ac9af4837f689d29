// How products are cut: every element of C once, within the memory that was given, and the cuts that were meant.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/staging_plan.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

#include "core/triangle.h"

namespace xgemm::transfer {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

struct Shape {
  std::int64_t m, n, k, batch = 1;
  bool shares_a = false, shares_b = false;
  DType type = DType::f32;
  Op op_a = Op::none, op_b = Op::none;
  Fill fill = Fill::full;
};

Problem make(const Shape& s) {
  Problem p;
  p.a.type = p.b.type = p.c.type = s.type;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.batch_count = s.batch;
  p.fill = s.fill;
  p.alpha.value = 1;
  p.beta.value = 1;
  p.a.op = s.op_a;
  p.b.op = s.op_b;
  p.a.ld = p.a_rows() + 3;
  p.b.ld = p.b_rows() + 5;
  p.c.ld = p.m + 7;
  p.a.batch_stride = s.shares_a ? 0 : p.a.ld * p.a_cols() + 1;
  p.b.batch_stride = s.shares_b ? 0 : p.b.ld * p.b_cols() + 2;
  p.c.batch_stride = p.c.ld * p.n + 3;
  return p;
}

// What the executor relies on, for one plan.
void check_plan(const Problem& p, const StagingPlan& plan, std::int64_t budget) {
  SCOPED_TRACE(to_string(p) + "\n" + to_string(plan));
  ASSERT_TRUE(plan.fits);
  EXPECT_LE(plan.device_bytes, budget);
  EXPECT_GE(plan.chunk_bytes, 64 << 10);
  EXPECT_LE(plan.chunk_bytes, 1 << 20);
  EXPECT_EQ(plan.a.count > 0, plan.staged.a);
  EXPECT_EQ(plan.b.count > 0, plan.staged.b);
  EXPECT_EQ(plan.c.count > 0, plan.staged.c);
  for (const OperandSlots& slots : {plan.a, plan.b, plan.c}) {
    EXPECT_EQ(slots.bytes % 512, 0);
    EXPECT_LE(slots.count, 4);
  }
  // Pieces cover C: along each axis of (product, m, n) they tile, and all combinations occur once.
  ASSERT_LT(plan.pieces, 100000);
  double area = 0;
  std::map<std::array<std::int64_t, 3>, int> seen;
  std::map<std::int64_t, std::array<std::int64_t, 2>> a_parts, b_parts;
  for (std::int64_t index = 0; index < plan.pieces; ++index) {
    const Piece piece = plan.piece(p, index);
    ASSERT_GT(piece.products, 0);
    ASSERT_GT(piece.m, 0);
    ASSERT_GT(piece.n, 0);
    ASSERT_LE(piece.first_product + piece.products, p.batch_count);
    ASSERT_LE(piece.i + piece.m, p.m);
    ASSERT_LE(piece.j + piece.n, p.n);
    const std::int64_t products = piece.products;
    double elements = 0;
    ASSERT_TRUE(for_each_part(problem_of(p, piece), piece.i, piece.j, [&](const Problem& part) {
                  EXPECT_EQ(part.batch_count, products);
                  elements += part.elements();
                  return kOk;
                }).ok());
    EXPECT_GT(elements, 0);
    area += elements;
    const std::array<std::int64_t, 3> corner = {piece.first_product, piece.i, piece.j};
    EXPECT_EQ(++seen[corner], 1);
    const StagedPart a = part_of_a(p, piece), b = part_of_b(p, piece), c = part_of_c(p, piece);
    EXPECT_TRUE(!plan.staged.a || a.block.packed_bytes() <= plan.a.bytes);
    EXPECT_TRUE(!plan.staged.b || b.block.packed_bytes() <= plan.b.bytes);
    EXPECT_TRUE(!plan.staged.c || c.block.packed_bytes() <= plan.c.bytes);
    // The same part number means the same data.
    const auto same = [](auto& parts, std::int64_t number, const StagedPart& part) {
      const std::array<std::int64_t, 2> what = {part.host_offset, part.block.packed_bytes()};
      return parts.emplace(number, what).first->second == what;
    };
    EXPECT_TRUE(same(a_parts, piece.a_part, a));
    EXPECT_TRUE(same(b_parts, piece.b_part, b));
  }
  EXPECT_EQ(area, p.elements());
}

TEST(StagingPlan, CoversATriangleOnce) {
  for (Shape s :
       {Shape{1, 1, 1}, {300, 300, 7}, {4096, 4096, 100}, {8192, 8192, 8192}, {5000, 5000, 20000}, {64, 64, 64, 333}})
    for (Fill fill : {Fill::lower, Fill::upper})
      for (int staged = 1; staged < 8; ++staged)
        for (std::int64_t memory : {8 * kGiB, 256 * kMiB}) {
          s.fill = fill;
          s.op_b = Op::transpose;
          const Problem p = make(s);
          const StagingPlan plan = plan_staging(p, {(staged & 1) != 0, (staged & 2) != 0, (staged & 4) != 0}, memory);
          if (plan.fits) check_plan(p, plan, memory);
        }
}

TEST(StagingPlan, CoversEveryElementOnceWithinItsMemory) {
  const Shape shapes[] = {{1, 1, 1},
                          {1, 1, 0},
                          {7, 5, 3},
                          {1024, 1024, 1024},
                          {8192, 8192, 8192},
                          {4097, 4095, 4093},
                          {16384, 16384, 16384},
                          {1, 100000, 100},
                          {100000, 1, 100},
                          {1000000, 8, 64},
                          {8, 1000000, 64},
                          {16, 16, 1 << 24},
                          {128, 128, 64, 5000},
                          {3, 2, 4, 100000},
                          {64, 64, 64, 333, true, false},
                          {64, 64, 64, 333, false, true},
                          {64, 64, 64, 333, true, true},
                          {4096, 4096, 512, 3, true, false},
                          {4096, 4096, 512, 3, false, true},
                          {1, 1, 1, 1000, true, true}};
  for (Shape s : shapes) {
    for (DType type : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      for (Op op_a : {Op::none, Op::transpose}) {
        for (int staged = 1; staged < 8; ++staged) {
          s.type = type;
          s.op_a = op_a;
          s.op_b = op_a == Op::none ? Op::transpose : Op::none;
          const Problem p = make(s);
          check_plan(p, plan_staging(p, {(staged & 1) != 0, (staged & 2) != 0, (staged & 4) != 0}, 8 * kGiB), 8 * kGiB);
        }
      }
    }
  }
}

TEST(StagingPlan, CutsFinerWhenMemoryIsScarce) {
  for (Shape s : {Shape{4096, 4096, 4096}, Shape{5000, 300, 3000}, Shape{300, 5000, 3000},
                  Shape{700, 700, 20, 40, false, false}, Shape{64, 64, 64, 5000}}) {
    const Problem p = make(s);
    std::int64_t pieces = 0;
    for (std::int64_t budget : {kGiB, 64 * kMiB, 16 * kMiB, 4 * kMiB}) {
      const StagingPlan plan = plan_staging(p, {true, true, true}, budget);
      check_plan(p, plan, budget);
      EXPECT_GE(plan.pieces, pieces);
      pieces = plan.pieces;
    }
  }
}

TEST(StagingPlan, SaysWhatTheSmallestPiecesNeed) {
  const Problem p = make({4, 4, 1 << 28});
  const StagingPlan plan = plan_staging(p, {true, true, true}, kGiB);
  EXPECT_FALSE(plan.fits);
  EXPECT_EQ(plan.m_piece, 1);
  EXPECT_EQ(plan.n_piece, 1);
  EXPECT_GE(plan.device_bytes, 2 * kGiB);
  EXPECT_TRUE(plan_staging(p, {true, true, true}, plan.device_bytes).fits);
}

TEST(StagingPlan, SaturatesOnSizesBeyondMeasure) {
  Problem p = make({4, 4, 4});
  p.k = std::int64_t{1} << 60;
  p.m = p.n = std::int64_t{1} << 40;
  EXPECT_FALSE(plan_staging(p, {true, true, true}, 4 * kGiB).fits);
}

TEST(StagingPlan, KeepsTheSmallerOperandResident) {
  EXPECT_TRUE(plan_staging(make({512, 8192, 4096}), {true, true, true}, 4 * kGiB).streams_columns);
  EXPECT_FALSE(plan_staging(make({8192, 512, 4096}), {true, true, true}, 4 * kGiB).streams_columns);
  // An operand in place costs nothing to keep.
  EXPECT_TRUE(plan_staging(make({8192, 512, 4096}), {false, true, true}, 4 * kGiB).streams_columns);
  EXPECT_FALSE(plan_staging(make({512, 8192, 4096}), {true, false, true}, 4 * kGiB).streams_columns);
}

TEST(StagingPlan, SquaresOverlapAndSmallOnesStayWhole) {
  const auto pieces = [](std::int64_t n) { return plan_staging(make({n, n, n}), {true, true, true}, 4 * kGiB).pieces; };
  EXPECT_EQ(pieces(256), 1);
  EXPECT_EQ(pieces(1024), 1);
  EXPECT_EQ(pieces(2048), 2);
  EXPECT_EQ(pieces(4096), 4);
  EXPECT_EQ(pieces(8192), 16);
  // One load of each operand: nothing crosses the link twice.
  const Problem p = make({8192, 8192, 8192});
  const StagingPlan plan = plan_staging(p, {true, true, true}, 4 * kGiB);
  EXPECT_EQ(plan.bytes_in, 3 * 4 * p.m * p.n);
  EXPECT_EQ(plan.bytes_out, 4 * p.m * p.n);
  EXPECT_LE(plan.device_bytes, kGiB);
}

TEST(StagingPlan, ExtentsOfPiecesAreWholeTiles) {
  const StagingPlan plan = plan_staging(make({8000, 7777, 5000}), {true, true, true}, 256 * kMiB);
  EXPECT_GT(plan.pieces, 1);
  EXPECT_TRUE(plan.n_piece == 7777 || plan.n_piece % 128 == 0);
  EXPECT_TRUE(plan.m_piece == 8000 || plan.m_piece % 128 == 0);
}

TEST(StagingPlan, SharedOperandsOfABatchAreLoadedOnce) {
  const Problem p = make({64, 64, 64, 10000, true, false});
  const StagingPlan plan = plan_staging(p, {true, true, true}, 4 * kGiB);
  EXPECT_GT(plan.group, 1);
  EXPECT_GT(plan.groups, 1);
  EXPECT_EQ(plan.a.count, 1);
  for (std::int64_t i = 0; i < plan.pieces; ++i) EXPECT_EQ(plan.piece(p, i).a_part, 0);
  EXPECT_EQ(part_of_a(p, plan.piece(p, 0)).batch_stride, 0);
}

TEST(StagingPlan, IsTheSameForTheSameCall) {
  const Problem p = make({5000, 4000, 3000});
  EXPECT_EQ(to_string(plan_staging(p, {true, true, true}, kGiB)), to_string(plan_staging(p, {true, true, true}, kGiB)));
}

// Scarce memory takes slots away, never pieces.
TEST(StagingPlan, FewerSlotsHoldTheSamePieces) {
  for (const Shape& s : {Shape{8192, 8192, 512}, Shape{16384, 16384, 16384}, Shape{64, 64, 64, 50000, true, false},
                         Shape{300, 200, 100}, Shape{4, 4, 1 << 20}}) {
    const Problem p = make(s);
    const StagingPlan full = plan_staging_on(p, {true, true, true}, 140 * kGiB);
    StagingPlan plan = full;
    for (std::int64_t bytes = plan.device_bytes; take_fewer_slots(p, &plan); bytes = plan.device_bytes) {
      EXPECT_LT(plan.device_bytes, bytes);
      ASSERT_EQ(plan.pieces, full.pieces);
      for (std::int64_t i = 0; i < plan.pieces; ++i) EXPECT_EQ(plan.piece(p, i), full.piece(p, i));
    }
    for (const OperandSlots& slots : {plan.a, plan.b, plan.c}) EXPECT_EQ(slots.count, 1);
    EXPECT_EQ(plan.bytes_in, full.bytes_in) << "slots are not for what is loaded again";
  }
}

// The plan for a GPU is cut for its budget, and for all of its memory when that is too little.
TEST(StagingPlan, TakesAllMemoryForPiecesThatCannotBeSmaller) {
  EXPECT_TRUE(plan_staging_on(make({4, 4, 1 << 28}), {true, true, true}, 12 * kGiB).fits);
  EXPECT_FALSE(plan_staging_on(make({4, 4, 1 << 28}), {true, true, true}, kGiB).fits);
  const StagingPlan plan = plan_staging_on(make({8192, 8192, 8192}), {true, true, true}, kGiB);
  EXPECT_LE(plan.device_bytes, kGiB / 4);
}

// What is left of a piece, with what is done of it, is the piece.
TEST(RestOf, IsWhatHasNotBeenDone) {
  for (const DType type : {DType::f32, DType::f16}) {
    const Problem p = make({13, 7, 5, 6, false, false, type});
    const Piece piece{2, 3, 4, 9, 1, 5, 0, 0};
    const ColumnBlock block = part_of_c(p, piece).block;
    for (std::int64_t done = 0; done <= block.packed_bytes(); done += size_of(type)) {
      std::map<std::array<std::int64_t, 3>, int> left;
      for (const Piece& rest : rest_of(p, piece, done))
        for (std::int64_t x = 0; x < rest.products; ++x)
          for (std::int64_t j = 0; j < rest.n; ++j)
            for (std::int64_t i = 0; i < rest.m; ++i)
              EXPECT_EQ((++left[{rest.first_product + x, rest.i + i, rest.j + j}]), 1);
      std::size_t expected = 0;
      for (std::int64_t x = 0; x < piece.products; ++x)
        for (std::int64_t j = 0; j < piece.n; ++j)
          for (std::int64_t i = 0; i < piece.m; ++i)
            if ((x * piece.n + j) * block.packed_pitch + i * size_of(type) >= done) {
              ++expected;
              EXPECT_TRUE(left.contains({piece.first_product + x, piece.i + i, piece.j + j}));
            }
      EXPECT_EQ(left.size(), expected);
    }
  }
}

TEST(StagedLd, AlignsUnlessPaddingCosts) {
  EXPECT_EQ(staged_ld(1, DType::f16), 1);
  EXPECT_EQ(staged_ld(1, DType::f32), 1);
  EXPECT_EQ(staged_ld(3, DType::f32), 3);
  EXPECT_EQ(staged_ld(4, DType::f32), 4);
  EXPECT_EQ(staged_ld(13, DType::f32), 16);
  EXPECT_EQ(staged_ld(1000, DType::f32), 1024);
  EXPECT_EQ(staged_ld(1023, DType::f32), 1024);
  EXPECT_EQ(staged_ld(1023, DType::f16), 1024);
  for (std::int64_t rows = 1; rows < 5000; ++rows) {
    for (DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      EXPECT_GE(staged_ld(rows, type), rows);
      EXPECT_LE(4 * staged_ld(rows, type), 5 * rows);
    }
  }
}

TEST(StagingBudget, IsAQuarterOfTheDeviceAtMostFourGiB) {
  EXPECT_EQ(staging_budget(8 * kGiB), 2 * kGiB);
  EXPECT_EQ(staging_budget(140 * kGiB), 4 * kGiB);
}

}  // namespace
}  // namespace xgemm::transfer
