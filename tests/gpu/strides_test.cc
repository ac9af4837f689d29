// Matrices of any strides in device memory, and in any mix of memories.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "support/strided.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "call.h"

namespace xgemm::gpu_test {
namespace {

using test::Random;
using test::StridedCase;
using test::StridedMatrix;

// Memory of a kind with a matrix's storage in it.
class Placed {
 public:
  template <class T>
  Placed(const StridedMatrix<T>& x, Memory memory) : memory_(memory), bytes_(x.storage().size() * sizeof(T)) {
    if (memory == Memory::pageable) {
      pageable_.resize(bytes_);
      data_ = pageable_.data();
    } else if (memory == Memory::managed) {
      XGEMM_CHECK_CUDA(cudaMallocManaged(&data_, bytes_));
    } else {
      XGEMM_CHECK_CUDA(cudaMalloc(&data_, bytes_));
    }
    XGEMM_CHECK_CUDA(cudaMemcpy(data_, x.storage().data(), bytes_, cudaMemcpyDefault));
  }
  ~Placed() {
    if (memory_ != Memory::pageable) cudaFree(data_);
  }
  Placed(const Placed&) = delete;

  template <class T>
  T* at(const StridedMatrix<T>& x) const {
    return static_cast<T*>(data_) + x.offset();
  }
  template <class T>
  void fetch(StridedMatrix<T>& x) const {
    XGEMM_CHECK_CUDA(cudaMemcpy(x.storage().data(), data_, bytes_, cudaMemcpyDefault));
  }

