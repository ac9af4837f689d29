// Triangles of C: what a block of C has of one, as problems of their own.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "core/triangle.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "support/matrix.h"
#include "unit/core/args.h"

namespace xgemm::test {
namespace {

// Where an operand of a part begins: in elements from that of all of C.
template <class Matrix>
std::int64_t offset(const Matrix& part, const Matrix& all) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(part.data) -
                                   reinterpret_cast<std::uintptr_t>(all.data)) /
         size_of(all.type);
}

TEST(Triangle, PartsOfABlockAreItsElementsOnce) {
  Random random(12);
  const auto place = [](int number) { return reinterpret_cast<void*>(std::uintptr_t{1} << (40 + number)); };
  for (int round = 0; round < 3000 && !HasFailure(); ++round) {
    Problem all;
    all.m = all.n = random.integer(1, 30);
    all.k = 4;
    all.fill = pick(random, {Fill::full, Fill::lower, Fill::upper});
    const DType type = pick(random, {DType::f32, DType::f64, DType::f16});
    all.a = {type, place(0), pick(random, {Op::none, Op::transpose}), 37, 0};
    all.b = {type, place(1), pick(random, {Op::none, Op::transpose}), 41, 0};
    all.c = {type, place(2), 43, 0};
    const std::int64_t i = random.integer(0, all.n - 1), j = random.integer(0, all.n - 1);
    const std::int64_t m = random.integer(1, all.n - i), n = random.integer(1, all.n - j);
    Problem block = rectangle_of(all, i, m, j, n);
    block.fill = all.fill;
    std::map<std::pair<std::int64_t, std::int64_t>, int> seen;
    int parts = 0;
    ASSERT_TRUE(for_each_part(block, i, j, [&](const Problem& part) {
                  ++parts;
                  EXPECT_GT(part.m, 0);
                  EXPECT_GT(part.n, 0);
                  EXPECT_TRUE(part.fill == Fill::full || (part.fill == all.fill && part.m == part.n));
                  const std::int64_t at = offset(part.c, all.c), row = at % all.c.ld, column = at / all.c.ld;
                  EXPECT_EQ(offset(part.a, all.a), all.a.op == Op::none ? row : row * all.a.ld);
                  EXPECT_EQ(offset(part.b, all.b), all.b.op == Op::none ? column * all.b.ld : column);
                  for (std::int64_t y = 0; y < part.n; ++y)
                    for (std::int64_t x = 0; x < part.m; ++x)
                      if (contains(part.fill, x, y)) ++seen[{row + x, column + y}];
                  return kOk;
                }).ok());
    EXPECT_LE(parts, 3);
    for (std::int64_t y = 0; y < all.n; ++y)
      for (std::int64_t x = 0; x < all.n; ++x) {
        const bool inside = x >= i && x < i + m && y >= j && y < j + n && contains(all.fill, x, y);
        const int times = inside ? 1 : 0;
        EXPECT_EQ((seen[{x, y}]), times) << x << ' ' << y;
      }
  }
}

TEST(Triangle, RectanglesAndColumnsAgreeWithElements) {
  Random random(13);
  for (int round = 0; round < 3000 && !HasFailure(); ++round) {
    const Fill fill = pick(random, {Fill::full, Fill::lower, Fill::upper});
    const std::int64_t i = random.integer(0, 9), j = random.integer(0, 9);
    const std::int64_t m = random.integer(1, 9), n = random.integer(1, 9);
    std::int64_t count = 0;
    for (std::int64_t y = 0; y < n; ++y) {
      const auto [begin, end] = rows_of_column(fill, j + y - i, m);
      for (std::int64_t x = 0; x < m; ++x) {
        const bool inside = contains(fill, i + x, j + y);
        count += inside;
        EXPECT_EQ(inside, x >= begin && x < end);
        EXPECT_EQ(inside, contains(transposed(fill), j + y, i + x));
      }
    }
    EXPECT_EQ(touches(fill, i, j, m, n), count > 0);
    EXPECT_EQ(covers(fill, i, j, m, n), count == m * n);
  }
}

TEST(Triangle, HasHalfOfTheWork) {
  Problem p;
  p.m = p.n = 5, p.k = 7, p.batch_count = 2;
  EXPECT_EQ(p.flops(), 2 * 2 * 25 * 7);
  p.fill = Fill::upper;
  EXPECT_EQ(p.flops(), 2 * 2 * 15 * 7);
}

}  // namespace
}  // namespace xgemm::test
