// fp16x3 in the simulator: tensor cores that cut sums off as Hopper's do, errors beside those of fp32 sums, and which
// operands are left to fp32.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "families/fp16x3.h"
#include "support/matrix.h"

namespace xgemm::sim {
namespace {

using test::Random;

constexpr kernels::WgmmaTmaConfig kConfig = kernels::kConfigs<kernels::Family::fp16x3>.back();

// C = op(A) op(B), without gaps. at: element (i, l) of op(A), or (l, j) of op(B).
struct Product {
  std::int64_t m, n, k;
  bool transa, transb;
  std::vector<float> a, b, c;

  Product(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool ta = false, bool tb = false)
      : m(rows), n(columns), k(depth), transa(ta), transb(tb) {
    a.resize(static_cast<std::size_t>(m * k));
    b.resize(static_cast<std::size_t>(k * n));
    c.resize(static_cast<std::size_t>(m * n));
  }
  float& a_at(std::int64_t i, std::int64_t l) { return a[static_cast<std::size_t>(transa ? i * k + l : l * m + i)]; }
  float& b_at(std::int64_t l, std::int64_t j) { return b[static_cast<std::size_t>(transb ? l * n + j : j * k + l)]; }

  void fill(const std::function<float()>& draw) {
    for (float& x : a) x = draw();
    for (float& x : b) x = draw();
  }

  kernels::GemmParams params() {
    kernels::GemmParams p{};
    p.a = {a.data(), transa ? k : 1, transa ? 1 : m, 0};
    p.b = {b.data(), transb ? n : 1, transb ? 1 : k, 0};
    p.c = {c.data(), 1, m, 0};
    p.m = m, p.n = n, p.k = k, p.batch_count = 1;
    p.alpha = kernels::Factor::of(1.0f);
    p.beta = kernels::Factor::of(0.0f);
    return p;
  }

  // Whether the operands were left to fp32.
  bool falls_back(bool truncate_sums = false) {
    Options options;
    options.truncate_sums = truncate_sums;
    bool fell_back = false;
    const Result result = run_fp16x3<kConfig>(params(), options, &fell_back);
    EXPECT_TRUE(result.ok()) << result.summary();
    return fell_back;
  }

  // Sums in fp32, one after the other: as the tiles do it that large products get.
  std::vector<float> chains() {
    std::vector<float> sums(c.size());
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        float& sum = sums[static_cast<std::size_t>(j * m + i)];
        for (std::int64_t l = 0; l < k; ++l) sum = std::fma(a_at(i, l), b_at(l, j), sum);
      }
    return sums;
  }

