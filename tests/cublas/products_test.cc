// Products through the names of cuBLAS, all served that can be (XGEMM_CUBLAS=always): what libxgemm computes is right,
// and what it declines reaches the stand-in with the same arguments, and its status the caller. Elements are small
// integers, so that every result is exact.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "routines.h"
#include "stand_in_product.h"

namespace xgemm::test {
namespace {

const int kServed[] = {kReal32F, kReal16F, kReal16BF, kReal64F};

class Products : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(kSuccess, cublasCreate_v2(&handle_)); }
  void TearDown() override { cublasDestroy_v2(handle_); }

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  // Memory with elements of -1, 0 and 1, and room for any type.
  std::vector<double> elements(std::int64_t count, int type) {
    std::vector<double> memory(static_cast<std::size_t>(count) + 1);
    for (std::int64_t i = 0; i < count; ++i) store(memory.data(), type, i, pick(-1, 1));
    return memory;
  }

  // A legal call of the routine with random sizes, flags and types; the memory lives as long as the test's object.
  Arguments draw(const Routine& r) {
    Arguments x;
    x.handle = handle_;
    x.transa = pick(kOpN, kOpC);
    x.transb = pick(kOpN, kOpC);
    x.m = pick(0, 20);
    x.n = pick(0, 20);
    x.k = pick(0, 30);
    x.type_a = x.type_b = x.type_c = r.typed ? kServed[pick(0, contains(r.name, "cublasGemm") ? 3 : 2)] : r.type;
    if (r.typed && x.type_a != kReal64F && pick(0, 2) == 0) x.type_c = kReal32F;
    x.compute_type = x.type_a == kReal64F ? kCompute64F : r.compute;
    x.lda = std::max<std::int64_t>(1, x.transa == kOpN ? x.m : x.k) + pick(0, 3);
    x.ldb = std::max<std::int64_t>(1, x.transb == kOpN ? x.k : x.n) + pick(0, 3);
    x.ldc = std::max<std::int64_t>(1, x.m) + pick(0, 3);
    x.batch_count = r.batched || r.pointer_arrays ? pick(0, 4) : 1;
    x.stride_a = pick(0, 1) * (x.lda * 31 + pick(0, 5));
    x.stride_b = pick(0, 1) * (x.ldb * 31 + pick(0, 5));
    x.stride_c = x.ldc * 21 + pick(0, 5);
    a_ = elements(x.lda * 31 * 5 + 40, x.type_a);
    b_ = elements(x.ldb * 31 * 5 + 40, x.type_b);
    c_ = elements(x.ldc * 21 * 5 + 40, x.type_c);
    x.a = a_.data();
    x.b = b_.data();
    x.c = c_.data();
    alpha_ = {}, beta_ = {};
    const int scalars = scalar_type_of(x.compute_type);
    store(&alpha_, scalars, 0, pick(-1, 2));
    store(&beta_, scalars, 0, pick(-1, 2));
    x.alpha = &alpha_;
    x.beta = &beta_;
    return x;
  }

  Handle handle_ = nullptr;
  std::mt19937 random_{17};
  std::vector<double> a_, b_, c_;
  double alpha_ = 0, beta_ = 0;
};

TEST_F(Products, AreServedWithCorrectResults) {
  for (const Routine& r : kRoutines) {
    if (r.pointer_arrays) continue;
    for (int i = 0; i < 60; ++i) {
      const Arguments x = draw(r);
      const Call call = r.description(x);
      SCOPED_TRACE(std::string(r.name) + " " + to_string(call));
      std::vector<double> expected = c_;
      Call reference = call;
      reference.c.data = expected.data();
      ASSERT_TRUE(multiply_by_definition(reference, scalar(x.alpha, call.compute), scalar(x.beta, call.compute)));
      const int before = stand_in_calls();
      ASSERT_EQ(kSuccess, r.call(x));
      ASSERT_EQ(before, stand_in_calls());
      // As numbers, by which the two zeros are equal; beyond the matrices nothing has changed.
      for (std::int64_t e = 0; e < x.ldc * 21 * 5 + 40; ++e)
        ASSERT_EQ(load(expected.data(), x.type_c, e), load(c_.data(), x.type_c, e)) << "element " << e;
    }
  }
}

// Calls what is declined, and looks at what came of it.
void expect_forwarded(const Routine& r, const Arguments& x, int status = kSuccess) {
  SCOPED_TRACE(r.text(x));
  const int before = stand_in_calls();
  EXPECT_EQ(status, r.call(x));
  EXPECT_EQ(before + 1, stand_in_calls());
  EXPECT_EQ(r.text(x), stand_in_last_call());
}

