// Products with an epilogue in two steps: what comes before the pass, and the panels.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "core/finishing.h"

#include <gtest/gtest.h>

#include "unit/core/args.h"

namespace xgemm::test {
namespace {

Problem some_problem(DType type, DType type_c) {
  Problem p;
  p.m = 100, p.n = 50, p.k = 30;
  p.a = {type, nowhere(0x1000), Op::none, 128, 7777};
  p.b = {type, nowhere(0x2000), Op::none, 64, 8888};
  p.c = {type_c, nowhere(0x4000), 112, 9999};
  p.alpha = {0.5, nullptr};
  p.beta = {2, nullptr};
  p.epilogue.activation = Activation::silu;
  return p;
}

TEST(Finishing, SumsOfTheirOwnTypeAreCombinedInPlace) {
  const Problem p = some_problem(DType::f32, DType::f32);
  EXPECT_FALSE(needs_buffer(p));
  Problem plain = p;
  plain.epilogue = {};
  EXPECT_EQ(product_before(p, nullptr), plain);
}

TEST(Finishing, OthersAreSumsAlone) {
  for (const bool other : {false, true}) {
    Problem p = some_problem(other ? DType::f64 : DType::bf16, other ? DType::f64 : DType::bf16);
    EXPECT_EQ(combines_in_place(p), other);
    if (other) p.epilogue.old_c = nowhere(0x8000);
    EXPECT_EQ(needs_buffer(p), !other);
    const Problem product = *product_before(p, nowhere(0x100));
    EXPECT_FALSE(product.epilogue.any());
    EXPECT_TRUE(product.alpha.is(1) && product.beta.is(0));
    EXPECT_EQ(product.c.type, p.sums());
    EXPECT_EQ(product.c.data, other ? p.c.data : nowhere(0x100));
  }
}

// alpha * AB + bias is rounded once.
TEST(Finishing, SumsThatNothingIsAddedToAreLeftToThePass) {
  Problem p = some_problem(DType::f32, DType::f32);
  p.beta = {0, nullptr};
  EXPECT_FALSE(combines_in_place(p));
  const Problem product = *product_before(p, nullptr);
  EXPECT_TRUE(product.alpha.is(1) && product.beta.is(0));
  EXPECT_EQ(product.c.data, p.c.data);
  p.beta.device = nowhere(0x300);
  EXPECT_TRUE(combines_in_place(p));
}

TEST(Finishing, KernelsMayFinishWhatNeedsNoOtherMatrix) {
  Problem p = some_problem(DType::f16, DType::f16);
  p.beta = {0, nullptr};
  p.epilogue = {.activation = Activation::relu, .bias_along = Along::columns, .bias = nowhere()};
  EXPECT_TRUE(kernels_may_finish(p));
  const auto spoilt = [&](auto spoil) {
    Problem q = p;
    spoil(q);
    return !kernels_may_finish(q);
  };
  EXPECT_TRUE(spoilt([](Problem& q) { q.beta.value = 1; }));
  EXPECT_TRUE(spoilt([](Problem& q) { q.beta.device = nowhere(); }));
  EXPECT_TRUE(spoilt([](Problem& q) { q.k = 0; }));
  EXPECT_TRUE(spoilt([](Problem& q) { q.epilogue = {}; }));
  EXPECT_FALSE(spoilt([](Problem& q) { q.c.type = DType::f32; }));
  EXPECT_TRUE(spoilt([](Problem& q) { q.compute = Compute::fp32_emulated; }));
  EXPECT_FALSE(spoilt([](Problem& q) { q.epilogue.activation = Activation::gelu; }));
  EXPECT_FALSE(spoilt([](Problem& q) { q.epilogue.row_scales = nowhere(); }));
  EXPECT_TRUE(spoilt([](Problem& q) { q.epilogue.old_c = nowhere(); }));
  EXPECT_TRUE(spoilt([](Problem& q) { q.epilogue.aux = nowhere(); }));
}

TEST(Finishing, NothingComesBeforeWhereNothingIsRead) {
  Problem p = some_problem(DType::f16, DType::f16);
  p.alpha.value = 0;
  EXPECT_FALSE(product_before(p, nullptr));
  EXPECT_EQ(Panels(p).buffer_bytes(), 0);
  p = some_problem(DType::f32, DType::f32);
  p.alpha.value = 0, p.beta.value = 1;
  EXPECT_FALSE(product_before(p, nullptr));
}

// Panels cover every column of every entry once, each within the bound, and move all that belongs to columns.
TEST(Finishing, PanelsCoverTheProduct) {
  Random random(8);
  for (int i = 0; i < 500; ++i) {
    Problem p = some_problem(DType::f16, DType::f16);
    p.m = random.integer(1, 5'000'000), p.n = random.integer(1, 5000), p.batch_count = random.integer(1, 40);
    p.b.op = random.integer(0, 1) == 0 ? Op::none : Op::transpose;
    p.epilogue.bias_along = random.integer(0, 1) == 0 ? Along::rows : Along::columns;
    p.epilogue.bias = nowhere(0x100000);
    p.epilogue.column_scales = nowhere(0x200000);
    p.epilogue.old_c = nowhere(0x300000), p.epilogue.ld_old_c = 3, p.epilogue.stride_old_c = 1001;
    p.epilogue.activation = random.integer(0, 1) == 0 ? Activation::relu : Activation::silu;
    p.epilogue.aux = nowhere(0x400000), p.epilogue.ld_aux = 8 * 5, p.epilogue.stride_aux = 8 * 777;
    Panels panels(p);
    EXPECT_LE(panels.buffer_bytes(), std::max(kMostBufferedBytes, p.m * 4));
    const auto at = [](const void* x) { return reinterpret_cast<std::intptr_t>(x); };
    std::int64_t entry = 0, column = 0;
    for (Problem panel; panels.next(&panel);) {
      ASSERT_LE(panel.m * panel.n * panel.batch_count * 4, panels.buffer_bytes());
      ASSERT_TRUE(panel.batch_count == 1 || panel.n == p.n);
      EXPECT_EQ(at(panel.a.data), 0x1000 + 2 * entry * 7777);
      EXPECT_EQ(at(panel.b.data), 0x2000 + 2 * (entry * 8888 + column * (p.b.op == Op::none ? 64 : 1)));
      EXPECT_EQ(at(panel.c.data), 0x4000 + 2 * (entry * 9999 + column * 112));
      EXPECT_EQ(at(panel.epilogue.old_c), 0x300000 + 2 * (entry * 1001 + column * 3));
      const std::int64_t aux = entry * 777 + column * 5;
      EXPECT_EQ(at(panel.epilogue.aux), 0x400000 + aux * (p.epilogue.aux_is_bits() ? 1 : 8 * 2));
      EXPECT_EQ(at(panel.epilogue.bias), 0x100000 + 2 * (p.epilogue.bias_along == Along::columns ? column : 0));
      EXPECT_EQ(at(panel.epilogue.column_scales), 0x200000 + 4 * column);
      if ((column += panel.n) == p.n) column = 0, entry += panel.batch_count;
    }
    ASSERT_EQ(entry, p.batch_count);
    ASSERT_EQ(column, 0);
  }
}

}  // namespace
}  // namespace xgemm::test
