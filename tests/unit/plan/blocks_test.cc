// Blocks of products that may be emulated: they are the product, and bounded.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "plan/blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "runtime/prepared.h"
#include "support/matrix.h"
#include "unit/plan/devices.h"

namespace xgemm::plan {
namespace {

Problem product(std::int64_t m, std::int64_t n, std::int64_t k, Op a, Op b) {
  Problem p;
  p.compute = Compute::fp32_emulated;
  p.m = m, p.n = n, p.k = k;
  p.alpha = {2, nullptr};
  p.beta = {0.5, nullptr};
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<float*>(address); };
  p.a = {DType::f32, at(std::uintptr_t{1} << 40), a, a == Op::none ? m + 3 : k + 3, 0};
  p.b = {DType::f32, at(std::uintptr_t{1} << 41), b, b == Op::none ? k + 5 : n + 5, 0};
  p.c = {DType::f32, at(std::uintptr_t{1} << 42), m + 7, 0};
  return p;
}

// Offset of an element of op(X), in elements.
std::int64_t offset(const InputMatrix& x, std::int64_t row, std::int64_t column) {
  return x.op == Op::none ? row + column * x.ld : column + row * x.ld;
}
std::int64_t between(const void* from, const void* to) {
  return static_cast<const float*>(to) - static_cast<const float*>(from);
}

// The elements that have to be split for a block.
double elements(const Problem& p) {
  const auto entries = [&](const InputMatrix& x) { return x.batch_stride == 0 ? 1.0 : double(p.batch_count); };
  return (entries(p.a) * double(p.m) + entries(p.b) * double(p.n)) * double(p.k);
}

TEST(Blocks, AreTheProductInTheOrderOfK) {
  test::Random random(1);
  int batches = 0;
  for (int i = 0; i < 400; ++i) {
    const std::int64_t most = i % 3 == 0 ? 40000 : i % 3 == 1 ? 9000 : 2000;
    const auto extent = [&] { return random.integer(1, most); };
    Problem all = product(extent(), extent(), extent(), i % 2 != 0 ? Op::transpose : Op::none,
                          i % 4 < 2 ? Op::transpose : Op::none);
    if (i % 5 == 0) {
      all.batch_count = random.integer(2, 300);
      // More than any entry takes.
      const std::int64_t stride = std::int64_t{1} << 33;
      all.a.batch_stride = random.integer(0, 2) == 0 ? 0 : stride;
      all.b.batch_stride = random.integer(0, 2) == 0 ? 0 : stride;
      all.c.batch_stride = stride;
    }
    Blocks blocks(all);
    double volume = 0;
    std::int64_t next_k = 0, count = 0;
    const void* c = nullptr;
    for (Problem block; blocks.next(&block); ++count) {
      ASSERT_TRUE(block.m > 0 && block.n > 0 && block.k > 0 && block.batch_count > 0);
      ASSERT_TRUE(block.m <= Blocks::kMost && block.n <= Blocks::kMost && block.k <= Blocks::kMost);
      ASSERT_TRUE(block.batch_count == 1 || elements(block) <= 2.0 * Blocks::kMost * Blocks::kMost);
      const std::int64_t offset_c = between(all.c.data, block.c.data);
      const std::int64_t entry = all.batch_count == 1 ? 0 : offset_c / all.c.batch_stride;
      const std::int64_t place = offset_c - entry * all.c.batch_stride;
      const std::int64_t row = place % all.c.ld, column = place / all.c.ld;
      ASSERT_TRUE(row + block.m <= all.m && column + block.n <= all.n && entry + block.batch_count <= all.batch_count);
      const bool first = block.c.data != c;
      if (first) {
        ASSERT_TRUE(next_k == 0 || next_k == all.k);
        next_k = 0;
        c = block.c.data;
      }
      ASSERT_EQ(between(all.a.data, block.a.data), offset(all.a, row, next_k) + entry * all.a.batch_stride);
      ASSERT_EQ(between(all.b.data, block.b.data), offset(all.b, next_k, column) + entry * all.b.batch_stride);
      ASSERT_TRUE(block.beta == (first ? all.beta : Scalar{1, nullptr}));
      ASSERT_TRUE(block.alpha == all.alpha && block.compute == all.compute);
      next_k += block.k;
      volume += double(block.m) * double(block.n) * double(block.k) * double(block.batch_count);
    }
    EXPECT_EQ(next_k, all.k);
    EXPECT_EQ(volume, double(all.m) * double(all.n) * double(all.k) * double(all.batch_count));
    EXPECT_EQ(Blocks(all).whole(), count == 1);
    batches += all.batch_count > 1 && count > 1 ? 1 : 0;
  }
  EXPECT_GT(batches, 30);
}

// Each block of a product finds its own of what was prepared of all of the operand, in a place of its own; other parts
// of the operand and other operands find nothing.
TEST(Blocks, OfPreparedOperandsAreFound) {
  test::Random random(2);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t most = i % 2 == 0 ? 40000 : 9000;
    const auto extent = [&] { return i % 7 == 0 && random.integer(0, 2) == 0 ? 1 : random.integer(1, most); };
    const Problem all = product(extent(), extent(), extent(), i % 2 != 0 ? Op::transpose : Op::none,
                                i % 4 < 2 ? Op::transpose : Op::none);
    std::vector<char> memory(1 << 10);
    for (const auto lines_of : {runtime::lines_of_a, runtime::lines_of_b}) {
      xgemm_prepared prepared;
      prepared.operand = lines_of(all);
      prepared.block_lines = Blocks::of_lines(prepared.operand.lines);
      prepared.block_k = Blocks::of_k(prepared.operand.k);
      prepared.block_bytes = 1;
      prepared.memory = memory.data();
      ASSERT_LE(prepared.blocks(), static_cast<std::int64_t>(memory.size()));
      std::map<void*, const void*> found;
      Blocks blocks(all);
      for (Problem block; blocks.next(&block);) {
        OperandLines lines = lines_of(block);
        void* const at = prepared.find(lines);
        ASSERT_TRUE(at >= memory.data() && at < memory.data() + prepared.blocks());
        ASSERT_EQ(found.try_emplace(at, lines.data).first->second, lines.data);
        lines.k += 1;
        ASSERT_EQ(prepared.find(lines), nullptr);
        lines.k -= 1, lines.lines -= 1;
        ASSERT_EQ(prepared.find(lines), nullptr);
        lines.lines += 1, lines.ld += 1;
        ASSERT_EQ(prepared.find(lines), nullptr);
        lines.ld -= 1, lines.data = nullptr;
        ASSERT_EQ(prepared.find(lines), nullptr);
      }
      EXPECT_EQ(std::ssize(found), prepared.blocks());
    }
  }
}

TEST(Prepared, OnAnotherGpuIsRefused) {
  Problem p = product(600, 700, 800, Op::none, Op::none);
  char memory = 0;
  xgemm_prepared prepared;
  prepared.memory = &memory;
  prepared.device = 1;
  p.b.prepared = &prepared;
  device::DeviceInfo device;
  device.ordinal = 0;
  const auto refused = [&](Status status) {
    EXPECT_EQ(status.code, XGEMM_UNSUPPORTED);
    EXPECT_STREQ(last_error(), "an operand was prepared on GPU 1, but GPU 0 computes the product");
  };
  refused(runtime::device_gemm(p, device, {}));
  std::string text;
  refused(runtime::explain_plan(p, device, &text));
}

// As where products are not emulated: the handle of any GPU is of no effect on all.
TEST(Prepared, HandlesWithoutMemoryAreForAllGpus) {
  Problem p = product(600, 700, 800, Op::none, Op::none);
  xgemm_prepared prepared;
  prepared.device = 1;
  p.a.prepared = &prepared;
  std::string text;
  EXPECT_EQ(runtime::explain_plan(p, test::fake_device(90, 132, 227), &text).code, XGEMM_SUCCESS) << last_error();
}

}  // namespace
}  // namespace xgemm::plan