  // What the fallback gives.
  std::vector<float> strict() {
    const std::vector<float> mine = c;
    const Result result = run_fallback(params(), {}, nullptr);
    EXPECT_TRUE(result.ok()) << result.summary();
    std::vector<float> other = c;
    c = mine;
    return other;
  }
};

struct Errors {
  double norm = 0;           // of the errors, relative to the norm of the results
  double componentwise = 0;  // the largest, relative to |A||B|
};

Errors errors_of(Product& x, const std::vector<float>& result) {
  double errors = 0, all = 0;
  Errors e;
  for (std::int64_t j = 0; j < x.n; ++j)
    for (std::int64_t i = 0; i < x.m; ++i) {
      double exact = 0, magnitude = 0;
      for (std::int64_t l = 0; l < x.k; ++l) {
        const double product = double{x.a_at(i, l)} * x.b_at(l, j);
        exact += product;
        magnitude += std::fabs(product);
      }
      const double error = std::fabs(result[static_cast<std::size_t>(j * x.m + i)] - exact);
      errors += error * error;
      all += exact * exact;
      if (!(error <= e.componentwise * magnitude)) e.componentwise = error / magnitude;
    }
  e.norm = std::sqrt(errors / all);
  return e;
}

struct Distribution {
  const char* name;
  std::function<float(Random&)> draw;
};

std::vector<Distribution> distributions() {
  const auto sign = [](Random& r) { return r.integer(0, 1) == 0 ? 1.0 : -1.0; };
  return {
      {"U(-1, 1)", [](Random& r) { return static_cast<float>(r.uniform()); }},
      {"U(0, 1)", [](Random& r) { return static_cast<float>(std::fabs(r.uniform())); }},
      {"log-uniform over 2^+-10", [=](Random& r) { return static_cast<float>(sign(r) * std::exp2(10 * r.uniform())); }},
      {"positive, log-uniform over 2^+-10", [](Random& r) { return static_cast<float>(std::exp2(10 * r.uniform())); }},
      {"small", [](Random& r) { return static_cast<float>(0x1p-30 * (1.5 + r.uniform())); }},
  };
}

// Sums of tensor cores that are not taken out in time miss this by an order of magnitude. Short ones are as exact as
// those of strict calls that are computed in several parts.
TEST(Fp16x3, ErrorsAreNoLargerThanThoseOfFp32) {
  for (const std::int64_t k : {512, 2048})
    for (const Distribution& distribution : distributions()) {
      Random random(static_cast<std::uint64_t>(k));
      Product x(66, 33, k, k == 512, k != 512);
      x.fill([&] { return distribution.draw(random); });
      EXPECT_FALSE(x.falls_back(true)) << distribution.name;
      const Errors emulated = errors_of(x, x.c), strict = errors_of(x, x.chains());
      EXPECT_LE(emulated.norm, k > 1536 ? 1.1 * strict.norm : 2.5e-7) << distribution.name << " over " << k;
      EXPECT_LE(emulated.componentwise, k > 1536 ? 1.1 * strict.componentwise : 4.5e-7)
          << distribution.name << " over " << k;
    }
}

TEST(Fp16x3, TheSimulatorCutsSumsOffAsHopperDoes) {
  // 2^24 + 16 * 1.875: all of it below the last bit that is kept of a product.
  Product x(64, 64, 512);
  x.fill([] { return 1.0f; });
  bool fell_back = false;
  Options options;
  options.truncate_sums = true;
  const Result result = run_fp16x3<kConfig>(x.params(), options, &fell_back);
  ASSERT_TRUE(result.ok()) << result.summary();
  for (const float c : x.c) ASSERT_EQ(c, 512.0f);
}

// Of one operand an element is changed: left to fp32, with fp32's bits.
TEST(Fp16x3, WhatIsNotSafeIsComputedInFp32) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {kInf, -kInf, nan, 0x1p51f, -3e38f, 1e-45f, -1e-30f, 0x1p-40f};
  Random random(3);
  for (const float value : values)
    for (const bool in_a : {false, true}) {
      Product x(70, 40, 512, in_a, !in_a);
      x.fill([&] { return static_cast<float>(random.uniform()); });
      const std::int64_t l = random.integer(0, x.k - 1);
      (in_a ? x.a_at(random.integer(0, x.m - 1), l) : x.b_at(l, random.integer(0, x.n - 1))) = value;
      EXPECT_TRUE(x.falls_back()) << value;
      const std::vector<float> strict = x.strict();
      EXPECT_EQ(std::memcmp(x.c.data(), strict.data(), strict.size() * sizeof(float)), 0) << value;
    }
}

TEST(Fp16x3, LinesOfSubnormalsOrOfHugeElementsAreComputedInFp32) {
  for (const float scale : {0x1p-51f, 0x1p-130f, 0x1p51f, 0x1p120f}) {
    Random random(5);
    Product x(3, 5, 512);
    x.fill([&] { return static_cast<float>(1.5 + 0.4 * random.uniform()); });
    for (std::int64_t l = 0; l < x.k; ++l) x.a_at(1, l) *= scale;
    EXPECT_TRUE(x.falls_back()) << scale;
  }
}

// Zeros are exact, and so are lines of them.
TEST(Fp16x3, ZerosAreSafe) {
  Random random(9);
  Product x(70, 40, 512);
  x.fill([&] { return random.integer(0, 2) == 0 ? 0.0f : static_cast<float>(random.uniform()); });
  for (std::int64_t l = 0; l < x.k; ++l) x.a_at(7, l) = x.b_at(l, 3) = 0.0f;
  EXPECT_FALSE(x.falls_back());
  for (std::int64_t j = 0; j < x.n; ++j) EXPECT_EQ(x.c[static_cast<std::size_t>(j * x.m + 7)], 0.0f);
  for (std::int64_t i = 0; i < x.m; ++i) EXPECT_EQ(x.c[static_cast<std::size_t>(3 * x.m + i)], 0.0f);
}

