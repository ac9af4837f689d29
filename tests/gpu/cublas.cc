// See cublas.h. The prototypes are written down from cuBLAS's public documentation.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "cublas.h"

#include <dlfcn.h>

#include <type_traits>

namespace xgemm::gpu_test {
namespace {

constexpr int kNone = 0, kTranspose = 1;        // cublasOperation_t
constexpr int kComputeFloat = 68;               // cublasComputeType_t: CUBLAS_COMPUTE_32F
constexpr int kComputeDouble = 70;              // CUBLAS_COMPUTE_64F
constexpr int kDefaultAlgorithm = -1;           // cublasGemmAlgo_t: CUBLAS_GEMM_DEFAULT
constexpr int kDisallowReducedReductions = 16;  // cublasMath_t, with the default math: no TF32

// cudaDataType.
template <class T>
constexpr int kDataType = 0;
template <>
constexpr int kDataType<double> = 1;
template <>
constexpr int kDataType<Half> = 2;
template <>
constexpr int kDataType<Bfloat16> = 14;

}  // namespace

struct Cublas::Functions {
  int (*create)(void**);
  int (*destroy)(void*);
  int (*set_stream)(void*, cudaStream_t);
  int (*set_math_mode)(void*, int);
  int (*property)(int, int*);
  int (*gemm_ex)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*,
                 void*, int, int, int, int);
  int (*gemm_batched_ex)(void*, int, int, int, int, int, const void*, const void*, int, int, long long, const void*,
                         int, int, long long, const void*, void*, int, int, long long, int, int, int);
};

Cublas::Cublas(cudaStream_t stream) {
  why_not_ = load(stream);
}

Cublas::~Cublas() {
  if (handle_ != nullptr) functions_->destroy(handle_);
  delete functions_;
  // The library stays: it has registered itself with CUDA.
}

std::string Cublas::load(cudaStream_t stream) {
  std::string errors;
  for (const char* folder : {"", "/usr/local/cuda/lib64/"})
    for (const char* version : {".13", ".12", ".11", ""}) {
      if (library_ != nullptr) break;
      library_ = dlopen((std::string(folder) + "libcublas.so" + version).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library_ == nullptr && errors.empty()) errors = dlerror();
    }
  if (library_ == nullptr) return "no cuBLAS: " + errors;
  auto* const f = new Functions{};
  functions_ = f;
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library_, name));
    complete = complete && function != nullptr;
  };
  find(f->create, "cublasCreate_v2");
  find(f->destroy, "cublasDestroy_v2");
  find(f->set_stream, "cublasSetStream_v2");
  find(f->set_math_mode, "cublasSetMathMode");
  find(f->property, "cublasGetProperty");
  find(f->gemm_ex, "cublasGemmEx");
  find(f->gemm_batched_ex, "cublasGemmStridedBatchedEx");
  if (!complete) return "this cuBLAS lacks functions";
  if (const int status = f->create(&handle_); status != 0) return "cublasCreate: status " + std::to_string(status);
  if (f->set_stream(handle_, stream) != 0 || f->set_math_mode(handle_, kDisallowReducedReductions) != 0)
    return "cuBLAS takes no stream or math mode";
  int numbers[3] = {0, 0, 0};
  for (int i = 0; i < 3; ++i) f->property(i, &numbers[i]);
  version_ = std::to_string(numbers[0]) + "." + std::to_string(numbers[1]) + "." + std::to_string(numbers[2]);
  return "";
}

template <class T, class U>
int Cublas::multiply(const Product& p, const Operand<T>& a, const Operand<T>& b, const Operand<U>& c) const {
  const auto flag = [](char trans) { return trans == 'N' ? kNone : kTranspose; };
  const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
  const auto stride = [](const auto& x) {
    return static_cast<long long>(x.layout().batch > 1 ? x.layout().stride : 0);
  };
  constexpr int kType = kDataType<T>, kTypeC = kDataType<U>;
  constexpr bool kDouble = std::is_same_v<T, double>;
  constexpr int kCompute = kDouble ? kComputeDouble : kComputeFloat;
  const std::conditional_t<kDouble, double, float> alpha = p.alpha, beta = p.beta;
  if (p.batch == 1)
    return functions_->gemm_ex(handle_, flag(p.transa), flag(p.transb), narrow(p.m), narrow(p.n), narrow(p.k), &alpha,
                               a.data(), kType, narrow(a.layout().ld), b.data(), kType, narrow(b.layout().ld), &beta,
                               c.data(), kTypeC, narrow(c.layout().ld), kCompute, kDefaultAlgorithm);
  return functions_->gemm_batched_ex(handle_, flag(p.transa), flag(p.transb), narrow(p.m), narrow(p.n), narrow(p.k),
                                     &alpha, a.data(), kType, narrow(a.layout().ld), stride(a), b.data(), kType,
                                     narrow(b.layout().ld), stride(b), &beta, c.data(), kTypeC, narrow(c.layout().ld),
                                     stride(c), narrow(p.batch), kCompute, kDefaultAlgorithm);
}

template int Cublas::multiply(const Product&, const Operand<float>&, const Operand<float>&,
                              const Operand<float>&) const;
template int Cublas::multiply(const Product&, const Operand<Tf32>&, const Operand<Tf32>&, const Operand<float>&) const;
template int Cublas::multiply(const Product&, const Operand<double>&, const Operand<double>&,
                              const Operand<double>&) const;
template int Cublas::multiply(const Product&, const Operand<Half>&, const Operand<Half>&, const Operand<Half>&) const;
template int Cublas::multiply(const Product&, const Operand<Half>&, const Operand<Half>&, const Operand<float>&) const;
template int Cublas::multiply(const Product&, const Operand<Bfloat16>&, const Operand<Bfloat16>&,
                              const Operand<Bfloat16>&) const;
template int Cublas::multiply(const Product&, const Operand<Bfloat16>&, const Operand<Bfloat16>&,
                              const Operand<float>&) const;

}  // namespace xgemm::gpu_test
