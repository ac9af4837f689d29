// Data, operand sets, and the judgement of results against float64. SPDX-License-Identifier: BSD-3-Clause
#include "bench/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "bench/element.h"
#include "bench/operands.h"
#include "bench/shapes.h"
#include "scripted_device.h"

namespace xgemm::perf {
namespace {

using testing::HasSubstr;

constexpr std::size_t kBlock = (1 << 15) + 3;  // short, so that tests need not make millions of values

Case make_case(const std::string& line) {
  Case one = parse_shape_text(line, "test", "test", {}).at(0);
  if (one.location.empty()) one.location = "hhh";
  return one;
}

TEST(Elements, TheTableHoldsTogether) {
  EXPECT_EQ(list_of_types(false), "s, h, b, H, B, d");
  EXPECT_THAT(list_of_types(true), testing::StartsWith("s (fp32), h (fp16), "));
  EXPECT_EQ(find_type('q'), nullptr);
  for (const Element& element : kElements) {
    EXPECT_EQ(&element_of(element.letter), &element);
    if (element.widen == nullptr) continue;
    EXPECT_EQ(element.size, 2);
    const auto one = element.narrow(1.0f);
    EXPECT_EQ(2 * element.unit, element.widen(static_cast<std::uint16_t>(one + 1)) - 1.0);
    EXPECT_EQ(2 * element.tiny, element.widen(1));
    const auto infinity = static_cast<std::uint16_t>(element.infinity_bits);
    EXPECT_TRUE(std::isinf(element.widen(infinity)) &&
                std::isnan(element.widen(static_cast<std::uint16_t>(infinity + 1))));
    const float overflow = static_cast<float>(element.overflow);
    EXPECT_EQ(element.narrow(overflow), infinity);
    EXPECT_EQ(element.narrow(std::nextafter(overflow, 0.0f)), infinity - 1);
  }
}

float stored(const Element& element, const void* memory, std::int64_t index) {
  if (element.widen != nullptr) return element.widen(static_cast<const std::uint16_t*>(memory)[index]);
  return static_cast<const float*>(memory)[index];
}

TEST(Operands, MemoryHoldsWhatTheOracleThinks) {
  ScriptedDevice device(false);
  Operands operands(device, DataKind::kNormal, 3, kBlock);
  for (const char* line : {"33 17 50", "33 17 50 type=h offset=3 pad=2 trans=TT", "900 800 1100 batch=2",
                           "5 6 7 type=h", "5 6 7 type=b offset=1", "5 6 7 type=H offset=3"}) {
    const Case one = make_case(line);
    ASSERT_EQ(operands.prepare(one), "");
    for (const std::int64_t index : {std::int64_t{0}, std::int64_t{11}, one.a_span() - 1})
      EXPECT_EQ(stored(one.input(), operands.set(0).a, index), operands.a()[index]) << line;
    EXPECT_EQ(stored(one.input(), operands.set(0).b, one.b_span() - 1), operands.b()[one.b_span() - 1]);
    EXPECT_EQ(stored(one.output(), operands.set(0).c, one.c_span() - 1), operands.c()[one.c_span() - 1]);
  }
}

TEST(Operands, SetsAreAlignedAndExceedTheCache) {
  ScriptedDevice device(false);
  Operands operands(device, DataKind::kUniform, 3, kBlock);
  const Case one = make_case("64 64 64 offset=3");
  ASSERT_EQ(operands.prepare(one), "");
  EXPECT_TRUE(operands.cold());
  EXPECT_GE(operands.footprint(), 4 * device.facts().host_cache_bytes);
  for (const std::int64_t set : {std::int64_t{0}, std::int64_t{1}, operands.count() - 1})
    for (const void* pointer : {operands.set(set).a, operands.set(set).b, const_cast<const void*>(operands.set(set).c)})
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 256, 12u);
  // Tiny products would need more sets than are kept, and say so.
  ASSERT_EQ(operands.prepare(make_case("4 4 4")), "");
  EXPECT_FALSE(operands.cold());
}

TEST(Operands, HostMemoryIsAligned) {
  const auto device = make_host_device();
  void* const memory = device->allocate('h', 100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
  device->release('h', memory);
}

TEST(Operands, WhatDoesNotFitIsSaid) {
  ScriptedDevice device(false);
  Operands operands(device, DataKind::kZeros, 3, kBlock);
  EXPECT_THAT(operands.prepare(make_case("200000000 1 200000000")), HasSubstr("do not fit into memory"));
}

TEST(Operands, DataKinds) {
  ScriptedDevice device(false);
  const Case one = make_case("300 300 300");
  double sum = 0, squares = 0;
  Operands normal(device, DataKind::kNormal, 1);  // with the block of real runs
  ASSERT_EQ(normal.prepare(one), "");
  for (std::int64_t i = 0; i < 90000; ++i) {
    sum += normal.a()[i];
    squares += normal.a()[i] * normal.a()[i];
  }
  EXPECT_NEAR(sum / 90000, 0, 0.02);
  EXPECT_NEAR(squares / 90000, 1, 0.02);
  Operands zeros(device, DataKind::kZeros, 1, kBlock);
  ASSERT_EQ(zeros.prepare(one), "");
  EXPECT_EQ(zeros.a()[123], 0);
}

void store(const Case& one, float value, std::uint8_t* memory) {
  if (const auto narrow = one.output().narrow; narrow != nullptr) {
    const std::uint16_t bits = narrow(value);
    std::memcpy(memory, &bits, 2);
  } else {
    std::memcpy(memory, &value, 4);
  }
}

/// Multiplies in double precision, straight from the definition, and stores the rounded result.
std::vector<std::uint8_t> multiply(const Case& one, const Operands& operands) {
  std::vector<std::uint8_t> bytes = operands.fetch_output();
  const auto index = [&](std::int64_t row, std::int64_t col, std::int64_t ld, bool transposed) {
    return transposed != one.row_major ? row * ld + col : row + col * ld;
  };
  for (std::int64_t batch = 0; batch < one.batch; ++batch)
    for (std::int64_t i = 0; i < one.m; ++i)
      for (std::int64_t j = 0; j < one.n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < one.k; ++l)
          sum += operands.a()[batch * one.stride_a + index(i, l, one.lda, one.transa == 'T')] *
                 operands.b()[batch * one.stride_b + index(l, j, one.ldb, one.transb == 'T')];
        const std::int64_t at = batch * one.stride_c + index(i, j, one.ldc, false);
        const double initial = one.beta == 0 ? 0 : one.beta * operands.c()[at];
        double x = one.alpha * sum + initial + (one.has_bias() ? operands.a()[i] : 0);
        if (one.has_relu()) x = std::max(x, 0.0);
        if (one.has_gelu()) x *= 0.5 * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
        const auto value = static_cast<float>(x);
        store(one, value, bytes.data() + one.output().size * at);
      }
  return bytes;
}

struct Judged {
  explicit Judged(const char* line, DataKind kind = DataKind::kNormal)
      : operands(device, kind, 5, kBlock), one(make_case(line)) {
    EXPECT_EQ(operands.prepare(one), "");
    operands.prepare_check();
    reference = make_reference(one, operands.a(), operands.b(), operands.c());
    output = multiply(one, operands);
  }
  Accuracy judge() const { return xgemm::perf::judge(one, reference, operands.c(), output); }
  void set(std::int64_t index, float value) { store(one, value, output.data() + one.output().size * index); }