// The identity shows every element as it was split: within what is promised of the least ones, and exactly where there
// are bits enough.
TEST(Fp16x3, ElementsKeepWhatIsPromised) {
  constexpr std::int64_t kK = 512;
  const int least = kernels::SplitConstants::least_element_exponent(kK) - kernels::SplitConstants::kLineExponent;
  Random random(11);
  Product x(64, kK, kK);
  for (std::int64_t l = 0; l < kK; ++l)
    for (std::int64_t j = 0; j < kK; ++j) x.b_at(l, j) = l == j ? 1.0f : 0.0f;
  for (std::int64_t i = 0; i < x.m; ++i)
    for (std::int64_t l = 0; l < kK; ++l) {
      const double exponent = (least + 1) * std::fabs(random.uniform());
      x.a_at(i, l) = static_cast<float>(std::exp2(exponent) * (random.integer(0, 1) == 0 ? 1 : -1));
    }
  for (std::int64_t i = 0; i < x.m; ++i) x.a_at(i, 0) = 1.0f;
  EXPECT_FALSE(x.falls_back(true));
  for (std::int64_t i = 0; i < x.m; ++i)
    for (std::int64_t l = 0; l < kK; ++l) {
      const double a = x.a_at(i, l), error = std::fabs(x.c[static_cast<std::size_t>(l * x.m + i)] - a);
      const double units = std::fabs(a) >= 0x1p-27 ? 1 : double(kK) / 8;
      ASSERT_TRUE(error <= units * 0x1p-23 * std::fabs(a)) << a;
    }
  // One binade below the least.
  x.a_at(5, 9) = static_cast<float>(std::exp2(least - 1));
  EXPECT_TRUE(x.falls_back());
}

// Batches whose products share operands or do not, in all the memory that they want and in as little as will do: the
// bits of the single products, or, where an element of one of them is not safe, those of fp32.
TEST(Fp16x3, BatchesAndScarceMemoryChangeNoBits) {
  Random random(13);
  for (int i = 0; i < 12; ++i) {
    const bool shares_a = i % 3 == 1, shares_b = i % 3 == 2, safe = i % 4 != 3;
    const std::int64_t batch = i % 3 == 0 && i % 2 == 0 ? 1 : 3;
    const std::int64_t m = random.integer(1, 300), n = random.integer(257, 280), k = random.integer(64, 96);
    const std::int64_t entries_a = shares_a ? 1 : batch, entries_b = shares_b ? 1 : batch;
    Product x(m, n * entries_b, k, false, random.integer(0, 1) == 1);  // B: the columns of all entries
    std::vector<float> a(static_cast<std::size_t>(m * k * entries_a)), c(static_cast<std::size_t>(m * n * batch));
    x.fill([&] { return static_cast<float>(random.uniform()); });
    for (float& element : a) element = static_cast<float>(random.uniform());
    if (!safe) a[static_cast<std::size_t>(random.integer(0, m * k * entries_a - 1))] = 1e-30f;

    kernels::GemmParams p = x.params();
    p.a = {a.data(), 1, m, shares_a ? 0 : m * k};
    p.b.batch_stride = shares_b ? 0 : n * p.b.col_stride;
    p.c = {c.data(), 1, m, m * n};
    p.n = n, p.batch_count = batch;
    const kernels::SplitShape shape = kernels::split_shape(p);
    const std::size_t least = kernels::SplitBlocks::least_bytes(shape), all = kernels::SplitBlocks::all_bytes(shape);
    ASSERT_EQ(kernels::SplitBlocks(shape, all).count(), 1);
    std::vector<float> first;
    for (const std::size_t room : {all, least, random.integer(0, 1) == 0 ? least : (all + least) / 2}) {
      ASSERT_TRUE(room == all || kernels::SplitBlocks(shape, room).count() > 1 || all == least);
      std::fill(c.begin(), c.end(), -1.0f);
      Options options;
      options.workspace_bytes = room;
      bool fell_back = false;
      const Result result = run_fp16x3<kConfig>(p, options, &fell_back);
      ASSERT_TRUE(result.ok()) << result.summary();
      EXPECT_EQ(fell_back, !safe);
      if (first.empty()) first = c;
      ASSERT_EQ(std::memcmp(c.data(), first.data(), c.size() * sizeof(float)), 0) << i << ", " << room << " bytes";
    }
    for (std::int64_t entry = 0; entry < batch; ++entry) {
      kernels::GemmParams one = p;
      one.a.data = a.data() + entry * p.a.batch_stride;
      one.b.data = x.b.data() + entry * p.b.batch_stride;
      std::vector<float> own(static_cast<std::size_t>(m * n));
      one.c = {own.data(), 1, m, 0};
      one.batch_count = 1;
      bool fell_back = false;
      const Result result = safe ? run_fp16x3<kConfig>(one, {}, &fell_back) : run_fallback(one, {}, nullptr);
      ASSERT_TRUE(result.ok()) << result.summary();
      ASSERT_EQ(std::memcmp(own.data(), c.data() + entry * m * n, own.size() * sizeof(float)), 0) << i;
    }
  }
}

