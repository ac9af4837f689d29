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
#include "schedules.h"
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
      if (!std::isnan(e.componentwise) && !(error <= e.componentwise * magnitude)) e.componentwise = error / magnitude;
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

// ---- The pass alone ----

struct SplitCase {
  std::int64_t lines, k;
  bool along_k;
  std::int64_t pad = 0;               // of ld
  std::int64_t shift = 0;             // of the first element, from 16 bytes
  std::int64_t step = 1;              // between elements that are neighbours otherwise
  std::int64_t entries = 1, gap = 0;  // of a batch
};

// An operand, and what it is to be split into, by the definition.
class SplitOperandTest {
 public:
  explicit SplitOperandTest(const SplitCase& c)
      : case_(c), ld_((c.along_k ? c.k : c.lines) * c.step + c.pad), storage_(c.lines, c.k, c.entries) {
    batch_stride_ = ld_ * (c.along_k ? c.lines : c.k) + c.gap;
    elements_.assign(static_cast<std::size_t>(batch_stride_ * c.entries + 8), NAN);
    const auto address = reinterpret_cast<std::uintptr_t>(elements_.data());
    data_ = elements_.data() + (16 - address % 16) % 16 / sizeof(float) + c.shift;
  }

  // Lines of an entry after those of the one before.
  float& at(std::int64_t line, std::int64_t k) {
    return data_[line / case_.lines * batch_stride_ + line % case_.lines * line_stride() + k * k_stride()];
  }
  std::int64_t lines() const { return case_.lines * case_.entries; }
  void fill(Random& random) {
    for (std::int64_t l = 0; l < lines(); ++l) {
      const double scale = std::exp2(40 * random.uniform());
      for (std::int64_t k = 0; k < case_.k; ++k)
        at(l, k) = random.integer(0, 9) == 0 ? 0.0f : static_cast<float>(scale * random.uniform());
    }
  }

  // Runs the pass and compares all that it leaves.
  void expect_parts(const Options& options = {}) {
    Memory memory(static_cast<std::size_t>(storage_.bytes()));
    kernels::SplitParams pass = kernels::SplitParams::over(case_.k);
    pass.operands[0] = storage_.operand(data_, line_stride(), k_stride(), batch_stride_, memory.data());
    pass.unsafe = kernels::SplitStorage::word(memory.data());
    unsigned count = 0;
    pass.count = &count;
    std::vector<float> b(static_cast<std::size_t>(case_.k)), c(static_cast<std::size_t>(lines()));
    kernels::GemmParams g{};
    g.a = {data_, line_stride(), k_stride(), batch_stride_}, g.b = {b.data(), 1, case_.k, 0};
    g.c = {c.data(), 1, case_.lines, case_.lines};
    g.m = case_.lines, g.n = 1, g.k = case_.k, g.batch_count = case_.entries;
    g.alpha = kernels::Factor::of(1.0f), g.beta = kernels::Factor::of(0.0f);
    Result result;
    run_pass(result, g, pass,
             {memory.region(Access::read_write), {"the counter", &count, 4, 1, 1, 1, 1, 1, 0, Access::read_write}},
             options);
    ASSERT_TRUE(result.ok()) << result.summary();

    const std::int64_t ld = storage_.ld();
    const auto* const high = static_cast<const std::uint16_t*>(storage_.parts(memory.data()));
    const std::int64_t part = case_.lines * ld;
    bool safe = true;
    for (std::int64_t l = 0; l < lines(); ++l) {
      const std::int64_t entry = l / case_.lines, first = l * ld + entry * part;  // of its high part
      float largest = 0;
      for (std::int64_t k = 0; k < case_.k; ++k) {
        const float magnitude = std::fabs(at(l, k));
        if (!(magnitude <= largest)) largest = magnitude;
        if (std::isnan(magnitude)) break;
      }
      const bool line_safe = largest == 0 || (largest >= 0x1p-50f && largest < 0x1p51f);
      safe = safe && line_safe;
      const float factor = largest == 0 || !line_safe ? 0 : std::exp2(static_cast<float>(std::ilogb(largest) - 14));
      const std::int64_t of_entry = pass.operands[0].lines;
      ASSERT_EQ(storage_.factors(memory.data())[entry * of_entry + l % case_.lines], factor) << l;
      if (!line_safe) continue;
      for (std::int64_t k = 0; k < ld; ++k) {
        const float x = k < case_.k && factor != 0 ? at(l, k) / factor : 0.0f;
        safe = safe && (k >= case_.k || at(l, k) == 0 || std::fabs(x) >= pass.least_element);
        const gpu::half h = gpu::to_half(x);
        ASSERT_EQ(high[first + k], h.bits) << l << ", " << k;
        ASSERT_EQ(high[first + part + k], gpu::to_half(2048 * (x - gpu::to_float(h))).bits) << l << ", " << k;
      }
    }
    EXPECT_EQ(*pass.unsafe, safe ? 0u : 1u);
    EXPECT_EQ(count, safe ? 0u : 1u);
  }

