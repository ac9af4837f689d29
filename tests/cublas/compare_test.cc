// XGEMM_CUBLAS=compare: libxgemm gets a copy of C that is made in the order of the caller's stream.
#include <gtest/gtest.h>

#include <cstdlib>

#include "routines.h"
#include "stand_in.h"
#include "stand_in_xgemm.h"

namespace xgemm::test {
namespace {

using namespace cublas;

class Compare : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(kSuccess, cublasCreate_v2(&x.handle));
    x.m = x.n = x.k = 2;
    x.lda = x.ldb = x.ldc = 2;
    x.alpha = x.beta = &one;
    x.a = x.b = a;
    x.c = c;
  }
  void TearDown() override { cublasDestroy_v2(x.handle); }

  const float one = 1, a[4] = {1, 2, 3, 4};
  float c[4] = {};
  Arguments x;
};

TEST_F(Compare, CopiesOnTheCallersStream) {
  for (const std::uintptr_t stream : {0x10, 0x20}) {
    ASSERT_EQ(kSuccess, cublasSetStream_v2(x.handle, reinterpret_cast<void*>(stream)));
    const int products = stand_in_products(), calls = stand_in_calls();
    EXPECT_EQ(kSuccess, routine("cublasGemmEx").call(x));
    EXPECT_EQ(products + 1, stand_in_products());
    EXPECT_EQ(calls + 1, stand_in_calls());
    EXPECT_NE(static_cast<void*>(c), stand_in_product()->args.c);
    EXPECT_EQ(reinterpret_cast<void*>(stream), stand_in_last_copy_stream());
  }
}

// Nobody can wait for a stream that is being captured: cuBLAS alone computes.
TEST_F(Compare, LeavesCapturesAlone) {
  const int products = stand_in_products(), calls = stand_in_calls();
  stand_in_capture(true);
  EXPECT_EQ(kSuccess, routine("cublasGemmEx").call(x));
  stand_in_capture(false);
  EXPECT_EQ(products, stand_in_products());
  EXPECT_EQ(calls + 1, stand_in_calls());
}

}  // namespace
}  // namespace xgemm::test

int main(int argc, char** argv) {
  setenv("XGEMM_CUBLAS", "compare", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