 private:
  Memory memory_;
  std::size_t bytes_;
  void* data_ = nullptr;
  std::vector<char> pageable_;
};

template <class T, class C>
void run(StridedCase<T, C>& x, xgemm_context* ctx, Memory of_a, Memory of_b, Memory of_c) {
  const Placed a(x.a, of_a), b(x.b, of_b), c(x.c, of_c);
  xgemm_args args = x.args([](auto&) { return nullptr; });
  args.a = a.at(x.a), args.b = b.at(x.b), args.c = c.at(x.c);
  const int status = xgemm_gemm(ctx, &args);
  const bool mixed = of_a == Memory::pageable || of_b == Memory::pageable || of_c == Memory::pageable;
  const bool all_on_host = of_a == of_b && of_b == of_c;
  if (x.relu && mixed && !all_on_host) {
    ASSERT_EQ(status, XGEMM_UNSUPPORTED);  // an epilogue of matrices on both sides
    return;
  }
  ASSERT_EQ(status, 0) << xgemm_last_error() << ": " << x.words();
  XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
  c.fetch(x.c);
  ASSERT_EQ(x.check(), "");
}

template <class T>
class StridesSmall : public EveryType<T> {};
TYPED_TEST_SUITE(StridesSmall, CallTypes);

// The types of tests/support.
template <class T>
using HostElement = std::conditional_t<std::is_same_v<T, Bfloat16>, test::Bfloat16, T>;

TYPED_TEST(StridesSmall, RandomProducts) {
  using Case =
      StridedCase<HostElement<typename Types<TypeParam>::Input>, HostElement<typename Types<TypeParam>::Output>>;
  Random random(21);
  for (int i = 0; i < 100; ++i) {
    Case x(random, i % 10 == 0 ? 300 : 70);
    run(x, nullptr, Memory::device, Memory::device, Memory::device);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(StridesSmall, AnyMixOfMemories) {
  using Case =
      StridedCase<HostElement<typename Types<TypeParam>::Input>, HostElement<typename Types<TypeParam>::Output>>;
  Random random(22);
  constexpr Memory kMemories[] = {Memory::device, Memory::managed, Memory::pageable};
  const auto any = [&] { return kMemories[random.integer(0, 2)]; };
  for (int i = 0; i < 40; ++i) {
    Case x(random, 90);
    const Memory a = any(), b = any(), c = any();
    run(x, nullptr, a, b, c);
    if (this->HasFatalFailure()) return;
  }
}

// In a graph, launched twice: buffers are taken and given back in the order of the stream.
TEST(Strides, AreCaptured) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  Random random(23);
  for (int i = 0; i < 10; ++i) {
    const Context ctx;
    StridedCase<test::Half, test::Half> x(random, 200);
    x.beta = 0;
    const Placed a(x.a, Memory::device), b(x.b, Memory::device), c(x.c, Memory::device);
    xgemm_args args = x.args([](auto&) { return nullptr; });
    args.a = a.at(x.a), args.b = b.at(x.b), args.c = c.at(x.c);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    XGEMM_CHECK_CUDA(cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeGlobal));
    ASSERT_EQ(xgemm_gemm(ctx, &args), 0) << xgemm_last_error();
    XGEMM_CHECK_CUDA(cudaStreamEndCapture(ctx.stream(), &graph));
    XGEMM_CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int launch = 0; launch < 2; ++launch) XGEMM_CHECK_CUDA(cudaGraphLaunch(exec, ctx.stream()));
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(ctx.stream()));
    c.fetch(x.c);
    ASSERT_EQ(x.check(), "");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
}

// A C whose buffer would be larger than the bound, full and a triangle: against a call on a plain C.
TEST(Strides, LargeResultsAreComputedInParts) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  constexpr std::int64_t kN = 8500, kK = 8;
  for (const std::int32_t fill : {XGEMM_FILL_FULL, XGEMM_FILL_LOWER, XGEMM_FILL_UPPER}) {
    const Operand<float> a({kN, kK, kN}, {.seed = 1, .integers = true}), b({kK, kN, kK}, {.seed = 2, .integers = true});
    Operand<float> plain({kN, kN, kN}, {.seed = 3, .integers = true});
    Operand<float> rows({2 * kN, kN, 2 * kN}, {.seed = 4, .integers = true});
    // Every other row holds what the plain C holds.
    XGEMM_CHECK_CUDA(cudaMemcpy2D(rows.data(), 8, plain.data(), 4, 4, kN * kN, cudaMemcpyDeviceToDevice));
    std::vector<float> before(2 * kN * kN), expected(kN * kN), found(2 * kN * kN);
    XGEMM_CHECK_CUDA(cudaMemcpy(before.data(), rows.data(), before.size() * 4, cudaMemcpyDeviceToHost));
    const float alpha = 1, beta = 1;
    xgemm_args args = XGEMM_ARGS_INIT;
    args.m = args.n = kN, args.k = kK;
    args.alpha = &alpha, args.beta = &beta;
    args.a = a.data(), args.lda = kN, args.b = b.data(), args.ldb = kK, args.c = plain.data(), args.ldc = kN;
    args.fill = fill;
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
    args.c = rows.data();
    args.strided = XGEMM_STRIDED_C, args.row_stride_c = 2, args.column_stride_c = 2 * kN;
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
    XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
    XGEMM_CHECK_CUDA(cudaMemcpy(expected.data(), plain.data(), expected.size() * 4, cudaMemcpyDeviceToHost));
    XGEMM_CHECK_CUDA(cudaMemcpy(found.data(), rows.data(), found.size() * 4, cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(found[2 * i], expected[i]) << i << " of fill " << fill;
      ASSERT_EQ(found[2 * i + 1], before[2 * i + 1]) << "beside " << i;
    }
  }
}

// Emulated products read any strides, too.
TEST(Strides, AreEmulated) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  constexpr std::int64_t kN = 700;
  const Operand<float> wide({3 * kN, 2 * kN, 3 * kN}, {.seed = 5, .integers = true});
  const Operand<float> plain({kN, kN, kN}, {.seed = 6, .integers = true});
  std::vector<float> results[2];
  for (std::vector<float>& result : results) {
    const Operand<float> c({kN, kN, kN}, {.seed = 7, .poisoned = true});
    xgemm_args args = XGEMM_ARGS_INIT;
    args.m = args.n = args.k = kN;
    args.a = wide.data(), args.b = plain.data(), args.ldb = kN, args.c = c.data(), args.ldc = kN;
    args.strided = XGEMM_STRIDED_A, args.row_stride_a = 3, args.column_stride_a = 6 * kN;
    args.math_mode = (&result == results ? XGEMM_MATH_STRICT : XGEMM_MATH_FP32_EMULATED) + 1;
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
    XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
    result.resize(kN * kN);
    XGEMM_CHECK_CUDA(cudaMemcpy(result.data(), c.data(), result.size() * 4, cudaMemcpyDeviceToHost));
  }
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace xgemm::gpu_test
