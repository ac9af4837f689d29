// Which operands are copied, into what layout, and in blocks of which size.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/common/legality.h"
#include "kernels/family.h"
#include "kernels/pack/params.h"
#include "plan/planner.h"
#include "unit/plan/plans.h"
#include "unit/plan/problems.h"

namespace xgemm::test {
namespace {

using device::DeviceInfo;
using plan::PackedOperand;
using plan::Packing;

std::vector<Packing> packings_for(const Problem& p, const DeviceInfo& device) {
  return plan::packings_of(p, plan::gather_facts(p), device);
}

// Of all that lies badly.
std::optional<Packing> packing_for(const Problem& p, const DeviceInfo& device) {
  const std::vector<Packing> all = packings_for(p, device);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

// What a copy holds: rows x cols elements of so many bytes, of so many entries.
struct Extent {
  PackedOperand copy;
  std::int64_t rows, cols, entries;
  int element_bytes;
};

std::vector<Extent> copies_of(const Packing& packing, const Problem& p) {
  const auto entries = [&](const InputMatrix& x) {
    return x.batch_stride == 0 && p.batch_kind == BatchKind::strided ? 1 : packing.batch;
  };
  std::vector<Extent> all = {{packing.a, packing.m, p.k, entries(p.a), size_of(p.a.type)},
                             {packing.b, p.k, packing.n, entries(p.b), size_of(p.b.type)},
                             {packing.c, packing.m, packing.n, packing.batch, size_of(p.c.type)}};
  std::erase_if(all, [](const Extent& x) { return !x.copy.used; });
  return all;
}

// Copies are aligned, lie one behind the other, and hold what they have to; arrays of pointers to them lie behind.
void expect_sound(const Packing& packing, const Problem& p) {
  std::size_t end = 0;
  for (const auto& [copy, rows, cols, entries, bytes] : copies_of(packing, p)) {
    const std::int64_t length = copy.contiguous == layout::Axis::row ? rows : cols;
    const std::int64_t lines = copy.contiguous == layout::Axis::row ? cols : rows;
    EXPECT_GE(copy.offset, end);
    EXPECT_EQ(copy.offset % 256, 0u);
    EXPECT_GE(copy.ld, length);
    EXPECT_EQ(copy.ld * bytes % 16, 0);
    EXPECT_TRUE(entries == 1 ? copy.batch_stride == 0 : copy.batch_stride >= copy.ld * lines);
    EXPECT_EQ(copy.batch_stride * bytes % 16, 0);
    end = copy.offset + static_cast<std::size_t>(copy.ld * lines * entries * bytes);
  }
  if (p.by_pointers()) {
    for (const Extent& x : copies_of(packing, p)) {
      EXPECT_GE(x.copy.pointers, end);
      end = x.copy.pointers + static_cast<std::size_t>(packing.batch) * sizeof(void*);
    }
  }
  EXPECT_LE(end, packing.bytes);
  EXPECT_TRUE(packing.m >= 1 && packing.m <= p.m && packing.n >= 1 && packing.n <= p.n && packing.batch >= 1 &&
              packing.batch <= p.batch_count);
}

TEST(Packing, HoldsWhatABlockNeedsWithinTheLimit) {
  Random random(71);
  int packed = 0, in_blocks = 0;
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    const Problem p = random_problem(random);
    DeviceInfo device = fake_devices()[static_cast<std::size_t>(i) % fake_devices().size()];
    device.memory_bytes = std::size_t{1} << random.integer(26, 37);
    SCOPED_TRACE(to_string(p));
    for (const Packing& packing : packings_for(p, device)) {
      ++packed;
      if (plan::blocks_of(packing, p) > 1) ++in_blocks;
      SCOPED_TRACE(plan::to_string(packing));
      EXPECT_TRUE(packing.any() && p.reads_inputs());
      EXPECT_LE(packing.bytes, plan::packing_limit(device));
      expect_sound(packing, p);
    }
  }
  EXPECT_TRUE(packed > 1000 && in_blocks > 100) << packed << ", " << in_blocks;
}

// What is not copied is as aligned for the kernel of a block as it is in all entries of the batch.
TEST(Packing, BlocksKnowTheWholeBatch) {
  Random random(74);
  int blocks = 0;
  for (int i = 0; i < 20000; ++i) {
    const Problem p = random_problem(random);
    DeviceInfo device = h200();
    device.memory_bytes = std::size_t{1} << random.integer(26, 37);
    const plan::ProblemFacts whole = plan::gather_facts(p);
    for (const Packing& packing : packings_for(p, device)) {
      if (packing.batch == p.batch_count || packing.n == 1) continue;
      ++blocks;
      const plan::ProblemFacts facts = plan::packed_facts(packing, plan::packed_problem(packing, p), p);
      const auto aligned = [](const layout::StridedOperand& x) {
        return kernels::divisibility_along(x, layout::Axis::row);
      };
      ASSERT_EQ(aligned(facts.c), aligned(whole.c)) << to_string(p) << plan::to_string(packing);
    }
  }
  EXPECT_GT(blocks, 50);
}

// Those by pointers in blocks of whole products, with an array of pointers to each copy behind all copies.
TEST(Packing, BatchesByPointersAreCopiedWithPointersToTheCopies) {
  Random random(75);
  int packed = 0, in_blocks = 0;
  for (int i = 0; i < 20000 && !HasFailure(); ++i) {
    Problem p = random_problem(random);
    if (p.fill != Fill::full) continue;
    p.batch_kind = BatchKind::pointers;
    p.a.batch_stride = p.b.batch_stride = p.c.batch_stride = 0;
    DeviceInfo device = h200();
    device.memory_bytes = std::size_t{1} << random.integer(26, 37);
    SCOPED_TRACE(to_string(p));
    for (const Packing& packing : plan::packings_of(p, layout::facts_on_vectors(p), device)) {
      ++packed;
      if (packing.batch < p.batch_count) ++in_blocks;
      SCOPED_TRACE(plan::to_string(packing));
      expect_sound(packing, p);
      EXPECT_TRUE(packing.m == p.m && packing.n == p.n && !packing.c.used);
      const Problem block = plan::packed_problem(packing, p);
      EXPECT_EQ(block.batch_kind, BatchKind::pointers);
      EXPECT_EQ(block.a.batch_stride | block.b.batch_stride, 0);
    }
  }
  EXPECT_TRUE(packed > 1000 && in_blocks > 100) << packed << ", " << in_blocks;
}

// A kernel that finishes only where TMA stores all of C is asked about the whole of it.
TEST(Packing, KernelsFinishNoBlocks) {
  Problem p = make_problem(DType::f16, 'N', 'N', 40001, 4096, 8192, {.lda = 1});
  p.c.ld = 40008;
  p.beta = {0, nullptr};
  p.epilogue.activation = Activation::relu;
  plan::Plan chosen;
  ASSERT_TRUE(plan::make_plan(p, plan::gather_facts(p), h200(), "", &chosen).ok());
  EXPECT_TRUE(chosen.needs_pass) << plan::to_string(chosen);
}

// Smaller and smaller, in multiples of tiles, down to a tile.
TEST(Packing, BlocksShrinkToATile) {
  Random random(72);
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    const Problem p = random_problem(random);
    const std::optional<Packing> first = packing_for(p, h200());
    if (!first) continue;
    SCOPED_TRACE(to_string(p));
    Packing packing = *first;
    while (const auto smaller = plan::in_smaller_blocks(packing, p, 96, 256)) {
      EXPECT_LT(smaller->bytes, packing.bytes);
      EXPECT_TRUE(smaller->m == packing.m || smaller->m % 96 == 0);
      EXPECT_TRUE(smaller->n == packing.n || smaller->n % 256 == 0);
      expect_sound(*smaller, p);
      packing = *smaller;
      ASSERT_FALSE(HasFailure()) << plan::to_string(packing);
    }
    const bool of_entries =
        (packing.a.used && p.a.batch_stride != 0) || (packing.b.used && p.b.batch_stride != 0) || packing.c.used;
    EXPECT_TRUE(packing.batch == 1 || !of_entries);
    EXPECT_TRUE(packing.m <= 96 || !(packing.a.used || packing.c.used));
    EXPECT_TRUE(packing.n <= 256 || !(packing.b.used || packing.c.used));
  }
}

// Inputs that are not plain reach kernels as copies, or those that take any strides, also where no copy can be had.
TEST(Packing, AnyStridesAreServed) {
  Random random(73);
  int copied = 0, as_they_lie = 0;
  for (int i = 0; i < 3000 && !HasFailure(); ++i) {
    Problem p = some_problem(random);
    const auto spoil = [&](InputMatrix& x) {
      x.step = pick(random, {0, 1, 1, -1, 2, 3, 100});
      x.ld = pick(random, {0, 1, -1, 2, -5000, 4096});
    };
    if (random.integer(0, 3) != 0) spoil(p.a);
    if (random.integer(0, 3) != 0) spoil(p.b);
    DeviceInfo device = fake_devices()[static_cast<std::size_t>(i) % fake_devices().size()];
    if (random.integer(0, 3) == 0) device.has_memory_pools = false;
    if (!kernels::serves(p.types(), device)) continue;
    SCOPED_TRACE(to_string(p));
    plan::Plan chosen;
    ASSERT_TRUE(plan::make_plan(p, plan::gather_facts(p), device, "", &chosen).ok());
    // The strides of single lines say nothing.
    if (!p.reads_inputs() || p.m < 2 || p.n < 2 || p.k < 2) continue;
    const bool any_strides = kernels::info(chosen.kernel).config.any_strides;
    const auto check = [&](bool plain, const PackedOperand& copy) {
      if (plain) return;
      ++(copy.used ? copied : as_they_lie);
      EXPECT_TRUE(copy.used || any_strides) << plan::to_string(chosen);
    };
    const auto is_plain = [](const InputMatrix& x, std::int64_t rows, std::int64_t cols) {
      return (x.row_stride() == 1 && x.col_stride() >= rows) || (x.col_stride() == 1 && x.row_stride() >= cols);
    };
    check(is_plain(p.a, p.m, p.k), chosen.packing.a);
    check(is_plain(p.b, p.k, p.n), chosen.packing.b);
  }
  EXPECT_TRUE(copied > 500 && as_they_lie > 500) << copied << ", " << as_they_lie;
}

// Operands that lie well stay where they are; without a product nothing is copied, and without memory nothing can be.
TEST(Packing, OnlyWhatLiesBadlyIsCopied) {
  for (const DType type : {DType::f16, DType::bf16})
    for (const char transa : {'N', 'T'})
      for (const char transb : {'N', 'T'})
        for (const std::int64_t batch : {1, 3}) {
          const Problem well = make_problem(type, transa, transb, 128, 256, 512, {}, batch);
          EXPECT_FALSE(packing_for(well, h200()));
          const struct {
            Alignment at;
            bool a, b, c;
          } kCases[] = {{{.a = 1}, true, false, false},           {{.lda = 1}, true, false, false},
                        {{.b = 4}, false, true, false},           {{.ldb = 3}, false, true, false},
                        {{.c = 2}, false, false, true},           {{.ldc = 1}, false, false, true},
                        {{.a = 8, .ldb = 8}, false, false, false}};
          for (const auto& [at, a, b, c] : kCases) {
            Problem p = make_problem(type, transa, transb, 128, 256, 512, at, batch);
            p.beta.value = 1;
            const std::optional<Packing> packing = packing_for(p, h200());
            ASSERT_EQ(packing.has_value(), a || b || c) << to_string(p);
            if (!packing) continue;
            EXPECT_TRUE(packing->a.used == a && packing->b.used == b && packing->c.used == c) << to_string(p);
            DeviceInfo without = h200();
            without.has_memory_pools = false;
            EXPECT_FALSE(packing_for(p, without));
            p.alpha.value = 0;
            EXPECT_FALSE(packing_for(p, h200()));
          }
          const Problem odd_stride = make_problem(type, transa, transb, 128, 256, 512, {.stride = 1}, batch);
          EXPECT_EQ(packing_for(odd_stride, h200()).has_value(), batch > 1);
        }
}

// The FMA units read both inputs along the axes that they share with C: what lies along k is turned, together with the
// other input or alone. C stays where it is, whatever its alignment.
TEST(Packing, CopiesOfFp32LieAlongC) {
  for (const char transa : {'N', 'T'})
    for (const char transb : {'N', 'T'})
      for (const std::int64_t odd : {0, 1}) {
        Problem p = make_problem(DType::f32, transa, transb, 128, 256, 512, {.b = odd, .lda = odd, .ldc = odd});
        p.beta.value = 1;
        const bool a = transa == 'T' || odd != 0, b = transb == 'N' || odd != 0;
        std::vector<std::pair<bool, bool>> seen;
        for (const Packing& packing : packings_for(p, h200())) {
          seen.emplace_back(packing.a.used, packing.b.used);
          EXPECT_FALSE(packing.c.used);
          EXPECT_TRUE(!packing.a.used || packing.a.contiguous == layout::Axis::row);
          EXPECT_TRUE(!packing.b.used || packing.b.contiguous == layout::Axis::col);
        }
        using Ways = std::vector<std::pair<bool, bool>>;
        const Ways both = {{true, true}, {true, false}, {false, true}}, one = {{a, b}}, none;
        EXPECT_EQ(seen, a && b ? both : a || b ? one : none) << to_string(p);
      }
}

// Tensor cores read TF32 along k, and one operand also along the axis that it shares with C: what lies across k is
// copied, all of it or, where it is aligned, but for one operand.
TEST(Packing, CopiesForTf32LieAlongK) {
  for (const char transa : {'N', 'T'})
    for (const char transb : {'N', 'T'})
      for (const std::int64_t odd_a : {0, 1})
        for (const std::int64_t odd_b : {0, 1}) {
          Problem p = make_problem(DType::f32, transa, transb, 128, 256, 512, {.lda = odd_a, .ldb = odd_b});
          const std::vector<Packing> strict = packings_for(p, h200());
          p.compute = Compute::tf32;
          const std::vector<Packing> all = packings_for(p, h200());
          SCOPED_TRACE(to_string(p));
          ASSERT_GE(all.size(), strict.size());
          const auto ways = all.begin() + static_cast<std::ptrdiff_t>(strict.size());
          EXPECT_TRUE(std::equal(strict.begin(), strict.end(), all.begin()));
          const bool a = transa == 'N' || odd_a != 0, b = transb == 'T' || odd_b != 0;
          std::vector<std::pair<bool, bool>> seen, expected;
          for (auto way = ways; way != all.end(); ++way) {
            seen.emplace_back(way->a.used, way->b.used);
            EXPECT_FALSE(way->c.used);
            EXPECT_TRUE(!way->a.used || way->a.contiguous == layout::Axis::col);
            EXPECT_TRUE(!way->b.used || way->b.contiguous == layout::Axis::row);
          }
          if (transa == 'N' && odd_a == 0 && b) expected.emplace_back(false, true);
          if (transb == 'T' && odd_b == 0 && a) expected.emplace_back(true, false);
          if (a || b) expected.emplace_back(a, b);
          EXPECT_EQ(seen, expected);
        }
}

// Doubles are read wherever they start.
TEST(Packing, DoublesStayWhereTheyAre) {
  Problem p = make_problem(DType::f64, 'T', 'N', 128, 256, 512, {.a = 8, .lda = 1, .ldb = 1, .ldc = 1});
  p.beta.value = 1;
  EXPECT_FALSE(packing_for(p, h200()));
}

// The last blocks, and smaller ones where memory is scarce, sum each element as the plan's blocks do.
TEST(Packing, SmallerBlocksKeepThePartsAndTheirOrder) {
  Random random(73);
  int seen = 0;
  for (int i = 0; i < 400 && !HasFailure(); ++i) {
    const Problem p = random_problem(random);
    for (const plan::Plan& plan : plan::candidates(p, plan::gather_facts(p), h200())) {
      if (!plan.packing.any()) continue;
      const Problem block = plan::packed_problem(plan.packing, p);
      EXPECT_EQ(plan::schedule_of_block(plan, block, h200()), plan.schedule);
      if (!plan.may_shrink_blocks()) continue;
      const auto smaller = plan::in_smaller_blocks(plan.packing, p, 512, 512);
      if (!smaller) continue;
      ++seen;
      const kernels::Schedule schedule = plan::schedule_of_block(plan, plan::packed_problem(*smaller, p), h200());
      EXPECT_TRUE(schedule.parts == plan.schedule.parts && schedule.sum_lanes == plan.schedule.sum_lanes);
      EXPECT_EQ(schedule.split_tiles == 0, plan.schedule.split_tiles == 0);
      EXPECT_TRUE(schedule.split_tiles == 0 || schedule.whole_tiles == 0);
    }
  }
  EXPECT_GT(seen, 100);
}

// Of what a pass copies, threads have at least five eighths of the vectors that they have room for, where lines are
// many, and a half where a few are long.
TEST(Packing, PassesKeepTheirThreadsBusy) {
  using Pass = kernels::PackParams;
  const auto busy = [](std::int64_t vectors, std::int64_t lines) {
    const int width = Pass::width_of(vectors, lines);
    const double room = double(Pass::tiles(vectors, lines, width)) * Pass::kThreads * Pass::kLinesAtOnce;
    return double(vectors) * double(lines) / room;
  };
  for (std::int64_t vectors = 1; vectors < 3000; ++vectors) EXPECT_GE(busy(vectors, 1 << 20), 0.625) << vectors;
  for (std::int64_t lines : {3, 4, 7, 8, 12, 16})
    for (std::int64_t vectors = 2000; vectors < 5000; ++vectors)
      EXPECT_GE(busy(vectors, lines), 0.5) << lines << " lines of " << vectors;
}

}  // namespace
}  // namespace xgemm::test
