// Batches whose matrices are found by pointers: what is copied at once, and where the copies lie.
#include "core/pointer_batch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/matrix.h"

namespace xgemm::test {
namespace {

std::uintptr_t at(const void* x) {
  return reinterpret_cast<std::uintptr_t>(x);
}

// Sizes that no memory has are not counted beyond 64 bits.
TEST(PointerBatch, OfMatricesWithoutMeasureOneAtOnce) {
  Problem p;
  p.batch_kind = BatchKind::pointers;
  p.m = p.n = p.k = std::int64_t{3} << 30;
  p.alpha.value = 1;
  p.batch_count = 7;
  EXPECT_EQ(entries_at_once(p), 1);
  EXPECT_GT(CopiedEntry(p).bytes(), std::int64_t{1} << 60);
}

// Parts cover the entries once; copies are aligned, do not overlap, and end in the buffer.
TEST(PointerBatch, CopiesLieSideBySide) {
  Random random(4);
  for (int i = 0; i < 500; ++i) {
    Problem p;
    p.batch_kind = BatchKind::pointers;
    p.m = random.integer(1, 3000), p.n = random.integer(1, 3000), p.k = random.integer(0, 3000);
    p.batch_count = random.integer(1, 100);
    p.a.type = p.b.type = random.integer(0, 1) == 0 ? DType::f16 : DType::f64;
    p.c.type = random.integer(0, 1) == 0 ? p.a.type : sums_of(p.a.type);
    p.a.op = random.integer(0, 1) == 0 ? Op::none : Op::transpose;
    p.b.op = random.integer(0, 1) == 0 ? Op::none : Op::transpose;
    p.alpha.value = 1;
    std::vector<const void*> a(100), b(100);
    std::vector<void*> c(100);
    p.a.data = a.data(), p.b.data = b.data(), p.c.data = c.data();
    const std::int64_t at_once = entries_at_once(p), bytes = at_once * CopiedEntry(p).bytes();
    EXPECT_TRUE(at_once >= 1 && at_once <= p.batch_count);
    EXPECT_TRUE(at_once == 1 || bytes <= kMostBufferedBytes);
    void* const buffer = reinterpret_cast<void*>(std::uintptr_t{1} << 30);
    std::int64_t entries = 0;
    for (std::int64_t first = 0; first < p.batch_count; first += at_once) {
      const Problem part = some_entries(p, first, at_once), copied = copied_entries(p, first, at_once, buffer);
      entries += part.batch_count;
      EXPECT_EQ(part.a.data, &a[static_cast<std::size_t>(first)]);
      EXPECT_EQ(part.c.data, &c[static_cast<std::size_t>(first)]);
      ASSERT_EQ(copied.batch_kind, BatchKind::strided);
      ASSERT_EQ(copied.batch_count, part.batch_count);
      std::uintptr_t end = at(buffer);
      const auto follows = [&](const auto& x, std::int64_t rows, std::int64_t columns) {
        EXPECT_EQ(at(x.data), end);
        EXPECT_TRUE(x.ld >= rows && x.ld * size_of(x.type) % 16 == 0);
        EXPECT_TRUE(copied.batch_count == 1 || x.batch_stride >= x.ld * columns);
        end += static_cast<std::uintptr_t>(x.ld * columns * copied.batch_count * size_of(x.type));
      };
      if (p.reads_inputs()) {
        p.a.op == Op::none ? follows(copied.a, p.m, p.k) : follows(copied.a, p.k, p.m);
        p.b.op == Op::none ? follows(copied.b, p.k, p.n) : follows(copied.b, p.n, p.k);
      }
      follows(copied.c, p.m, p.n);
      EXPECT_TRUE(end <= at(buffer) + static_cast<std::uintptr_t>(bytes));
    }
    EXPECT_EQ(entries, p.batch_count);
  }
}

}  // namespace
}  // namespace xgemm::test
