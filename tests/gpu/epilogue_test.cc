// Epilogues of products in device memory: random ones of all types, large ones in panels, and calls that are refused.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "support/epilogue.h"

#include <cuda_runtime_api.h>

#include <map>
#include <string>
#include <vector>

#include "call.h"

namespace xgemm::gpu_test {
namespace {

using test::EpilogueCase;
using test::Random;

// Copies of matrices on the device, guards included.
class Copies {
 public:
  ~Copies() {
    for (const auto& [host, copy] : copies_) cudaFree(copy);
  }
  // The first element of the copy.
  template <class Matrix>
  auto at(const Matrix& x) {
    using Element = std::remove_cvref_t<decltype(x.storage()[0])>;
    void*& copy = copies_[x.storage().data()];
    if (copy == nullptr) {
      XGEMM_CHECK_CUDA(cudaMalloc(&copy, bytes(x)));
      XGEMM_CHECK_CUDA(cudaMemcpy(copy, x.storage().data(), bytes(x), cudaMemcpyHostToDevice));
    }
    return static_cast<Element*>(copy) + x.offset();
  }
  template <class Pointer>
  void* array(const std::vector<Pointer>& pointers) {
    void*& copy = copies_[pointers.data()];
    XGEMM_CHECK_CUDA(cudaMalloc(&copy, pointers.size() * sizeof(Pointer)));
    XGEMM_CHECK_CUDA(cudaMemcpy(copy, pointers.data(), pointers.size() * sizeof(Pointer), cudaMemcpyHostToDevice));
    return copy;
  }
  template <class Matrix>
  void fetch(Matrix& x) {
    XGEMM_CHECK_CUDA(cudaMemcpy(x.storage().data(), copies_.at(x.storage().data()), bytes(x), cudaMemcpyDeviceToHost));
  }

 private:
  template <class Matrix>
  static std::size_t bytes(const Matrix& x) {
    return x.storage().size() * sizeof(x.storage()[0]);
  }
  std::map<const void*, void*> copies_;
};

enum class Batch { strided, pointers_on_host, pointers };

template <class T, class C>
void run(EpilogueCase<T, C>& x, bool scalars_on_device, std::int32_t math_mode = 0, Batch batch = Batch::strided) {
  Copies copies;
  xgemm_args args = x.args([&](const auto& matrix) { return copies.at(matrix); });
  args.math_mode = math_mode;
  test::PointerArrays arrays = test::PointerArrays::of<T, C>(args);
  if (batch != Batch::strided) {
    const auto array = [&]<class Pointer>(std::vector<Pointer>& pointers) {
      return batch == Batch::pointers_on_host ? static_cast<void*>(pointers.data()) : copies.array(pointers);
    };
    args.a = array(arrays.a), args.b = array(arrays.b), args.c = array(arrays.c);
    args.stride_a = args.stride_b = args.stride_c = 0;
    args.batch_kind = XGEMM_BATCH_POINTERS;
  }
  xgemm_context* ctx = nullptr;
  ASSERT_EQ(xgemm_create(&ctx), 0);
  test::ScalarOf<T>* scalars = nullptr;
  if (scalars_on_device) {
    XGEMM_CHECK_CUDA(cudaMalloc(reinterpret_cast<void**>(&scalars), 2 * sizeof *scalars));
    XGEMM_CHECK_CUDA(cudaMemcpy(scalars, &x.alpha, sizeof *scalars, cudaMemcpyHostToDevice));
    XGEMM_CHECK_CUDA(cudaMemcpy(scalars + 1, &x.beta, sizeof *scalars, cudaMemcpyHostToDevice));
    args.alpha = scalars, args.beta = scalars + 1;
    xgemm_set_scalar_location(ctx, XGEMM_SCALARS_ON_DEVICE);
  }
  ASSERT_EQ(xgemm_gemm(ctx, &args), 0) << xgemm_last_error() << ": " << x.words();
  XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
  xgemm_destroy(ctx);
  cudaFree(scalars);
  copies.fetch(x.c);
  if (x.has_aux) copies.fetch(x.aux);
  ASSERT_EQ(x.check(), "") << (scalars_on_device ? "scalars on the device" : "");
}

template <class T, class C = T>
void run_random(int count, std::int64_t most) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  Random random(static_cast<std::uint64_t>(sizeof(T) * 100 + sizeof(C)));
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    EpilogueCase<T, C> x(random, most);
    run(x, i % 4 == 3);
  }
}

template <class T, class C = T>
void run_pointers() {
  XGEMM_SKIP_WITHOUT_DEVICE();
  Random random(static_cast<std::uint64_t>(sizeof(T) * 10 + sizeof(C)));
  for (int i = 0; i < 40 && !testing::Test::HasFailure(); ++i) {
    EpilogueCase<T, C> x(random, i % 8 == 7 ? 300 : 60);
    run(x, i % 4 == 3, 0, i % 5 == 4 ? Batch::pointers_on_host : Batch::pointers);
  }
}
TEST(Pointers, F32) {
  run_pointers<float>();
}
TEST(Pointers, F64) {
  run_pointers<double>();
}
TEST(Pointers, F16) {
  run_pointers<test::Half>();
}
TEST(Pointers, Bf16ToF32) {
  run_pointers<test::Bfloat16, float>();
}

