// libxgemm_cublas.so in front of the real cuBLAS: what it serves is right, only enqueued, and can be captured; what it
// hands on is computed. It says of each call who served it.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>

#include <cstdlib>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "call.h"
#include "cublas/abi.h"

extern "C" {
int cublasGemmEx(void*, int transa, int transb, int m, int n, int k, const void* alpha, const void* a, int type_a,
                 int lda, const void* b, int type_b, int ldb, const void* beta, void* c, int type_c, int ldc,
                 int compute, int algorithm);
int cublasGemmStridedBatchedEx(void*, int transa, int transb, int m, int n, int k, const void* alpha, const void* a,
                               int type_a, int lda, long long stride_a, const void* b, int type_b, int ldb,
                               long long stride_b, const void* beta, void* c, int type_c, int ldc, long long stride_c,
                               int batch_count, int compute, int algorithm);
int cublasGemmBatchedEx(void*, int transa, int transb, int m, int n, int k, const void* alpha, const void* a,
                        int type_a, int lda, const void* b, int type_b, int ldb, const void* beta, const void* c,
                        int type_c, int ldc, int batch_count, int compute, int algorithm);
int cublasSetStream_v2(void*, void* stream);
int cublasSetWorkspace_v2(void*, void* memory, std::size_t bytes);
int cublasDestroy_v2(void*);
}

namespace xgemm::gpu_test {
namespace {

using namespace cublas;

const bool kEnvironmentIsSet = [] {
  setenv("XGEMM_CUBLAS", "always", 1);
  setenv("XGEMM_VERBOSE", "1", 1);
  return true;
}();

template <class T>
constexpr int kDataType = kReal32F;
template <>
constexpr int kDataType<Half> = kReal16F;
template <>
constexpr int kDataType<Bfloat16> = kReal16BF;
template <>
constexpr int kDataType<double> = kReal64F;

int operation(char flag) {
  return flag == 'N' ? kOpN : kOpT;
}

// How many lines name who computed.
int lines(const std::string& text, const std::string& who) {
  int found = 0;
  for (std::size_t at = text.find("by=" + who); at != std::string::npos; at = text.find("by=" + who, at + 1)) ++found;
  return found;
}

// A handle of the real cuBLAS, loaded into a scope of its own, with a stream.
template <class T>
class CublasFront : public testing::Test {
 protected:
  using Input = typename Types<T>::Input;
  using Output = typename Types<T>::Output;
  using Scalar = std::conditional_t<std::is_same_v<Input, double>, double, float>;
  static constexpr int kCompute = std::is_same_v<Input, double> ? kCompute64F : kCompute32F;

  void SetUp() override {
    XGEMM_SKIP_WITHOUT_DEVICE();
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.13"})
      if (library_ == nullptr) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) GTEST_SKIP() << "no cuBLAS: " << dlerror();
    const auto create = reinterpret_cast<int (*)(void**)>(dlsym(library_, "cublasCreate_v2"));
    set_pointer_mode_ = reinterpret_cast<int (*)(void*, int)>(dlsym(library_, "cublasSetPointerMode_v2"));
    ASSERT_EQ(kSuccess, create(&handle_));
    XGEMM_CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ASSERT_EQ(kSuccess, cublasSetStream_v2(handle_, stream_));
    XGEMM_CHECK_CUDA(cudaMalloc(reinterpret_cast<void**>(&scalars_), 2 * sizeof(Scalar)));
    XGEMM_CHECK_CUDA(cudaMalloc(reinterpret_cast<void**>(&pointers_), 3 * kMostPointers * sizeof(void*)));
  }
  void TearDown() override {
    if (handle_ == nullptr) return;
    cublasDestroy_v2(handle_);
    cudaFree(scalars_);
    cudaFree(pointers_);
    cudaStreamDestroy(stream_);
  }

