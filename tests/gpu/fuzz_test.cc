// Random products against cuBLAS, and the error of large ones beside cuBLAS's.
//
// Half of the products are of small integers, whose sums are exact: every element must be equal to cuBLAS's, so that a
// single term too few or too many shows, whatever k is. The others are of numbers in [-1, 1), compared within the error
// bounds of both results.
//
//     XGEMM_TEST_SEED    a number: another walk (the default is fixed)
//     XGEMM_TEST_CASES   how many products (1000)
//
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>

#include "call.h"
#include "cublas.h"
#include "support/matrix.h"

namespace xgemm::gpu_test {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 0);
}

constexpr double kLargestExtent = 10000;
constexpr double kMostWork = 2e10;                 // m n k of a call, for the sake of time
constexpr double kMostElements = double{1 << 26};  // of an operand
constexpr double kMostWorkOfJudge = 4e9;           // more is judged by samples
constexpr std::uint64_t kDefaultSeed = 20240611;

template <class T>
const char* type_name();
template <>
const char* type_name<float>() {
  return "f32";
}
template <>
const char* type_name<double>() {
  return "f64";
}
template <>
const char* type_name<Tf32>() {
  return "tf32";
}
template <>
const char* type_name<Half>() {
  return "f16";
}
template <>
const char* type_name<Bfloat16>() {
  return "bf16";
}
template <>
const char* type_name<WideC<Half>>() {
  return "f16 with C in f32";
}
template <>
const char* type_name<WideC<Bfloat16>>() {
  return "bf16 with C in f32";
}

struct FuzzCase {
  CallSpec spec;
  xgemm_type type;
  bool wide_c;  // in fp32
  bool integers;
  bool tf32;  // allowed
};

FuzzCase random_case(std::uint64_t seed) {
  test::Random random(seed);
  const auto one_of = [&](std::initializer_list<float> values) {
    return values.begin()[random.integer(0, static_cast<std::int64_t>(values.size()) - 1)];
  };
  const auto in = [&](int percent) { return random.integer(0, 99) < percent; };
  FuzzCase c{};
  CallSpec& s = c.spec;
  c.type = static_cast<xgemm_type>(random.integer(XGEMM_F32, XGEMM_F64));
  c.integers = in(50);
  s.transa = in(50) ? 'N' : 'T';
  s.transb = in(50) ? 'N' : 'T';
  s.row_major = in(30);
  s.batch = in(80) ? 1 : random.integer(2, 6);
  s.shares_a = s.batch > 1 && in(20);
  s.shares_b = s.batch > 1 && in(20);

  // Log-uniform, a third of them multiples of 8.
  std::int64_t* const extents[] = {&s.m, &s.n, &s.k};
  for (std::int64_t* extent : extents) {
    *extent = static_cast<std::int64_t>(std::exp((random.uniform() + 1) / 2 * std::log(kLargestExtent + 1)));
    *extent = std::clamp<std::int64_t>(*extent, 1, static_cast<std::int64_t>(kLargestExtent));
    if (in(33)) *extent = (*extent + 7) / 8 * 8;
  }
  const auto batch = static_cast<double>(s.batch);
  const auto too_much = [&] {
    const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
    return m * n * k * batch > kMostWork || std::max({m * k, k * n, m * n}) * batch > kMostElements;
  };
  while (too_much()) {
    std::int64_t* const largest =
        *std::max_element(std::begin(extents), std::end(extents), [](const auto* x, const auto* y) { return *x < *y; });
    *largest = (*largest + 1) / 2;
  }

  // Half of the calls have lines and pointers that vectors and TMA can take; the others anything.
  if (in(50)) {
    const auto aligned_pad = [&](std::int64_t line) { return (8 - line % 8) % 8 + (in(50) ? 0 : 8); };
    const bool a_plain = (s.transa == 'N') != s.row_major, b_plain = (s.transb == 'N') != s.row_major;
    s.pad_a = aligned_pad(a_plain ? s.m : s.k);
    s.pad_b = aligned_pad(b_plain ? s.k : s.n);
    s.pad_c = aligned_pad(s.row_major ? s.n : s.m);
    s.shift_a = in(70) ? 0 : 8;
    s.shift_b = in(70) ? 0 : 8;
    s.shift_c = in(70) ? 0 : 8;
    s.gap = in(50) ? 0 : 64;
  } else {
    s.pad_a = random.integer(0, 9);
    s.pad_b = random.integer(0, 9);
    s.pad_c = random.integer(0, 9);
    s.shift_a = random.integer(0, 9);
    s.shift_b = random.integer(0, 9);
    s.shift_c = random.integer(0, 9);
    s.gap = random.integer(0, 9);
  }
  // Exact with integers: halves and doubles.
  s.alpha = in(5) ? 0.0f : in(40) ? 1.0f : c.integers ? one_of({-1, 2, 0.5f, -0.5f}) : float(3 * random.uniform());
  s.beta = in(40) ? 0.0f : in(30) ? 1.0f : c.integers ? one_of({-1, 2, 0.5f, -2}) : float(3 * random.uniform());
  s.seed = random.bits() % 1000000 + 1;
  c.tf32 = c.type == XGEMM_F32 && in(40);
  c.wide_c = (c.type == XGEMM_F16 || c.type == XGEMM_BF16) && in(30);
  return c;
}

