// Bad arguments through the C ABI: for each the return value, the last error and an untouched C; the size rules of
// xgemm_args; extents beyond any memory.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "api/calls.h"

namespace xgemm::test {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
const float kZero = 0.0f;

struct BadCall {
  const char* what;
  std::function<void(xgemm_args&)> spoil;
  int code;
  const char* message;  // part of the last error
};

// On a call of 4 x 5 x 6 that is legal.
const std::vector<BadCall>& bad_calls() {
  static const std::vector<BadCall> calls = {
      {"type", [](auto& x) { x.type = 7; }, -XGEMM_ARG_TYPE, "type = 7"},
      {"negative type", [](auto& x) { x.type = -1; }, -XGEMM_ARG_TYPE, "type = -1"},
      {"type_c", [](auto& x) { x.type_c = 4; }, -XGEMM_ARG_TYPE_C, "type_c = 4, but XGEMM_C_SAME = 0"},
      {"negative type_c", [](auto& x) { x.type_c = -1; }, -XGEMM_ARG_TYPE_C, "type_c = -1"},
      {"math_mode", [](auto& x) { x.math_mode = 5; }, -XGEMM_ARG_MATH_MODE, "math_mode = 5, but 0"},
      {"layout", [](auto& x) { x.layout = 101; }, -XGEMM_ARG_LAYOUT, "layout = 101"},
      {"transa", [](auto& x) { x.transa = 'Q'; }, -XGEMM_ARG_TRANSA, "transa = 'Q', but one of N, T, C"},
      {"transa not printable", [](auto& x) { x.transa = '\n'; }, -XGEMM_ARG_TRANSA, "transa = '\\x0a'"},
      {"transb", [](auto& x) { x.transb = '\xff'; }, -XGEMM_ARG_TRANSB, "transb = '\\xff'"},
      {"m", [](auto& x) { x.m = -4; }, -XGEMM_ARG_M, "m = -4, but m >= 0"},
      {"n", [](auto& x) { x.n = -1; }, -XGEMM_ARG_N, "n = -1, but n >= 0"},
      {"k", [](auto& x) { x.k = std::numeric_limits<std::int64_t>::min(); }, -XGEMM_ARG_K, "k = -9223372036854775808"},
      {"lda", [](auto& x) { x.lda = 3; }, -XGEMM_ARG_LDA, "lda = 3, but lda >= max(1, m) = 4"},
      {"lda of A^T", [](auto& x) { x.transa = 'T', x.lda = 5; }, -XGEMM_ARG_LDA, "lda = 5, but lda >= max(1, k) = 6"},
      {"ldb", [](auto& x) { x.ldb = 5; }, -XGEMM_ARG_LDB, "ldb = 5, but ldb >= max(1, k) = 6"},
      {"ldb of B^T", [](auto& x) { x.transb = 'c', x.ldb = 4; }, -XGEMM_ARG_LDB, "ldb = 4, but ldb >= max(1, n) = 5"},
      {"ldc", [](auto& x) { x.ldc = 3; }, -XGEMM_ARG_LDC, "ldc = 3, but ldc >= max(1, m) = 4"},
      {"ldc of nothing", [](auto& x) { x.m = 0, x.ldc = 0; }, -XGEMM_ARG_LDC, "ldc = 0, but ldc >= max(1, m) = 1"},
      {"row-major lda", [](auto& x) { x.layout = XGEMM_ROW_MAJOR, x.lda = 5; }, -XGEMM_ARG_LDA, "max(1, k) = 6"},
      {"row-major ldb", [](auto& x) { x.layout = XGEMM_ROW_MAJOR, x.ldb = 4; }, -XGEMM_ARG_LDB, "max(1, n) = 5"},
      {"row-major ldc", [](auto& x) { x.layout = XGEMM_ROW_MAJOR, x.ldc = 4; }, -XGEMM_ARG_LDC, "max(1, n) = 5"},
      {"batch_count", [](auto& x) { x.batch_count = -1; }, -XGEMM_ARG_BATCH_COUNT, "batch_count = -1"},
      {"stride_a", [](auto& x) { x.batch_count = 2, x.stride_a = -1; }, -XGEMM_ARG_STRIDE_A, "stride_a = -1"},
      {"stride_b", [](auto& x) { x.batch_count = 2, x.stride_b = -2; }, -XGEMM_ARG_STRIDE_B, "stride_b = -2"},
      {"stride_c", [](auto& x) { x.batch_count = 2; }, -XGEMM_ARG_STRIDE_C, "stride_c = 0"},
      {"a", [](auto& x) { x.a = nullptr; }, -XGEMM_ARG_A, "a = NULL"},
      {"b", [](auto& x) { x.b = nullptr; }, -XGEMM_ARG_B, "b = NULL"},
      {"c", [](auto& x) { x.c = nullptr; }, -XGEMM_ARG_C, "c = NULL"},
      {"c to be cleared", [](auto& x) { x.alpha = &kZero, x.c = nullptr; }, -XGEMM_ARG_C, "c = NULL"},
      {"overflow of A", [](auto& x) { x.lda = kMax / 16; }, -XGEMM_ARG_LDA, "lda = 576460752303423487"},
      {"overflow of B", [](auto& x) { x.ldb = kMax; }, -XGEMM_ARG_LDB, "ldb = 9223372036854775807"},
      {"overflow of C", [](auto& x) { x.ldc = kMax / 4; }, -XGEMM_ARG_LDC, "2^63"},
      {"overflow of m", [](auto& x) { x.m = x.lda = x.ldc = kMax; }, -XGEMM_ARG_LDA, "2^63"},
      {"overflow of a batch of A", [](auto& x) { x.batch_count = 2, x.stride_a = kMax / 4, x.stride_c = 40; },
       -XGEMM_ARG_STRIDE_A, "stride_a = 2305843009213693951"},
      {"overflow of a batch of B", [](auto& x) { x.batch_count = 3, x.stride_b = kMax / 8, x.stride_c = 40; },
       -XGEMM_ARG_STRIDE_B, "batch of 3"},
      {"overflow of a batch of C", [](auto& x) { x.batch_count = kMax, x.stride_c = 1 << 20; }, -XGEMM_ARG_STRIDE_C,
       "batch of 9223372036854775807"},
  };
  return calls;
}

struct Operands {
  Matrix<float> a{4, 6, 7}, b{6, 5, 7}, c{4, 5, 7};
  Operands() {
    a.fill_uniform(1);
    b.fill_uniform(2);
    c.fill_uniform(3);
  }
  xgemm_args args() {
    xgemm_args x = XGEMM_ARGS_INIT;
    x.m = 4, x.n = 5, x.k = 6;
    x.a = a.data(), x.lda = 7;
    x.b = b.data(), x.ldb = 7;
    x.c = c.data(), x.ldc = 7;
    return x;
  }
};

// As in the reference, which returns before it looks at such a matrix.
TEST(Arguments, WhatIsNotTouchedMayReachAnywhere) {
  Operands operands;
  const Matrix<float> before = operands.c;
  constexpr auto kAbsurd = std::numeric_limits<std::int64_t>::max();
  const float zero = 0, one = 1;
  const auto status_of = [&](auto&& change) {
    xgemm_args args = operands.args();
    args.alpha = &zero, args.beta = &one;
    change(args);
    return xgemm_gemm(nullptr, &args);
  };
  const auto absurd = [&](xgemm_args& x) { x.lda = x.ldb = x.ldc = kAbsurd; };
  EXPECT_EQ(status_of([&](auto& x) { absurd(x), x.m = 0, x.alpha = nullptr; }), 0) << xgemm_last_error();
  EXPECT_EQ(status_of([&](auto& x) { absurd(x), x.n = 0, x.alpha = nullptr; }), 0) << xgemm_last_error();
  EXPECT_EQ(status_of([&](auto& x) { absurd(x), x.k = 0; }), 0) << xgemm_last_error();
  EXPECT_EQ(status_of([&](auto& x) { absurd(x); }), 0) << xgemm_last_error();
  EXPECT_EQ(status_of([&](auto& x) { x.lda = x.ldb = kAbsurd; }), 0) << xgemm_last_error();
  EXPECT_TRUE(operands.c.same_bits(before));
  EXPECT_EQ(status_of([&](auto& x) { x.ldc = kAbsurd, x.beta = &zero; }), -XGEMM_ARG_LDC);
  EXPECT_TRUE(operands.c.same_bits(before));
}

// Those of arrays on the host are looked at before the first product.
TEST(Arguments, PointersInArraysAreThere) {
  constexpr int kBatch = 3;
  const float one = 1, zero = 0;
  for (const xgemm_layout layout : {XGEMM_COL_MAJOR, XGEMM_ROW_MAJOR})
    for (const int null : {XGEMM_ARG_A, XGEMM_ARG_B, XGEMM_ARG_C}) {
      std::vector<float> a(kBatch * 4, 1.0f), b(kBatch * 4, 1.0f), c(kBatch * 4, 5.0f);
      float *as[kBatch], *bs[kBatch], *cs[kBatch];
      for (int i = 0; i < kBatch; ++i) as[i] = &a[i * 4], bs[i] = &b[i * 4], cs[i] = &c[i * 4];
      (null == XGEMM_ARG_A ? as : null == XGEMM_ARG_B ? bs : cs)[kBatch - 1] = nullptr;
      xgemm_args args = XGEMM_ARGS_INIT;
      args.layout = layout;
      args.m = args.n = args.k = args.lda = args.ldb = args.ldc = 2;
      args.alpha = &one;
      args.a = as, args.b = bs, args.c = cs;
      args.batch_count = kBatch;
      args.batch_kind = XGEMM_BATCH_POINTERS;
      char text[256];
      EXPECT_EQ(xgemm_gemm(nullptr, &args), -null) << xgemm_last_error();
      EXPECT_EQ(xgemm_explain(nullptr, &args, text, sizeof text), -null) << xgemm_last_error();
      EXPECT_EQ(c, std::vector<float>(kBatch * 4, 5.0f));
      args.alpha = &zero;
      EXPECT_EQ(xgemm_gemm(nullptr, &args), null == XGEMM_ARG_C ? -null : 0) << xgemm_last_error();
      EXPECT_EQ(c, std::vector<float>(kBatch * 4, null == XGEMM_ARG_C ? 5.0f : 0.0f));
    }
}

TEST(Arguments, EachBadOneIsNamedAndNothingIsWritten) {
  Operands operands;
  const Matrix<float> before = operands.c;
  for (const BadCall& bad : bad_calls()) {
    SCOPED_TRACE(bad.what);
    xgemm_args args = operands.args();
    bad.spoil(args);
    EXPECT_EQ(xgemm_gemm(nullptr, &args), bad.code);
    EXPECT_NE(std::string(xgemm_last_error()).find(bad.message), std::string::npos) << xgemm_last_error();
    EXPECT_TRUE(operands.c.same_bits(before));
    // explain makes the same checks, and says the same.
    char text[256] = "left over";
    EXPECT_EQ(xgemm_explain(nullptr, &args, text, sizeof text), bad.code);
    EXPECT_NE(std::string(xgemm_last_error()).find(bad.message), std::string::npos) << xgemm_last_error();
    EXPECT_STREQ(text, "");
    EXPECT_STRNE(xgemm_status_string(bad.code), xgemm_status_string(1000));
  }
  // And a good call leaves no message behind.
  xgemm_args args = operands.args();
  EXPECT_EQ(xgemm_gemm(nullptr, &args), 0);
  EXPECT_STREQ(xgemm_last_error(), "");
  EXPECT_FALSE(operands.c.same_bits(before));
}

// The same through xsgemm, xdgemm, xhgemm and xbgemm, as far as they have the arguments.
template <class T>
void simple_calls() {
  Matrix<T> a(4, 6, 7), b(6, 5, 7), c(4, 5, 7);
  a.fill_uniform(1), b.fill_uniform(2), c.fill_uniform(3);
  const Matrix<T> before = c;
  for (const BadCall& bad : bad_calls()) {
    if (-bad.code > XGEMM_ARG_LDC) continue;
    SCOPED_TRACE(bad.what);
    xgemm_args x = XGEMM_ARGS_INIT;
    x.m = 4, x.n = 5, x.k = 6;
    x.a = a.data(), x.lda = 7;
    x.b = b.data(), x.ldb = 7;
    x.c = c.data(), x.ldc = 7;
    bad.spoil(x);
    if (x.layout != XGEMM_COL_MAJOR || x.batch_count != 1 || (sizeof(T) == 2 && x.lda == kMax / 16)) continue;
    EXPECT_EQ(simple_gemm(x.transa, x.transb, x.m, x.n, x.k, x.alpha ? *static_cast<const float*>(x.alpha) : 1.0f,
                          static_cast<const T*>(x.a), x.lda, static_cast<const T*>(x.b), x.ldb, 0.0f,
                          static_cast<T*>(x.c), x.ldc),
              bad.code);
    EXPECT_NE(std::string(xgemm_last_error()).find(bad.message), std::string::npos) << xgemm_last_error();
    EXPECT_TRUE(c.same_bits(before));
  }
}
TEST(Arguments, SimpleCallsF32) {
  simple_calls<float>();
}
TEST(Arguments, SimpleCallsF16) {
  simple_calls<Half>();
}
TEST(Arguments, SimpleCallsBf16) {
  simple_calls<Bfloat16>();
}
TEST(Arguments, SimpleCallsF64) {
  simple_calls<double>();
}

// ---- Prepared operands --------------------------------------------------------------------------------------------

// What cannot be prepared is refused, and there is no handle then.
TEST(Arguments, OfPrepareAreChecked) {
  Operands operands;
  xgemm_args args = operands.args();
  const auto refused = [&](const xgemm_args* of, int operand, int argument, const char* message) {
    xgemm_prepared* handle = reinterpret_cast<xgemm_prepared*>(&operands);
    EXPECT_EQ(xgemm_prepare(nullptr, of, operand, &handle), -argument);
    EXPECT_EQ(handle, nullptr);
    EXPECT_NE(std::string(xgemm_last_error()).find(message), std::string::npos) << xgemm_last_error();
  };
  EXPECT_EQ(xgemm_prepare(nullptr, &args, XGEMM_ARG_A, nullptr), -XGEMM_ARG_BUFFER);
  refused(nullptr, XGEMM_ARG_A, XGEMM_ARG_ARGS, "args = NULL");
  refused(&args, XGEMM_ARG_C, XGEMM_ARG_OPERAND, "operand = 12, but XGEMM_ARG_A = 7 or XGEMM_ARG_B = 9");
  refused(&args, XGEMM_ARG_A, XGEMM_ARG_A, "device memory is required");
  refused(&args, XGEMM_ARG_B, XGEMM_ARG_B, "device memory is required");
  args.b = nullptr;
  refused(&args, XGEMM_ARG_B, XGEMM_ARG_B, "b = NULL, but device memory is required");
  args.lda = 3;
  refused(&args, XGEMM_ARG_A, XGEMM_ARG_LDA, "lda = 3");
  args.k = -1;
  refused(&args, XGEMM_ARG_A, XGEMM_ARG_K, "k = -1");
  for (const int strided : std::initializer_list<int>{XGEMM_STRIDED_A, XGEMM_STRIDED_B, XGEMM_STRIDED_C, 64, -2}) {
    args.strided = strided;
    refused(&args, XGEMM_ARG_A, XGEMM_ARG_STRIDED, ("strided = " + std::to_string(strided) + ", but 0").c_str());
  }
  args.type = XGEMM_F16;
  refused(&args, XGEMM_ARG_A, XGEMM_ARG_TYPE, "type = 1, but XGEMM_F32 = 0 is required");
  EXPECT_EQ(xgemm_release(nullptr), 0);
}

// An operand without elements needs neither memory nor a GPU, and has a handle that products take and make nothing of.
TEST(Arguments, OfPrepareMayHaveNoElements) {
  for (const xgemm_layout layout : {XGEMM_COL_MAJOR, XGEMM_ROW_MAJOR})
    for (const bool of_a : {true, false})
      for (const bool has_k : {true, false})
        for (const bool has_data : {true, false}) {
          Operands operands;
          xgemm_args args = operands.args();
          args.layout = layout;
          if (has_k)
            (of_a ? args.m : args.n) = 0;
          else
            args.k = 0;
          if (!has_data) (of_a ? args.a : args.b) = nullptr;
          xgemm_prepared* handle = nullptr;
          ASSERT_EQ(xgemm_prepare(nullptr, &args, of_a ? XGEMM_ARG_A : XGEMM_ARG_B, &handle), 0) << xgemm_last_error();
          ASSERT_NE(handle, nullptr);
          (of_a ? args.prepared_a : args.prepared_b) = handle;
          EXPECT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
          EXPECT_EQ(xgemm_release(handle), 0);
        }
}

// ---- The struct's size --------------------------------------------------------------------------------------------

TEST(Arguments, NoArguments) {
  EXPECT_EQ(xgemm_gemm(nullptr, nullptr), -XGEMM_ARG_ARGS);
  EXPECT_NE(std::string(xgemm_last_error()).find("args = NULL"), std::string::npos);
  char text[64];
  EXPECT_EQ(xgemm_explain(nullptr, nullptr, text, sizeof text), -XGEMM_ARG_ARGS);
}

// The struct as the first headers had it.
constexpr std::size_t kFirstSize = offsetof(xgemm_args, type_c);

// Programs built with the headers of any release: each size that one can have is taken, no other is, and the message
// says which.
TEST(Arguments, TheSizeOfAnyReleaseIsTaken) {
  struct {
    xgemm_args known;
    unsigned char rest[4096 + 64 - sizeof(xgemm_args)];
  } memory = {};
  Operands operands;
  for (std::size_t size = 0; size <= sizeof memory; ++size) {
    memory.known = operands.args();
    memory.known.size = size;
    const bool legal = size >= kFirstSize && size <= 4096 && size % 8 == 0;
    operands.c.poison();
    const Matrix<float> before = operands.c;
    ASSERT_EQ(xgemm_gemm(nullptr, &memory.known), legal ? 0 : -XGEMM_ARG_SIZE) << size;
    ASSERT_EQ(operands.c.same_bits(before), !legal);
    char text[64];
    ASSERT_EQ(xgemm_explain(nullptr, &memory.known, text, sizeof text), legal ? 0 : -XGEMM_ARG_SIZE);
    if (legal) continue;
    const std::string message = xgemm_last_error();
    ASSERT_EQ(message.find("size = " + std::to_string(size) + ", but a multiple of 8 from 144 to 4096"), 0) << message;
    ASSERT_NE(message.find("XGEMM_ARGS_INIT"), std::string::npos);
  }
}

// An earlier header: nothing behind its struct is read, and what it lacks has its default.
TEST(Arguments, ASmallerStructEndsWhereItSays) {
  const FencedMemory memory(kFirstSize, FencedMemory::Against::end);
  Operands operands;
  xgemm_args args = operands.args();
  args.size = kFirstSize;
  std::memcpy(memory.data(), &args, kFirstSize);
  ASSERT_EQ(xgemm_gemm(nullptr, static_cast<const xgemm_args*>(memory.data())), 0) << xgemm_last_error();
  const Matrix<float> result = operands.c;
  // The same bits in memory that goes on with something else.
  args.type_c = args.math_mode = -1;
  operands.c.poison();
  ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
  EXPECT_TRUE(operands.c.same_bits(result));
}

// A later header: what the library does not know must be zero, wherever it lies.
TEST(Arguments, ALargerStructMustEndInZeros) {
  Operands operands;
  struct Later {
    xgemm_args known;
    unsigned char fields[40];
  };
  for (std::size_t at = 0; at <= sizeof(Later::fields); ++at) {
    Later later = {operands.args(), {}};
    later.known.size = sizeof later;
    if (at < sizeof later.fields) later.fields[at] = 1;
    operands.c.poison();
    const Matrix<float> before = operands.c;
    const int expected = at < sizeof later.fields ? -XGEMM_ARG_SIZE : 0;
    EXPECT_EQ(xgemm_gemm(nullptr, &later.known), expected) << at;
    EXPECT_EQ(operands.c.same_bits(before), expected != 0);
    const std::string message = xgemm_last_error();
    EXPECT_EQ(message.empty(), expected == 0);
    if (expected != 0) {
      EXPECT_NE(message.find("byte " + std::to_string(sizeof(xgemm_args) + at) + " is 1"), std::string::npos)
          << message;
    }
  }
}

// What a library does not know yet has to be zero: so that programs that use none of it run with an earlier one.
TEST(Arguments, DefaultsOfLaterFieldsAreZero) {
  const xgemm_args init = XGEMM_ARGS_INIT;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&init);
  for (std::size_t i = offsetof(xgemm_args, type_c); i < sizeof init; ++i) EXPECT_EQ(bytes[i], 0) << i;
}