  // alpha and beta on the host, or copied to the device; the matrices of a batch by their distance, or by pointers.
  int enqueue(const Call<T>& call, bool on_device = false, bool by_pointers = false) {
    const CallSpec& s = call.spec();
    const Scalar host[] = {static_cast<Scalar>(s.alpha), static_cast<Scalar>(s.beta)};
    const Scalar* scalars = host;
    if (on_device) {
      XGEMM_CHECK_CUDA(cudaMemcpyAsync(scalars_, host, sizeof host, cudaMemcpyHostToDevice, stream_));
      scalars = scalars_;
    }
    set_pointer_mode_(handle_, on_device ? kScalarsOnDevice : kScalarsOnHost);
    const xgemm_args x = call.args();
    const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
    if (s.batch == 1)
      return cublasGemmEx(handle_, operation(s.transa), operation(s.transb), narrow(s.m), narrow(s.n), narrow(s.k),
                          scalars, x.a, kDataType<Input>, narrow(x.lda), x.b, kDataType<Input>, narrow(x.ldb),
                          scalars + 1, x.c, kDataType<Output>, narrow(x.ldc), kCompute, kDefaultAlgorithm);
    if (by_pointers) {
      const auto array_of = [&](const auto* first, std::int64_t stride, int number) {
        std::vector<const void*> all;
        for (std::int64_t i = 0; i < s.batch; ++i) all.push_back(first + i * stride);
        const void** const array = pointers_ + number * kMostPointers;
        XGEMM_CHECK_CUDA(
            cudaMemcpyAsync(array, all.data(), all.size() * sizeof(void*), cudaMemcpyHostToDevice, stream_));
        return array;
      };
      const void* const a = array_of(static_cast<const Input*>(x.a), x.stride_a, 0);
      const void* const b = array_of(static_cast<const Input*>(x.b), x.stride_b, 1);
      const void* const c = array_of(static_cast<const Output*>(x.c), x.stride_c, 2);
      return cublasGemmBatchedEx(handle_, operation(s.transa), operation(s.transb), narrow(s.m), narrow(s.n),
                                 narrow(s.k), scalars, a, kDataType<Input>, narrow(x.lda), b, kDataType<Input>,
                                 narrow(x.ldb), scalars + 1, c, kDataType<Output>, narrow(x.ldc), narrow(s.batch),
                                 kCompute, kDefaultAlgorithm);
    }
    return cublasGemmStridedBatchedEx(handle_, operation(s.transa), operation(s.transb), narrow(s.m), narrow(s.n),
                                      narrow(s.k), scalars, x.a, kDataType<Input>, narrow(x.lda), x.stride_a, x.b,
                                      kDataType<Input>, narrow(x.ldb), x.stride_b, scalars + 1, x.c, kDataType<Output>,
                                      narrow(x.ldc), x.stride_c, narrow(s.batch), kCompute, kDefaultAlgorithm);
  }

  static constexpr int kMostPointers = 8;