// One operand that was split before, the other or both: the bits of the product without, in all the memory that it
// wants and in as little as will do, whether it is safe or not.
TEST(Fp16x3, PreparedOperandsChangeNoBits) {
  Random random(17);
  for (int i = 0; i < 8; ++i) {
    const bool safe = i % 4 != 3;
    Product x(random.integer(200, 300), random.integer(257, 280), random.integer(64, 96), i % 2 == 0, i % 4 < 2);
    x.fill([&] { return static_cast<float>(random.uniform()); });
    if (!safe) (i < 4 ? x.a_at(3, 5) : x.b_at(5, 3)) = 1e-30f;
    ASSERT_EQ(x.falls_back(), !safe);
    const std::vector<float> plain = x.c;

    const OperandLines a = {x.a.data(), x.m, x.k, x.transa ? x.k : x.m, x.transa};
    const OperandLines b = {x.b.data(), x.n, x.k, x.transb ? x.n : x.k, !x.transb};
    const auto bytes = [](const OperandLines& o) {
      return static_cast<std::size_t>(kernels::SplitStorage(o.lines, o.k, 1).bytes());
    };
    Memory memory_a(bytes(a)), memory_b(bytes(b));
    Result passes;
    run_passes(passes, x.params(), kernels::passes_of(a, memory_a.data()), {memory_a.region(Access::read_write)}, {});
    run_passes(passes, x.params(), kernels::passes_of(b, memory_b.data()), {memory_b.region(Access::read_write)}, {});
    ASSERT_TRUE(passes.ok()) << passes.summary();
    for (const int which : {1, 2, 3}) {
      Memory* const in_a = (which & 1) != 0 ? &memory_a : nullptr;
      Memory* const in_b = (which & 2) != 0 ? &memory_b : nullptr;
      const kernels::SplitShape shape = kernels::split_shape(kernels::in_parts(
          x.params(), in_a == nullptr ? nullptr : in_a->data(), in_b == nullptr ? nullptr : in_b->data()));
      Options options;
      for (const std::size_t room :
           {kernels::SplitBlocks::all_bytes(shape), kernels::SplitBlocks::least_bytes(shape)}) {
        options.workspace_bytes = room;
        std::fill(x.c.begin(), x.c.end(), -1.0f);
        bool fell_back = false;
        const Result result = run_fp16x3<kConfig>(x.params(), options, &fell_back, in_a, in_b);
        ASSERT_TRUE(result.ok()) << result.summary();
        EXPECT_EQ(fell_back, !safe);
        ASSERT_EQ(std::memcmp(x.c.data(), plain.data(), plain.size() * sizeof(float)), 0) << i << ", " << which;
      }
    }
  }
}

}  // namespace
}  // namespace xgemm::sim