// A size that was never set must not send the library through the address space.
TEST(Arguments, ASizeThatCannotBeIsRefused) {
  const FencedMemory memory(sizeof(xgemm_args), FencedMemory::Against::end);
  auto* args = static_cast<xgemm_args*>(memory.data());
  const xgemm_args init = XGEMM_ARGS_INIT;
  for (const std::size_t size :
       {std::numeric_limits<std::size_t>::max() - 7, std::size_t{1} << 40, std::size_t{1} << 20}) {
    *args = init;
    args->size = size;
    EXPECT_EQ(xgemm_gemm(nullptr, args), -XGEMM_ARG_SIZE) << size;
  }
}

// ---- Extents beyond any memory ------------------------------------------------------------------------------------

TEST(Arguments, HugeExtentsWithNothingToDo) {
  const std::int64_t huge[] = {std::int64_t{1} << 31, std::int64_t{1} << 40, std::int64_t{1} << 61, kMax};
  for (const std::int64_t x : huge) {
    SCOPED_TRACE(x);
    const float* in = nullptr;
    float* out = nullptr;
    EXPECT_EQ(xsgemm('N', 'N', 0, x, 0, 1.0f, in, 1, in, 1, 0.0f, out, 1), 0);
    EXPECT_EQ(xsgemm('N', 'N', x, 0, 0, 1.0f, in, x, in, 1, 0.0f, out, x), 0);
    EXPECT_EQ(xsgemm('T', 'T', 0, 0, x, 1.0f, in, x, in, 1, 0.0f, out, 1), 0);
    EXPECT_EQ(xhgemm('N', 'N', 0, 0, x, 1.0f, nullptr, kMax, nullptr, x, 0.0f, nullptr, kMax), 0);
    xgemm_args args = XGEMM_ARGS_INIT;
    args.batch_count = x;
    args.stride_a = args.stride_b = args.stride_c = x;
    EXPECT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
    char text[512];
    EXPECT_EQ(xgemm_explain(nullptr, &args, text, sizeof text), 0);
  }
  // Within the limits of the checks, and nothing to do by the scalars.
  EXPECT_EQ(
      xsgemm('N', 'N', 1 << 30, 1 << 30, 1 << 30, 0.0f, nullptr, 1 << 30, nullptr, 1 << 30, 1.0f, nullptr, 1 << 30), 0);
  EXPECT_EQ(xsgemm('N', 'N', 1 << 30, 1 << 30, 0, 1.0f, nullptr, 1 << 30, nullptr, 1, 1.0f, nullptr, 1 << 30), 0);
  // There would be something to do, on null pointers.
  EXPECT_EQ(xsgemm('N', 'N', 1 << 30, 1 << 30, 0, 1.0f, nullptr, 1 << 30, nullptr, 1, 0.0f, nullptr, 1 << 30),
            -XGEMM_ARG_C);
}