TEST(Epilogue, SmallF32) {
  run_random<float>(60, 80);
}
TEST(Epilogue, SmallF64) {
  run_random<double>(60, 80);
}
TEST(Epilogue, SmallF16) {
  run_random<test::Half>(60, 80);
}
TEST(Epilogue, SmallBf16) {
  run_random<test::Bfloat16>(60, 80);
}
TEST(Epilogue, SmallF16ToF32) {
  run_random<test::Half, float>(40, 80);
}
TEST(Epilogue, LargerF32) {
  run_random<float>(25, 500);
}
TEST(Epilogue, LargerF16) {
  run_random<test::Half>(25, 500);
}
TEST(Epilogue, LargerBf16) {
  run_random<test::Bfloat16>(25, 500);
}

// What kernels compute themselves: what needs no other matrix.
template <class T>
void run_finished(int count, std::int64_t most) {
  XGEMM_SKIP_WITHOUT_HOPPER();
  Random random(static_cast<std::uint64_t>(most));
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    EpilogueCase<T> x(random, most, sizeof(T) == 2 ? 8 : 1);
    x.has_old_c = x.has_aux = false;
    x.beta = 0;
    constexpr xgemm_activation kActivations[] = {XGEMM_NO_ACTIVATION, XGEMM_RELU, XGEMM_GELU_TANH, XGEMM_SILU,
                                                 XGEMM_GELU};
    x.activation = kActivations[i % 5];
    x.has_bias = i % 5 == 0 || i % 3 != 0;
    if (i % 2 == 0) x.has_row_scales = x.has_column_scales = false;
    run(x, false);
  }
  EpilogueCase<T> x(random, 9, 8);
  Copies copies;
  xgemm_args args = x.args([&](const auto& matrix) { return copies.at(matrix); });
  args.layout = XGEMM_COL_MAJOR, args.transa = 'T', args.transb = 'N';
  args.m = args.n = args.k = 1024, args.lda = args.ldb = args.ldc = 1024, args.batch_count = 1;
  const float one = 1;
  args.alpha = &one, args.beta = nullptr;
  args.row_scales = args.column_scales = args.old_c = nullptr, args.aux = nullptr;
  args.activation = XGEMM_RELU;
  std::string text(1 << 16, '\0');
  ASSERT_EQ(xgemm_explain(nullptr, &args, text.data(), text.size()), 0) << xgemm_last_error();
  EXPECT_NE(text.find("epilogue: in the kernel"), std::string::npos) << text;
}

TEST(Epilogue, SmallAndFinishedByKernelsF16) {
  run_finished<test::Half>(40, 90);
}
TEST(Epilogue, FinishedByKernelsF16) {
  run_finished<test::Half>(20, 500);
}
TEST(Epilogue, FinishedByKernelsBf16) {
  run_finished<test::Bfloat16>(20, 500);
}

TEST(Epilogue, SmallAndFinishedByKernelsF32) {
  run_finished<float>(40, 90);
}
TEST(Epilogue, FinishedByKernelsF32) {
  run_finished<float>(20, 500);
}

TEST(Epilogue, Emulated) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  Random random(77);
  for (int i = 0; i < 4 && !testing::Test::HasFailure(); ++i) {
    EpilogueCase<float> x(random, 700);
    run(x, false, XGEMM_MATH_FP32_EMULATED + 1);
  }
}

// Sums of 16-bit results lie in a buffer of 256 MiB at most: columns of a large C are finished in panels, and a few
// entries of a batch at a time. Factors of 1 change no result.
TEST(Epilogue, LargeResultsAreFinishedInPanels) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  const std::vector<float> ones(17000, 1.0f);
  void* scales = nullptr;
  XGEMM_CHECK_CUDA(cudaMalloc(&scales, ones.size() * sizeof(float)));
  XGEMM_CHECK_CUDA(cudaMemcpy(scales, ones.data(), ones.size() * sizeof(float), cudaMemcpyHostToDevice));
  for (const CallSpec& spec :
       {CallSpec{.m = 8200, .n = 17000, .k = 40, .beta = 1},
        CallSpec{.transa = 'T', .m = 1500, .n = 1700, .k = 40, .beta = 1, .pad_c = 3, .batch = 31, .gap = 8}}) {
    const Call<Half> call(spec);
    xgemm_args args = call.args();
    args.column_scales = scales;
    ASSERT_EQ(xgemm_gemm(nullptr, &args), 0) << xgemm_last_error();
    XGEMM_CHECK_CUDA(cudaDeviceSynchronize());
    EXPECT_TRUE(call.check(101));
  }
  XGEMM_CHECK_CUDA(cudaFree(scales));
}

TEST(Epilogue, MixedPlacesAreRefused) {
  XGEMM_SKIP_WITHOUT_DEVICE();
  Random random(3);
  EpilogueCase<float> x(random, 20);
  x.has_bias = true;
  Copies copies;
  xgemm_args args = x.args([&](const auto& matrix) { return copies.at(matrix); });
  float host[32] = {};
  args.bias = host;
  EXPECT_EQ(xgemm_gemm(nullptr, &args), XGEMM_UNSUPPORTED);
  EXPECT_NE(std::string(xgemm_last_error()).find("all in host memory, or all in device"), std::string::npos);
}

}  // namespace
}  // namespace xgemm::gpu_test