  ScriptedDevice device{false};
  Operands operands;
  Case one;
  Reference reference;
  std::vector<std::uint8_t> output;
};

TEST(Oracle, RightResultsPassInEveryForm) {
  for (const char* line : {"33 17 50",
                           "33 17 50 trans=TN",
                           "33 17 50 trans=NT pad=3",
                           "33 17 50 trans=TT layout=row",
                           "33 17 50 layout=row pad=1",
                           "33 17 50 type=h",
                           "33 17 50 type=h trans=TT beta=1",
                           "40 9 30 alpha=-0.7 beta=0.3 batch=4 layout=row trans=NT",
                           "300 310 190",
                           "300 310 190 type=h beta=-0.5 pad=5",
                           "33 17 50 type=b",
                           "33 17 50 type=b trans=TT beta=1",
                           "300 310 190 type=b beta=-0.5 pad=5",
                           "33 17 50 type=H trans=TT beta=1",
                           "300 310 190 type=B beta=-0.5 pad=5",
                           "1 1 1",
                           "1 1 20000",
                           "500 1 700 trans=TN beta=1",
                           "33 17 50 epilogue=bias+gelu",
                           "33 17 50 type=h trans=TN epilogue=bias+relu",
                           "300 310 190 type=b epilogue=gelu"}) {
    const Judged judged(line);
    const Accuracy accuracy = judged.judge();
    EXPECT_TRUE(accuracy.pass) << line << ": " << accuracy.problem;
    EXPECT_TRUE(accuracy.complete) << line;
    EXPECT_LE(accuracy.bound_share, 1) << line;
    EXPECT_LT(accuracy.normwise, judged.one.output().letter == 's' ? 1e-7 : judged.one.output().unit) << line;
    EXPECT_GT(accuracy.samples, 0);
  }
}

TEST(Oracle, DegenerateDataPasses) {
  for (const DataKind kind : {DataKind::kZeros, DataKind::kOnes, DataKind::kIntegers, DataKind::kPositive})
    for (const char* line : {"64 64 64", "64 64 64 beta=1", "64 64 64 type=h beta=1", "64 64 64 type=b beta=1",
                             "64 64 64 type=B beta=1", "64 64 64 beta=1 alpha=1e-30"}) {
      const Accuracy accuracy = Judged(line, kind).judge();
      EXPECT_TRUE(accuracy.pass) << line << " data " << describe(kind) << ": " << accuracy.problem;
    }
}

TEST(Oracle, NanFails) {
  Judged judged("64 64 64");
  judged.set(5, std::nanf(""));
  EXPECT_FALSE(judged.judge().pass);
  EXPECT_FALSE(judged.judge().complete);
  EXPECT_TRUE(std::isnan(judged.judge().bound_share));
}

TEST(Oracle, MissingElementsAreFoundWhereNobodySampled) {
  // Large enough for samples: one tile of the poison is left, in the middle of a C of which 64 x 64 are looked at.
  Judged judged("700 700 40");
  EXPECT_LT(judged.reference.rows.size(), 700u);
  const std::vector<std::uint8_t> right = judged.output;
  for (int col = 400; col < 408; ++col)
    for (int row = 300; row < 308; ++row) judged.set(row + 700 * col, std::nanf(""));
  EXPECT_THAT(judged.judge().problem, HasSubstr("NaN at (300, 400)"));

  Judged kept("700 700 40 beta=1");
  for (int row = 304; row < 320; ++row)
    kept.set(row + 700 * 401, static_cast<float>(kept.operands.c()[row + 700 * 401]));
  EXPECT_THAT(kept.judge().problem, HasSubstr("were not written"));
  EXPECT_FALSE(kept.judge().complete);
}

TEST(Oracle, WritesBesideCAreFound) {
  Judged judged("30 20 10 pad=2");
  judged.set(30, 1.0f);  // the gap after the first column
  EXPECT_THAT(judged.judge().problem, HasSubstr("wrote outside C"));
  Judged scaled("30 20 10 pad=2 beta=1");
  scaled.set(31, 1.0f);
  EXPECT_FALSE(scaled.judge().pass);
}

TEST(Oracle, ErrorsBeyondTheBoundFail) {
  Judged judged("64 64 64");
  const float right = static_cast<float>(judged.reference.value[0]);
  judged.set(0, right * (1 + 1e-6f));
  EXPECT_TRUE(judged.judge().pass);
  judged.set(0, right + 1e-3f * static_cast<float>(judged.reference.magnitude[0]));
  const Accuracy wrong = judged.judge();
  EXPECT_FALSE(wrong.pass);
  EXPECT_TRUE(wrong.complete);
  EXPECT_GT(wrong.bound_share, 1);
  EXPECT_THAT(wrong.problem, HasSubstr("float64 says"));
}

TEST(Oracle, SixteenBitsAreAllowedOneRoundingOnly) {
  for (const char* line : {"64 64 64 type=h", "64 64 64 type=b"}) {
    Judged judged(line);
    const Element& type = judged.one.output();
    const std::uint16_t rounded = type.narrow(static_cast<float>(judged.reference.value[0]));
    judged.set(0, type.widen(static_cast<std::uint16_t>(rounded + 2)));
    EXPECT_FALSE(judged.judge().pass) << line;
  }
}

TEST(Oracle, OverflowIsInfinity) {
  for (const char* line : {"16 16 20000 type=h alpha=60000", "16 16 20000 type=b alpha=3e37"}) {
    Judged judged(line);
    EXPECT_TRUE(judged.judge().pass) << line << ": " << judged.judge().problem;
  }
}

}  // namespace
}  // namespace xgemm::perf