  void* library_ = nullptr;
  int (*set_pointer_mode_)(void*, int) = nullptr;
  void* handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
  Scalar* scalars_ = nullptr;
  const void** pointers_ = nullptr;
};
TYPED_TEST_SUITE(CublasFront, CallTypes);

TYPED_TEST(CublasFront, ServesRandomProducts) {
  std::mt19937 random(3);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  void* workspace = nullptr;
  XGEMM_CHECK_CUDA(cudaMalloc(&workspace, 32 << 20));
  constexpr int kProducts = 60;
  testing::internal::CaptureStderr();
  for (int i = 0; i < kProducts; ++i) {
    CallSpec spec;
    spec.transa = pick(0, 1) ? 'N' : 'T';
    spec.transb = pick(0, 1) ? 'N' : 'T';
    spec.m = pick(1, 300), spec.n = pick(1, 300), spec.k = pick(1, pick(0, 3) == 0 ? 8000 : 500);
    spec.alpha = static_cast<float>(pick(-2, 2)), spec.beta = static_cast<float>(pick(-1, 1));
    spec.pad_a = 8 * pick(0, 1) + pick(0, 2), spec.pad_c = pick(0, 8);
    spec.batch = pick(0, 2) == 0 ? pick(2, 5) : 1;
    spec.seed = static_cast<std::uint64_t>(i) + 1;
    // A stream that is set takes the workspace back.
    ASSERT_EQ(kSuccess, cublasSetStream_v2(this->handle_, this->stream_));
    if (pick(0, 1) != 0) {
      ASSERT_EQ(kSuccess, cublasSetWorkspace_v2(this->handle_, workspace, 32 << 20));
    }
    const Call<TypeParam> call(spec);
    // What beta does with the old C is known only where it lies on the host: elsewhere C must hold numbers.
    const bool on_device = spec.beta != 0 && spec.alpha != 0 && pick(0, 1) != 0;
    ASSERT_EQ(kSuccess, this->enqueue(call, on_device, pick(0, 1) != 0)) << spec;
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(this->stream_));
    ASSERT_TRUE(call.check());
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(kProducts, lines(text, "libxgemm")) << text;
  XGEMM_CHECK_CUDA(cudaFree(workspace));
}

TYPED_TEST(CublasFront, OnlyEnqueuesAndIsCaptured) {
  const CallSpec specs[] = {{.m = 256, .n = 256, .k = 256, .beta = 1},
                            {.transa = 'T', .m = 64, .n = 64, .k = 8000},
                            {.transb = 'T', .m = 130, .n = 70, .k = 90, .alpha = 2, .batch = 3}};
  testing::internal::CaptureStderr();
  for (const CallSpec& spec : specs) {
    Call<TypeParam> call(spec);
    ASSERT_EQ(kSuccess, this->enqueue(call));  // loads what it needs
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(this->stream_));
    call.c.refill();
    {
      BusyStream busy(this->stream_);
      ASSERT_EQ(kSuccess, this->enqueue(call));
      EXPECT_EQ(cudaErrorNotReady, cudaStreamQuery(this->stream_));
      busy.release();
      XGEMM_CHECK_CUDA(cudaStreamSynchronize(this->stream_));
      EXPECT_TRUE(call.check());
    }
    cudaGetLastError();
    call.c.refill();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    XGEMM_CHECK_CUDA(cudaStreamBeginCapture(this->stream_, cudaStreamCaptureModeGlobal));
    ASSERT_EQ(kSuccess, this->enqueue(call));
    XGEMM_CHECK_CUDA(cudaStreamEndCapture(this->stream_, &graph));
    XGEMM_CHECK_CUDA(cudaGraphInstantiate(&replay, graph, 0));
    XGEMM_CHECK_CUDA(cudaGraphLaunch(replay, this->stream_));
    XGEMM_CHECK_CUDA(cudaStreamSynchronize(this->stream_));
    EXPECT_TRUE(call.check());
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(9, lines(text, "libxgemm")) << text;
}

using CublasFrontInFp32 = CublasFront<float>;

TEST_F(CublasFrontInFp32, HandsOnWhatItDoesNotServe) {
  // What is illegal: a leading dimension, and a handle.
  const Call<float> call({.m = 8, .n = 8, .k = 8});
  const xgemm_args x = call.args();
  const float one = 1, zero = 0;
  testing::internal::CaptureStderr();
  EXPECT_NE(kSuccess, cublasGemmEx(handle_, kOpN, kOpN, 8, 8, 8, &one, x.a, kReal32F, 7, x.b, kReal32F, 8, &zero, x.c,
                                   kReal32F, 8, kCompute32F, kDefaultAlgorithm));
  EXPECT_NE(kSuccess, cublasGemmEx(nullptr, kOpN, kOpN, 8, 8, 8, &one, x.a, kReal32F, 8, x.b, kReal32F, 8, &zero, x.c,
                                   kReal32F, 8, kCompute32F, kDefaultAlgorithm));
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace xgemm::gpu_test
