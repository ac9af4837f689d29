// What a Problem says of itself, and its printed form.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "core/problem.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "api/probe.h"
#include "unit/core/args.h"

namespace xgemm::test {
namespace {

Problem random_problem(Random& random) {
  Problem p;
  const auto extent = [&] { return static_cast<std::int64_t>(random.bits() >> random.integer(1, 63)); };
  const auto scalar = [&] {
    float value;
    do {
      const auto bits = static_cast<std::uint32_t>(random.bits());
      std::memcpy(&value, &bits, sizeof value);
    } while (value != value);  // the payload of a NaN is not printed
    return Scalar{value, nullptr};
  };
  const auto type = [&] { return pick(random, {DType::f32, DType::f16, DType::bf16, DType::f64}); };
  p.m = extent(), p.n = extent(), p.k = extent();
  p.batch_count = extent();
  p.alpha = scalar(), p.beta = scalar();
  p.a = {type(), nowhere(), pick(random, {Op::none, Op::transpose}), extent(), extent()};
  p.b = {type(), nowhere(), pick(random, {Op::none, Op::transpose}), extent(), extent()};
  p.c = {type(), nowhere(), extent(), extent()};
  return p;
}

TEST(Problem, PrintsInAFormThatReadsBackExactly) {
  Random random(3);
  for (int i = 0; i < 5000; ++i) {
    const Problem p = random_problem(random);
    const std::string text = to_string(p);
    ASSERT_EQ(text.find('\n'), std::string::npos);
    std::map<std::string, std::string> at = key_values(text);
    const auto number = [&](const char* key) {
      EXPECT_TRUE(at.count(key)) << key << " is missing: " << text;
      return std::strtoll(at[key].c_str(), nullptr, 10);
    };
    const auto scalar = [&](const char* key) {
      return p.sums() == DType::f64 ? std::strtod(at[key].c_str(), nullptr) : std::strtof(at[key].c_str(), nullptr);
    };
    const auto type = [&](const char* key) { return at.count(key) ? at[key] : at["type"]; };
    ASSERT_EQ(at["type"], std::string(1, letter_of(p.a.type)));
    ASSERT_EQ(type("type_b"), std::string(1, letter_of(p.b.type)));
    ASSERT_EQ(type("type_c"), std::string(1, letter_of(p.c.type)));
    ASSERT_EQ(at["layout"], "col");
    ASSERT_EQ(at["transa"], std::string(1, static_cast<char>(p.a.op)));
    ASSERT_EQ(at["transb"], std::string(1, static_cast<char>(p.b.op)));
    ASSERT_EQ(number("m"), p.m);
    ASSERT_EQ(number("n"), p.n);
    ASSERT_EQ(number("k"), p.k);
    ASSERT_EQ(number("lda"), p.a.ld);
    ASSERT_EQ(number("ldb"), p.b.ld);
    ASSERT_EQ(number("ldc"), p.c.ld);
    ASSERT_EQ(number("batch"), p.batch_count);
    ASSERT_EQ(number("stride_a"), p.a.batch_stride);
    ASSERT_EQ(number("stride_b"), p.b.batch_stride);
    ASSERT_EQ(number("stride_c"), p.c.batch_stride);
    ASSERT_EQ(scalar("alpha"), p.alpha.value) << text;
    ASSERT_EQ(scalar("beta"), p.beta.value) << text;
  }
}

TEST(Problem, PrintsWhatIsUnusualAlone) {
  Problem p;
  EXPECT_EQ(to_string(p),
            "type=s transa=N transb=N alpha=0 beta=0 m=0 n=0 k=0 lda=1 ldb=1 ldc=1 batch=1 stride_a=0 stride_b=0 "
            "stride_c=0 layout=col");
  p.a.type = p.b.type = DType::bf16, p.c.type = DType::f32;
  p.batch_kind = BatchKind::pointers;
  EXPECT_EQ(to_string(p).find("type=b type_c=s transa=N transb=N batch_kind=pointers alpha="), 0);
  EXPECT_EQ(to_string(p.types()), "bf16 with C in f32");
  EXPECT_EQ(to_string(ProductTypes{DType::f16, DType::f16, DType::f16}), "f16");
}

TEST(Problem, PrintsScalarsThatAreNoNumbers) {
  Problem p;
  p.alpha.value = std::numeric_limits<float>::quiet_NaN();
  p.beta.value = -std::numeric_limits<float>::infinity();
  std::map<std::string, std::string> at = key_values(to_string(p));
  EXPECT_NE(at["alpha"].find("nan"), std::string::npos);
  EXPECT_EQ(at["beta"], "-inf");
  p.alpha = {0.0f, static_cast<const float*>(nowhere())};
  EXPECT_EQ(key_values(to_string(p))["alpha"], "device");
}

TEST(Problem, KnowsWhatItReadsAndWhenItDoesNothing) {
  for (const std::int64_t m : {0, 2})
    for (const std::int64_t n : {0, 2})
      for (const std::int64_t k : {0, 2})
        for (const std::int64_t batch : {0, 2})
          for (const float alpha : {0.0f, -0.0f, 1.0f})
            for (const float beta : {0.0f, -0.0f, 1.0f, 2.0f}) {
              Problem p;
              p.m = m, p.n = n, p.k = k, p.batch_count = batch;
              p.alpha.value = alpha, p.beta.value = beta;
              const bool product = k > 0 && alpha != 0;
              EXPECT_EQ(p.reads_inputs(), product);
              EXPECT_EQ(p.reads_c(), beta != 0);
              EXPECT_EQ(p.does_nothing(), m == 0 || n == 0 || batch == 0 || (!product && beta == 1));
            }
}

// By strides of 0 all products have one matrix; by pointers, whose strides are 0 as well, each has its own.
TEST(Problem, KnowsWhatAllProductsShare) {
  Problem p;
  p.m = 8, p.n = 4, p.k = 2, p.batch_count = 10;
  p.alpha.value = 1;
  p.a.batch_stride = 16, p.c.batch_stride = 32;
  EXPECT_FALSE(p.shares(p.a));
  EXPECT_TRUE(p.shares(p.b));
  EXPECT_FALSE(p.shares(p.c));
  EXPECT_EQ(p.bytes(), 4.0 * (10 * 8 * 2 + 2 * 4 + 10 * 8 * 4));
  p.batch_kind = BatchKind::pointers;
  p.a.batch_stride = p.c.batch_stride = 0;
  EXPECT_TRUE(p.by_pointers());
  for (const bool shares : {p.shares(p.a), p.shares(p.b), p.shares(p.c)}) EXPECT_FALSE(shares);
  EXPECT_EQ(p.bytes(), 4.0 * 10 * (8 * 2 + 2 * 4 + 8 * 4));
}

TEST(Problem, ExtentsAsStored) {
  Problem p;
  p.m = 2, p.n = 3, p.k = 4;
  EXPECT_EQ(p.a_rows(), 2);
  EXPECT_EQ(p.a_cols(), 4);
  EXPECT_EQ(p.b_rows(), 4);
  EXPECT_EQ(p.b_cols(), 3);
  p.a.op = p.b.op = Op::transpose;
  EXPECT_EQ(p.a_rows(), 4);
  EXPECT_EQ(p.a_cols(), 2);
  EXPECT_EQ(p.b_rows(), 3);
  EXPECT_EQ(p.b_cols(), 4);
  p.batch_count = 5;
  EXPECT_EQ(p.flops(), 2.0 * 2 * 3 * 4 * 5);
}

}  // namespace
}  // namespace xgemm::test