enum class Outcome { agrees, not_served_by_cublas, differs_but_right, fails };

class Fuzz : public testing::Test {
 protected:
  void SetUp() override {
    XGEMM_SKIP_WITHOUT_DEVICE();
    ctx_ = std::make_unique<Context>();
    cublas_ = std::make_unique<Cublas>(ctx_->stream());
    if (!cublas_->why_not().empty()) GTEST_SKIP() << cublas_->why_not();
  }

  // Judged by fp64 alone.
  template <class T>
  static testing::AssertionResult judge_alone(const Call<T>& call) {
    const CallSpec& s = call.spec();
    const double work = s.alpha == 0 ? 1 : double(s.m) * double(s.n) * double(s.k) * double(s.batch);
    return call.check(1 + static_cast<int>(work / kMostWorkOfJudge));
  }

  template <class T>
  Outcome run(const FuzzCase& c, std::string* message) {
    Call<T> call(c.spec);
    if (c.integers) {
      const auto refill = [](auto& operand) {
        Contents contents = operand.contents();
        contents.integers = true;
        operand.refill(contents);
      };
      refill(call.a);
      refill(call.b);
      refill(call.c);
    }
    const Operand<typename Types<T>::Output> other(call.c.layout(), call.c.contents());
    const auto failed = [&](const std::string& text) {
      std::ostringstream out;
      out << type_name<T>() << (c.integers ? " integers " : " ") << c.spec << "\n" << text;
      *message = out.str();
      return Outcome::fails;
    };
    if (const int status = call.enqueue(*ctx_); status != 0)
      return failed("status " + std::to_string(status) + ": " + xgemm_last_error());
    // cuBLAS reads A and B even then.
    const int status =
        c.spec.alpha == 0 ? Cublas::kNotSupported : cublas_->multiply(call.product(), call.left(), call.right(), other);
    if (const cudaError_t error = cudaStreamSynchronize(ctx_->stream()); error != cudaSuccess)
      return failed(cudaGetErrorString(error));
    if (status != 0) {
      if (status != Cublas::kNotSupported) return failed("cuBLAS: status " + std::to_string(status));
      const testing::AssertionResult right = judge_alone(call);
      return right ? Outcome::not_served_by_cublas : failed(right.message());
    }
    for (const auto* input : {&call.a, &call.b})
      if (const testing::AssertionResult same = input->unchanged(); !same) return failed(same.message());
    const testing::AssertionResult agrees =
        compare(call.product(), call.left(), call.right(), call.c, other, c.integers);
    if (agrees) return Outcome::agrees;
    // One of the two is wrong. cuBLAS rounds some products of short k to 16 bits before it adds beta * C.
    const testing::AssertionResult right = judge_alone(call);
    if (!right) return failed(std::string(agrees.message()) + "\n" + right.message());
    failed(agrees.message());
    return Outcome::differs_but_right;
  }