 private:
  std::int64_t line_stride() const { return case_.along_k ? ld_ : case_.step; }
  std::int64_t k_stride() const { return case_.along_k ? case_.step : ld_; }

  SplitCase case_;
  std::int64_t ld_, batch_stride_;
  kernels::SplitStorage storage_;
  std::vector<float> elements_;
  float* data_;
};

TEST(Fp16x3, ClustersHoldAllOfK) {
  for (std::int64_t k = 1; k <= kernels::SplitConstants::kMostExtent; ++k) {
    const kernels::SplitParams p = kernels::SplitParams::over(k);
    ASSERT_LE(p.ctas, kernels::SplitParams::kMostCtas) << k;
    ASSERT_LE(p.stretch, kernels::SplitParams::kMostStretch) << k;
    ASSERT_LT((p.ctas - 1) * p.stretch, p.ld) << k;
    ASSERT_GE(p.ctas * p.stretch, p.ld) << k;
    constexpr std::int64_t kMostCluster = (1 << 28) / kernels::SplitParams::kMostCtas;
    for (const std::int64_t cluster : {std::int64_t{0}, std::int64_t{1}, 12345 + k, kMostCluster - 1}) {
      ASSERT_EQ(p.cluster_of(cluster * p.ctas), cluster) << k;
      ASSERT_EQ(p.cluster_of(cluster * p.ctas + p.ctas - 1), cluster) << k;
    }
  }
}

// Around the borders of clusters, of what a CTA and a warp hold, and of vectors.
TEST(Fp16x3, PartsAreThoseOfTheDefinition) {
  Random random(19);
  for (const bool along_k : {false, true}) {
    for (const std::int64_t k : {1, 64, 65, 577, 1022, 1024, 1025, 2047, 2112, 3073})
      for (const std::int64_t lines : {16, 19}) {
        SplitOperandTest x({lines, k, along_k, random.integer(0, 3), random.integer(0, 3)});
        x.fill(random);
        ASSERT_NO_FATAL_FAILURE(x.expect_parts()) << along_k << ", " << lines << " of " << k;
      }
    for (const std::int64_t k : {6148, 7168, 7169, 8192}) {
      SplitOperandTest x({4, k, along_k, (4 - (along_k ? k : 0) % 4) % 4});
      x.fill(random);
      ASSERT_NO_FATAL_FAILURE(x.expect_parts()) << along_k << ", " << k;
    }
    // All alignments of lines and of the first element; and elements that are no neighbours at all.
    for (std::int64_t i = 0; i < 16; ++i) {
      SplitOperandTest x({20, 132, along_k, i % 4, i / 4, i == 7 ? 3 : 1});
      x.fill(random);
      ASSERT_NO_FATAL_FAILURE(x.expect_parts()) << along_k << ", " << i;
    }
  }
}

TEST(Fp16x3, PartsOfBatches) {
  Random random(31);
  for (const bool along_k : {false, true})
    for (const std::int64_t k : {1000, 1100}) {
      SplitOperandTest x({.lines = 28, .k = k, .along_k = along_k, .pad = 1, .entries = 5, .gap = 7});
      x.fill(random);
      ASSERT_NO_FATAL_FAILURE(x.expect_parts()) << along_k << ", " << k;
    }
}

TEST(Fp16x3, PartsDoNotDependOnTheSchedule) {
  Random random(23);
  for (const bool along_k : {false, true}) {
    SplitOperandTest x({17, 1100, along_k, 1});
    x.fill(random);
    for (Options options : schedules()) ASSERT_NO_FATAL_FAILURE(x.expect_parts(options)) << along_k;
  }
}

// Wherever in a cluster it lies.
TEST(Fp16x3, ASingleElementMakesALineUnsafe) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Random random(29);
  for (const bool along_k : {false, true})
    for (const float value : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), -3e38f, 1e-45f, -0x1p-60f, -0.0f}) {
      SplitOperandTest x({3, 1600, along_k, along_k ? 0 : 1});
      for (std::int64_t l = 0; l < 3; ++l)
        for (std::int64_t k = 0; k < 1600; ++k) x.at(l, k) = static_cast<float>(1.5 + random.uniform() / 4);
      x.at(random.integer(0, 2), random.integer(0, 1599)) = value;
      ASSERT_NO_FATAL_FAILURE(x.expect_parts()) << value;
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
    run_pass(passes, x.params(), kernels::pass_of(a, memory_a.data()), {memory_a.region(Access::read_write)}, {});
    run_pass(passes, x.params(), kernels::pass_of(b, memory_b.data()), {memory_b.region(Access::read_write)}, {});
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
