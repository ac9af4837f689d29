// Matrices of any strides through the C ABI, on host memory.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "support/epilogue.h"
#include "support/strided.h"

#include <gtest/gtest.h>

namespace xgemm::test {
namespace {

template <class T, class C = T>
void random_products(int count) {
  Random random(static_cast<std::uint64_t>(sizeof(T) * 10 + sizeof(C)));
  for (int i = 0; i < count; ++i) {
    StridedCase<T, C> x(random, i % 20 == 0 ? 90 : 12);
    const StridedMatrix<T> a = x.a, b = x.b;
    xgemm_args args = x.args([](auto& matrix) { return matrix.storage().data() + matrix.offset(); });
    PointerArrays arrays = PointerArrays::of<T, C>(args);
    if (i % 3 == 2) {  // each a product of its own
      args.a = arrays.a.data(), args.b = arrays.b.data(), args.c = arrays.c.data();
      args.stride_a = args.stride_b = args.stride_c = 0;
      args.batch_kind = XGEMM_BATCH_POINTERS;
    }
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error() << ": " << x.words();
    ASSERT_EQ(x.check(), "");
    ASSERT_TRUE(x.a == a && x.b == b) << x.words();
  }
}

TEST(Strides, RandomF32) {
  random_products<float>(2000);
}
TEST(Strides, RandomF64) {
  random_products<double>(2000);
}
TEST(Strides, RandomF16) {
  random_products<Half>(1000);
}
TEST(Strides, RandomBf16) {
  random_products<Bfloat16>(1000);
}
TEST(Strides, RandomF16ToF32) {
  random_products<Half, float>(1000);
}

// A failure leaves C alone, and copies that are too large for any memory are one.
TEST(Strides, NoMemoryForCopies) {
  const float one = 1;
  float c = 7;
  xgemm_args args = XGEMM_ARGS_INIT;
  args.m = args.n = 1, args.k = std::int64_t{1} << 62;
  args.a = args.b = &one, args.c = &c;
  args.strided = XGEMM_STRIDED_A | XGEMM_STRIDED_B;
  EXPECT_EQ(xgemm_gemm(nullptr, &args), XGEMM_OUT_OF_HOST_MEMORY) << xgemm_last_error();
  EXPECT_EQ(c, 7);
}

}  // namespace
}  // namespace xgemm::test