  Outcome run(const FuzzCase& c, std::string* message) {
    switch (c.type) {
      case XGEMM_F16:
        return c.wide_c ? run<WideC<Half>>(c, message) : run<Half>(c, message);
      case XGEMM_BF16:
        return c.wide_c ? run<WideC<Bfloat16>>(c, message) : run<Bfloat16>(c, message);
      case XGEMM_F64:
        return run<double>(c, message);
      default:
        return c.tf32 ? run<Tf32>(c, message) : run<float>(c, message);
    }
  }

  std::unique_ptr<Context> ctx_;
  std::unique_ptr<Cublas> cublas_;
};

TEST_F(Fuzz, RandomProductsAgreeWithCublas) {
  const std::uint64_t seed = number_from("XGEMM_TEST_SEED", kDefaultSeed);
  const std::uint64_t cases = number_from("XGEMM_TEST_CASES", 1000);
  std::cout << "XGEMM_TEST_SEED=" << seed << " XGEMM_TEST_CASES=" << cases << ", cuBLAS " << cublas_->version()
            << std::endl;
  std::uint64_t outcomes[4] = {0, 0, 0, 0};
  for (std::uint64_t i = 0; i < cases; ++i) {
    std::string message;
    const Outcome outcome = run(random_case(seed + i), &message);
    ++outcomes[static_cast<int>(outcome)];
    if (outcome == Outcome::fails) {
      ADD_FAILURE() << "XGEMM_TEST_SEED=" << seed + i << " XGEMM_TEST_CASES=1: " << message;
      if (outcomes[3] == 5) break;
    }
    if (outcome == Outcome::differs_but_right) std::cout << "cuBLAS is not exact: " << message << std::endl;
    if (HasFatalFailure() || cudaPeekAtLastError() != cudaSuccess) break;
  }
  std::cout << outcomes[0] << " agree, " << outcomes[1] << " judged without cuBLAS, " << outcomes[2]
            << " right where cuBLAS is not exact, " << outcomes[3] << " fail" << std::endl;
  EXPECT_EQ(outcomes[0] + outcomes[1] + outcomes[2] + outcomes[3], cases);
  EXPECT_LE(outcomes[2], cases / 50 + 1) << "cuBLAS can hardly be inexact that often";
}

TEST_F(Fuzz, ErrorsAreNoLargerThanThoseOfCublas) {
  const auto check = [&](auto element) {
    using T = decltype(element);
    for (const std::int64_t n : {512, 1024, 2048, 4096})
      for (const char transa : {'N', 'T'}) {
        const Call<T> call({.transa = transa, .m = n, .n = n, .k = n});
        const Operand<T> other(call.c.layout(), call.c.contents());
        ASSERT_EQ(call.enqueue(*ctx_), 0) << xgemm_last_error();
        ASSERT_EQ(cublas_->multiply(call.product(), call.a, call.b, other), 0);
        XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx_->stream()));
        const double ours = normwise_error(call.product(), call.a, call.b, call.c);
        const double theirs = normwise_error(call.product(), call.a, call.b, other);
        std::cout << type_name<T>() << " " << transa << "N " << n << ": " << ours << ", cuBLAS " << theirs << std::endl;
        EXPECT_GT(theirs, 0);
        EXPECT_TRUE(ours <= 1.05 * theirs) << type_name<T>() << " " << n << ": " << ours << " against " << theirs;
      }
  };
  check(Half{});
  check(Bfloat16{});
  check(double{});
}

}  // namespace
}  // namespace xgemm::gpu_test
