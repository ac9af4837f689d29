// Coalesced layouts: known answers, every element of a tile covered exactly once, aligned vectors, full sectors.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "layout/coalesced_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace xgemm::layout {
namespace {

constexpr bool equals(const int (&values)[2], int first, int second) {
  return values[0] == first && values[1] == second;
}

// Known answers, at compile time. Contiguity along [rows, columns], divisibility 16 bytes.
constexpr CoalescedLayout kRows = make_coalesced_layout(64, 64, 4, 1, 64, 16, 4);
static_assert(equals(kRows.order, 1, 0) && equals(kRows.per_thread, 1, 4) && equals(kRows.lanes, 2, 16) &&
              equals(kRows.warps, 4, 1));
static_assert(kRows.repetitions() == 8 && kRows.exact() && kRows.threads() == 128);

constexpr CoalescedLayout kColumns = make_coalesced_layout(64, 64, 4, 64, 1, 16, 4);
static_assert(equals(kColumns.order, 0, 1) && equals(kColumns.per_thread, 4, 1) && equals(kColumns.lanes, 16, 2) &&
              equals(kColumns.warps, 1, 4));

constexpr CoalescedLayout kSmall = make_coalesced_layout(32, 32, 4, 1, 32, 16, 2);
static_assert(equals(kSmall.per_thread, 1, 4) && equals(kSmall.lanes, 4, 8) && equals(kSmall.warps, 2, 1));
static_assert(kSmall.repetitions() == 4);

// A layout is a template argument.
template <CoalescedLayout layout>
constexpr int tile_elements() {
  return layout.tile[0] * layout.tile[1];
}
static_assert(tile_elements<kRows>() == 4096);

TEST(CoalescedLayout, FollowsFromFacts) {
  constexpr std::uintptr_t address = 0x1000;
  const OperandFacts rows = gather_facts({address, 1000, 1000, 1000, 1, 4});
  EXPECT_EQ(make_coalesced_layout(64, 64, rows, 4), kRows);
  const OperandFacts columns = gather_facts({address, 1000, 1000, 1, 1000, 4});
  EXPECT_EQ(make_coalesced_layout(64, 64, columns, 4), kColumns);
  // Half precision moves eight at once; a pointer off by one element moves one.
  const OperandFacts halves = gather_facts({address, 1000, 1000, 1000, 1, 2});
  EXPECT_TRUE(equals(make_coalesced_layout(64, 64, halves, 4).per_thread, 1, 8));
  const OperandFacts shifted = gather_facts({address + 4, 1000, 1000, 1000, 1, 4});
  const CoalescedLayout layout = make_coalesced_layout(64, 64, shifted, 4);
  EXPECT_TRUE(equals(layout.per_thread, 1, 1));
  EXPECT_TRUE(equals(layout.lanes, 1, 32));
  EXPECT_TRUE(equals(layout.warps, 2, 2));
  // Nothing contiguous: the axis of the shorter stride still comes first.
  const OperandFacts strided = gather_facts({address, 1000, 1000, 9000, 3, 4});
  EXPECT_EQ(make_coalesced_layout(64, 64, strided, 4).order[0], 1);
}

TEST(CoalescedLayout, OfAnInstanceIsThatOfItsVectorWidth) {
  EXPECT_EQ(make_coalesced_layout(64, 64, 4, Axis::col, 4, 4), kRows);
  EXPECT_EQ(make_coalesced_layout(64, 64, 4, Axis::row, 4, 4), kColumns);
  EXPECT_EQ(make_coalesced_layout(64, 64, 4, Axis::col, 1, 4).order[0], 1);
  EXPECT_EQ(make_coalesced_layout(64, 64, 4, Axis::row, 1, 4).order[0], 0);
  EXPECT_TRUE(equals(make_coalesced_layout(128, 8, 4, Axis::row, 2, 8).per_thread, 2, 1));
}

TEST(CoalescedLayout, CoordinatesOfTheKnownAnswer) {
  EXPECT_EQ(kRows.coordinate(0, 0), (Coordinate{0, 0}));
  EXPECT_EQ(kRows.coordinate(1, 0), (Coordinate{0, 4}));
  EXPECT_EQ(kRows.coordinate(15, 0), (Coordinate{0, 60}));
  EXPECT_EQ(kRows.coordinate(16, 0), (Coordinate{1, 0}));
  EXPECT_EQ(kRows.coordinate(32, 0), (Coordinate{2, 0}));
  EXPECT_EQ(kRows.coordinate(127, 0), (Coordinate{7, 60}));
  EXPECT_EQ(kRows.coordinate(0, 1), (Coordinate{8, 0}));
  EXPECT_EQ(kRows.coordinate(127, 7), (Coordinate{63, 60}));
}

TEST(CoalescedLayout, PrefersLanesThatLeaveNoneIdle) {
  // 48 columns are 12 vectors of 4: 4 lanes (64 bytes) divide them, 8 would idle half of the second repetition.
  const CoalescedLayout layout = make_coalesced_layout(64, 48, 4, Axis::col, 4, 4);
  EXPECT_TRUE(equals(layout.lanes, 8, 4));
  EXPECT_TRUE(equals(layout.warps, 4, 1));
  EXPECT_TRUE(layout.exact());
  // 9 single elements: one lane would divide them and waste seven eighths of every sector.
  EXPECT_TRUE(equals(make_coalesced_layout(64, 9, 4, Axis::col, 1, 4).lanes, 4, 8));
}

// Calls check(layout) for many tiles, types, axes, divisibilities and warp counts.
template <typename Check>
void for_many_layouts(const Check& check) {
  for (int rows : {1, 2, 3, 4, 7, 8, 16, 24, 32, 48, 64, 96, 128, 256}) {
    for (int cols : {1, 2, 4, 5, 8, 12, 16, 32, 33, 64, 80, 128}) {
      for (int element_bytes : {1, 2, 4, 8}) {
        for (Axis axis : {Axis::row, Axis::col}) {
          for (int divisibility : {1, 2, 4, 8, 16, 128}) {
            for (int warps : {1, 2, 3, 4, 6, 8, 16}) {
              const int contiguity = 1 << 20;
              const CoalescedLayout layout =
                  make_coalesced_layout(rows, cols, element_bytes, axis == Axis::row ? contiguity : 1,
                                        axis == Axis::col ? contiguity : 1, divisibility, warps, axis);
              check(layout, axis, divisibility, warps);
              if (testing::Test::HasFatalFailure()) FAIL() << to_string(layout) << ", " << element_bytes << " bytes";
            }
          }
        }
      }
    }
  }
}

TEST(CoalescedLayout, ShapeIsSound) {
  for_many_layouts([](const CoalescedLayout& layout, Axis axis, int divisibility, int warps) {
    const int fast = static_cast<int>(axis);
    ASSERT_EQ(layout.order[0], fast);
    ASSERT_EQ(layout.order[1], 1 - fast);
    ASSERT_EQ(layout.lanes[0] * layout.lanes[1], kWarpSize);
    ASSERT_EQ(layout.warps[0] * layout.warps[1], warps);
    ASSERT_EQ(layout.threads(), warps * kWarpSize);
    ASSERT_EQ(layout.per_thread[1 - fast], 1);
    ASSERT_EQ(layout.tile[fast] % layout.per_thread[fast], 0);
    if (layout.vector_elements() > 1) {
      ASSERT_LE(layout.vector_bytes(), std::min(16, divisibility));
      // A wide vector never leaves threads without work.
      ASSERT_LE(layout.threads() * layout.vector_elements(), layout.tile[0] * layout.tile[1]);
    }
  });
}

TEST(CoalescedLayout, EveryElementIsCoveredExactlyOnce) {
  std::vector<int> count;
  for_many_layouts([&](const CoalescedLayout& layout, Axis axis, int divisibility, int warps) {
    // A part of them, since this walks every element: the types that are served, the outer divisibilities.
    if (layout.element_bytes == 1 || layout.element_bytes == 8) return;
    if ((divisibility != 1 && divisibility != 8 && divisibility != 16) || warps == 3 || warps == 16) return;
    count.assign(static_cast<std::size_t>(layout.tile[0]) * layout.tile[1], 0);
    bool all_covered = true;
    for (int repetition = 0; repetition < layout.repetitions(); ++repetition) {
      for (int thread = 0; thread < layout.threads(); ++thread) {
        const Coordinate first = layout.coordinate(thread, repetition);
        ASSERT_GE(first.row, 0);
        ASSERT_GE(first.col, 0);
        if (!layout.covers(thread, repetition)) {
          all_covered = false;
          continue;
        }
        for (int e = 0; e < layout.vector_elements(); ++e) {
          const int row = first.row + (axis == Axis::row ? e : 0);
          const int col = first.col + (axis == Axis::col ? e : 0);
          ASSERT_LT(row, layout.tile[0]);
          ASSERT_LT(col, layout.tile[1]);
          ++count[static_cast<std::size_t>(row) * layout.tile[1] + col];
        }
      }
    }
    ASSERT_TRUE(std::all_of(count.begin(), count.end(), [](int n) { return n == 1; }));
    ASSERT_EQ(layout.exact(), all_covered);
  });
}

TEST(CoalescedLayout, RepetitionsAddTheSameOffsetToEveryThread) {
  for_many_layouts([](const CoalescedLayout& layout, Axis, int divisibility, int warps) {
    if (divisibility != 16 || warps > 4) return;
    const Coordinate origin = layout.coordinate(0, 0);
    ASSERT_EQ(origin, (Coordinate{0, 0}));
    for (int repetition = 0; repetition < layout.repetitions(); ++repetition) {
      const Coordinate step = layout.coordinate(0, repetition);
      for (int thread = 0; thread < layout.threads(); ++thread) {
        const Coordinate base = layout.coordinate(thread, 0);
        ASSERT_EQ(layout.coordinate(thread, repetition), (Coordinate{base.row + step.row, base.col + step.col}));
      }
    }
  });
}

// Sectors that a warp touches, over the least that its bytes could lie in: 1.0 is full coalescing.
TEST(CoalescedLayout, AlignedTilesMoveFullSectors) {
  for (int rows : {8, 16, 32, 64, 128}) {
    for (int cols : {8, 16, 32, 64, 128}) {
      for (int element_bytes : {2, 4}) {
        for (Axis axis : {Axis::row, Axis::col}) {
          for (int width : {1, 2, 4, 8}) {
            if (width * element_bytes > kMaxVectorBytes) continue;
            const int fast_extent = axis == Axis::row ? rows : cols;
            if (fast_extent * element_bytes < kSectorBytes) continue;  // lines shorter than a sector cannot
            const std::int64_t ld = 4096;
            const CoalescedLayout layout = make_coalesced_layout(rows, cols, element_bytes, axis, width, 4);
            for (int repetition = 0; repetition < layout.repetitions(); ++repetition) {
              for (int warp = 0; warp < 4; ++warp) {
                std::set<std::int64_t> sectors;
                std::int64_t bytes = 0;
                for (int lane = 0; lane < kWarpSize; ++lane) {
                  const int thread = warp * kWarpSize + lane;
                  if (!layout.covers(thread, repetition)) continue;
                  const Coordinate at = layout.coordinate(thread, repetition);
                  const std::int64_t element = axis == Axis::row ? at.row + at.col * ld : at.col + at.row * ld;
                  sectors.insert(element * element_bytes / kSectorBytes);
                  bytes += layout.vector_bytes();
                }
                ASSERT_EQ(static_cast<std::int64_t>(sectors.size()) * kSectorBytes, bytes)
                    << to_string(layout) << ", " << element_bytes << " bytes";
              }
            }
          }
        }
      }
    }
  }
}

TEST(CoalescedLayout, PrintsItself) {
  EXPECT_EQ(to_string(kRows), "64x64: per thread [1, 4], lanes [2, 16], warps [4, 1], 8 repetitions");
}

}  // namespace
}  // namespace xgemm::layout