// The strides of a batch of one may hold anything.
TEST(Arguments, StridesOfASingleProductDoNotCount) {
  for (const std::int64_t stride : {kMax, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    Operands operands;
    xgemm_args args = operands.args();
    args.stride_a = args.stride_b = args.stride_c = stride;
    EXPECT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
  }
}

// A leading dimension that spans more than INT_MAX elements, in memory that is reserved but never touched elsewhere.
TEST(Arguments, LeadingDimensionsBeyond32Bits) {
  const std::int64_t ld = (std::int64_t{1} << 31) + 5;
  const std::size_t bytes = static_cast<std::size_t>(ld + 16) * sizeof(float);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no 8 GiB of address space";
  auto* a = static_cast<float*>(memory);
  for (std::int64_t i = 0; i < 3; ++i) {
    a[i] = static_cast<float>(i + 1);
    a[ld + i] = static_cast<float>(10 * (i + 1));
  }
  const float b[] = {1, 2, 3};
  float c[3] = {};
  EXPECT_EQ(xsgemm('N', 'N', 3, 1, 2, 1.0f, a, ld, b, 3, 0.0f, c, 3), 0) << xgemm_last_error();
  EXPECT_EQ(c[0], 21);
  EXPECT_EQ(c[1], 42);
  EXPECT_EQ(c[2], 63);
  float d[2] = {};
  EXPECT_EQ(xsgemm('T', 'N', 2, 1, 3, 1.0f, a, ld, b, 3, 0.0f, d, 2), 0) << xgemm_last_error();
  EXPECT_EQ(d[0], 14);
  EXPECT_EQ(d[1], 140);
  munmap(memory, bytes);
}

}  // namespace
}  // namespace xgemm::test