TEST_F(Products, ByPointersOnTheHostAreForwarded) {
  for (const Routine& r : kRoutines)
    for (int i = 0; i < 5 && r.pointer_arrays; ++i) {
      Arguments x = draw(r);
      const std::vector<const void*> a(5, x.a), b(5, x.b);
      std::vector<const void*> c(5, x.c);
      x.a = a.data();
      x.b = b.data();
      x.c = c.data();
      stand_in_host_memory(a.data(), a.data() + a.size());
      expect_forwarded(r, x);
      stand_in_host_memory(nullptr, nullptr);
    }
}

TEST_F(Products, ThatAreIllegalGetTheStatusOfCublas) {
  constexpr int kInvalid = 7;
  // GemmEx only: one of another name may ask GemmEx itself.
  const Routine& r = routine("cublasGemmEx");
  const auto refused = [&](auto change) {
    Arguments x = draw(r);
    x.m = x.n = x.k = 9;
    x.lda = x.ldb = x.ldc = 9;
    change(x);
    expect_forwarded(r, x, kInvalid);
  };
  refused([](Arguments& x) { x.m = -1; });
  refused([](Arguments& x) { x.n = -1; });
  refused([](Arguments& x) { x.k = -1; });
  refused([](Arguments& x) { x.lda = 8; });
  refused([](Arguments& x) { x.ldb = 8; });
  refused([](Arguments& x) { x.ldc = 8; });
  refused([](Arguments& x) { x.transa = 3; });
  refused([](Arguments& x) { x.transb = 7; });
  refused([](Arguments& x) { x.alpha = nullptr; });
  refused([](Arguments& x) { x.beta = nullptr; });
  Arguments x = draw(r);
  x.handle = nullptr;
  expect_forwarded(r, x, kNotInitialized);
}

TEST_F(Products, ThatLibxgemmDoesNotHaveAreForwarded) {
  const Routine& r = routine("cublasGemmEx");
  const auto declined = [&](auto change) {
    Arguments x = draw(r);
    x.type_a = x.type_b = x.type_c = kReal16F;
    change(x);
    expect_forwarded(r, x);
  };
  declined([](Arguments& x) { x.type_b = kReal16BF; });
  declined([](Arguments& x) { x.type_c = kReal16BF; });
  declined([](Arguments& x) { x.type_a = x.type_b = kReal32F; });
  declined([](Arguments& x) { x.type_a = x.type_b = kReal64F; });
  declined([](Arguments& x) { x.compute_type = kCompute16FPedantic; });
  declined([](Arguments& x) { x.compute_type = kCompute64F; });
  declined([](Arguments& x) { x.algorithm = 50; });
  ASSERT_EQ(kSuccess, cublasSetSmCountTarget(handle_, 60));
  declined([](Arguments&) {});
  ASSERT_EQ(kSuccess, cublasSetSmCountTarget(handle_, 0));
  ASSERT_EQ(kSuccess, cublasSetMathMode(handle_, kPedanticMath));
  const Routine& half = routine("cublasHgemm");
  expect_forwarded(half, draw(half));
}

// libxgemm cannot compute on a GPU that is not there; cuBLAS might.
TEST_F(Products, OfDeviceMemoryWithoutAGpuAreForwarded) {
  const Routine& r = routine("cublasGemmEx");
  for (const int mode : {kScalarsOnHost, kScalarsOnDevice}) {
    cublasSetPointerMode_v2(handle_, mode);
    Arguments x = draw(r);
    x.m = x.n = x.k = 1;
    store(&alpha_, kReal32F, 0, 1);  // so that A is read
    stand_in_device_memory(a_.data(), a_.data() + a_.size());
    expect_forwarded(r, x);
    stand_in_device_memory(nullptr, nullptr);
  }
}

// A cuBLAS that asks itself by its exported names gets itself.
TEST_F(Products, OfCublasItselfStayWithIt) {
  ASSERT_EQ(kSuccess, cublasSetSmCountTarget(handle_, 60));  // so that it is forwarded
  const Routine& r = routine("cublasSgemm_v2");
  const Arguments x = draw(r);
  const int before = stand_in_calls();
  EXPECT_EQ(kSuccess, r.call(x));
  EXPECT_EQ(before + 2, stand_in_calls());
}

TEST_F(Products, ComeFromManyThreads) {
  const Routine& r = routine("cublasSgemm_v2");
  const float one = 1, zero = 0;
  const int before = stand_in_calls();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const float a = static_cast<float>(t), b = static_cast<float>(i);
        float c = -1;
        Arguments x;
        x.handle = handle_;
        x.m = x.n = x.k = 1;
        x.alpha = &one, x.beta = &zero;
        x.a = &a, x.b = &b, x.c = &c;
        if (r.call(x) != kSuccess || c != a * b) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(0, wrong);
  EXPECT_EQ(before, stand_in_calls());
}

}  // namespace
}  // namespace xgemm::test

int main(int argc, char** argv) {
  setenv("XGEMM_CUBLAS", "always", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
