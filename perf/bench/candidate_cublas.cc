// cuBLAS as a candidate, opened at run time. Its prototypes are written down here from its public documentation, so
// that building needs none of its headers. fp32 runs cublasSgemm, in the default math mode unless asked for TF32, fp64
// cublasDgemm, fp16 and bf16 cublasGemmEx with fp32 sums. SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "bench/candidate.h"
#include "bench/dynamic_library.h"

namespace xgemm::perf {
namespace {

using Handle = struct cublasContext*;
constexpr int kNone = 0, kTranspose = 1;                // cublasOperation_t
constexpr int kReal32 = 0, kReal16 = 2, kBrain16 = 14;  // cudaDataType: CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF
constexpr int kComputeFloat = 68;                       // cublasComputeType_t: CUBLAS_COMPUTE_32F
constexpr int kDefaultAlgorithm = -1;                   // cublasGemmAlgo_t: CUBLAS_GEMM_DEFAULT

template <class T>
using Gemm = int (*)(Handle, int, int, int, int, int, const T*, const T*, int, const T*, int, const T*, T*, int);
template <class T>
using PointerGemm = int (*)(Handle, int, int, int, int, int, const T*, const T* const*, int, const T* const*, int,
                            const T*, T* const*, int, int);
template <class T>
using BatchedGemm = int (*)(Handle, int, int, int, int, int, const T*, const T*, int, long long, const T*, int,
                            long long, const T*, T*, int, long long, int);

struct Cublas {
  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_stream)(Handle, void*) = nullptr;
  int (*set_workspace)(Handle, void*, std::size_t) = nullptr;
  int (*set_math_mode)(Handle, int) = nullptr;
  int (*property)(int, int*) = nullptr;  // libraryPropertyType: 0 major, 1 minor, 2 patch
  const char* (*status_string)(int) = nullptr;
  Gemm<float> sgemm = nullptr;
  BatchedGemm<float> sgemm_batched = nullptr;
  PointerGemm<float> sgemm_pointers = nullptr;
  Gemm<double> dgemm = nullptr;
  BatchedGemm<double> dgemm_batched = nullptr;
  PointerGemm<double> dgemm_pointers = nullptr;
  int (*gemm_ex)(Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                 const void*, void*, int, int, int, int) = nullptr;
  int (*gemm_batched_ex)(Handle, int, int, int, int, int, const void*, const void*, int, int, long long, const void*,
                         int, int, long long, const void*, void*, int, int, long long, int, int, int) = nullptr;
  int (*gemm_pointers_ex)(Handle, int, int, int, int, int, const void*, const void* const*, int, int,
                          const void* const*, int, int, const void*, void* const*, int, int, int, int, int) = nullptr;
};

bool load(const DynamicLibrary& library, Cublas& cublas) {
  library.load(cublas.status_string, "cublasGetStatusString");
  library.load(cublas.set_workspace, "cublasSetWorkspace_v2");
  return library.load(cublas.create, "cublasCreate_v2") && library.load(cublas.destroy, "cublasDestroy_v2") &&
         library.load(cublas.set_stream, "cublasSetStream_v2") &&
         library.load(cublas.set_math_mode, "cublasSetMathMode") &&
         library.load(cublas.property, "cublasGetProperty") && library.load(cublas.sgemm, "cublasSgemm_v2") &&
         library.load(cublas.sgemm_batched, "cublasSgemmStridedBatched") &&
         library.load(cublas.sgemm_pointers, "cublasSgemmBatched") && library.load(cublas.dgemm, "cublasDgemm_v2") &&
         library.load(cublas.dgemm_pointers, "cublasDgemmBatched") &&
         library.load(cublas.dgemm_batched, "cublasDgemmStridedBatched") &&
         library.load(cublas.gemm_ex, "cublasGemmEx") &&
         library.load(cublas.gemm_batched_ex, "cublasGemmStridedBatchedEx") &&
         library.load(cublas.gemm_pointers_ex, "cublasGemmBatchedEx");
}

std::string status_text(const Cublas& cublas, int status) {
  return cublas.status_string != nullptr ? cublas.status_string(status) : fmt::format("cuBLAS status {}", status);
}

std::string version_text(const Cublas& cublas) {
  std::array<int, 3> parts{};
  for (int i = 0; i < 3; ++i) cublas.property(i, &parts[static_cast<std::size_t>(i)]);
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

bool fits_int(std::int64_t value) {
  return value <= std::numeric_limits<int>::max();
}

class CublasCandidate final : public Candidate {
 public:
  CublasCandidate(std::string name, std::string description, const Cublas& cublas, Handle handle, Device& device,
                  void* workspace)
      : name_(std::move(name)),
        description_(std::move(description)),
        cublas_(cublas),
        handle_(handle),
        device_(device),
        workspace_(workspace) {}
  CublasCandidate(const CublasCandidate&) = delete;
  CublasCandidate& operator=(const CublasCandidate&) = delete;
  ~CublasCandidate() override {
    cublas_.destroy(handle_);
    device_.release('d', workspace_);
    for (const Staged& staged : staged_) device_.release('d', staged.memory);
  }

  const std::string& name() const override { return name_; }
  std::string description() const override { return description_; }

  std::string prepare(const Case& one, const OperandSet&) override {
    if (!one.epilogue.empty()) return "cuBLAS knows no epilogues, cublasLt does";
    if (one.by_pointers && one.location != "ddd") return "reads arrays of pointers in device memory only";
    for (const std::int64_t value : {one.m, one.n, one.k, one.lda, one.ldb, one.ldc, one.batch})
      if (!fits_int(value)) return "an extent is beyond cuBLAS's int";
    const std::array<std::size_t, 3> sizes{bytes(one.input(), one.a_span()), bytes(one.input(), one.b_span()),
                                           bytes(one.output(), one.c_span())};
    for (std::size_t i = 0; i < 3; ++i)
      if (one.location[i] == 'h' && !reserve(i, sizes[i])) return "no device memory for its copies of host operands";
    return "";
  }

  std::string run(const Case& one, const OperandSet& operands) override {
    const OperandSet on_device = stage(one, operands);
    const int status =
        one.type == 's'   ? run_typed(one, on_device, cublas_.sgemm, cublas_.sgemm_batched, cublas_.sgemm_pointers)
        : one.type == 'd' ? run_typed(one, on_device, cublas_.dgemm, cublas_.dgemm_batched, cublas_.dgemm_pointers)
                          : run_16bit(one, on_device);
    if (status != 0) return status_text(cublas_, status);
    if (one.location[2] == 'h') device_.copy(operands.c, on_device.c, bytes(one.output(), one.c_span()));
    // Like libxgemm, hand back finished results as soon as one operand is host memory.
    else if (one.location.find('h') != std::string::npos)
      return device_.synchronize();
    return "";
  }

  std::string kernel(const Case& one, const OperandSet&) override {
    return one.location.find('h') == std::string::npos ? "" : "copies + cuBLAS";
  }

 private:
  struct Staged {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };

  static std::size_t bytes(const Element& element, std::int64_t span) {
    return static_cast<std::size_t>(span * element.size);
  }

  bool reserve(std::size_t operand, std::size_t wanted) {
    Staged& staged = staged_[operand];
    if (staged.bytes >= wanted) return true;
    device_.release('d', staged.memory);
    staged.memory = device_.allocate('d', wanted);
    staged.bytes = staged.memory == nullptr ? 0 : wanted;
    return staged.memory != nullptr;
  }

  /// Host operands in device memory, as a program that calls cuBLAS has to do it.
  OperandSet stage(const Case& one, OperandSet operands) {
    const auto copy_in = [&](std::size_t operand, const void* from, std::size_t size) {
      device_.copy(staged_[operand].memory, from, size);
      return staged_[operand].memory;
    };
    if (one.location[0] == 'h') operands.a = copy_in(0, operands.a, bytes(one.input(), one.a_span()));
    if (one.location[1] == 'h') operands.b = copy_in(1, operands.b, bytes(one.input(), one.b_span()));
    // Gaps between columns have to come back as they were.
    const bool dense = one.ldc == one.c_extent().contiguous;
    if (one.location[2] == 'h')
      operands.c =
          one.beta != 0 || !dense ? copy_in(2, operands.c, bytes(one.output(), one.c_span())) : staged_[2].memory;
    return operands;
  }

  template <class T>
  int run_typed(const Case& one, const OperandSet& operands, Gemm<T> gemm, BatchedGemm<T> batched_gemm,
                PointerGemm<T> pointer_gemm) const {
    const ColumnMajorCall call = column_major(one, operands);
    const auto* a = static_cast<const T*>(call.a);
    const auto* b = static_cast<const T*>(call.b);
    auto* c = static_cast<T*>(call.c);
    const T alpha = one.alpha, beta = one.beta;
    if (one.by_pointers)
      return pointer_gemm(handle_, flag(call.transa), flag(call.transb), as_int(call.m), as_int(call.n), as_int(call.k),
                          &alpha, reinterpret_cast<const T* const*>(call.a_pointers), as_int(call.lda),
                          reinterpret_cast<const T* const*>(call.b_pointers), as_int(call.ldb), &beta,
                          reinterpret_cast<T* const*>(call.c_pointers), as_int(call.ldc), as_int(one.batch));
    if (one.batch == 1)
      return gemm(handle_, flag(call.transa), flag(call.transb), as_int(call.m), as_int(call.n), as_int(call.k), &alpha,
                  a, as_int(call.lda), b, as_int(call.ldb), &beta, c, as_int(call.ldc));
    return batched_gemm(handle_, flag(call.transa), flag(call.transb), as_int(call.m), as_int(call.n), as_int(call.k),
                        &alpha, a, as_int(call.lda), call.stride_a, b, as_int(call.ldb), call.stride_b, &beta, c,
                        as_int(call.ldc), call.stride_c, as_int(one.batch));
  }

  int run_16bit(const Case& one, const OperandSet& operands) const {
    const int type = one.input().letter == 'h' ? kReal16 : kBrain16;
    const int type_c = one.output().letter == 's' ? kReal32 : type;
    const ColumnMajorCall call = column_major(one, operands);
    if (one.by_pointers)
      return cublas_.gemm_pointers_ex(handle_, flag(call.transa), flag(call.transb), as_int(call.m), as_int(call.n),
                                      as_int(call.k), &one.alpha, call.a_pointers, type, as_int(call.lda),
                                      call.b_pointers, type, as_int(call.ldb), &one.beta, call.c_pointers, type_c,
                                      as_int(call.ldc), as_int(one.batch), kComputeFloat, kDefaultAlgorithm);
    if (one.batch == 1)
      return cublas_.gemm_ex(handle_, flag(call.transa), flag(call.transb), as_int(call.m), as_int(call.n),
                             as_int(call.k), &one.alpha, call.a, type, as_int(call.lda), call.b, type, as_int(call.ldb),
                             &one.beta, call.c, type_c, as_int(call.ldc), kComputeFloat, kDefaultAlgorithm);
    return cublas_.gemm_batched_ex(handle_, flag(call.transa), flag(call.transb), as_int(call.m), as_int(call.n),
                                   as_int(call.k), &one.alpha, call.a, type, as_int(call.lda), call.stride_a, call.b,
                                   type, as_int(call.ldb), call.stride_b, &one.beta, call.c, type_c, as_int(call.ldc),
                                   call.stride_c, as_int(one.batch), kComputeFloat, kDefaultAlgorithm);
  }

  static int flag(char trans) { return trans == 'N' ? kNone : kTranspose; }
  static int as_int(std::int64_t value) { return static_cast<int>(value); }

  std::string name_;
  std::string description_;
  Cublas cublas_;
  Handle handle_;
  Device& device_;
  void* workspace_;
  std::array<Staged, 3> staged_;
};

std::vector<std::string> library_names(const std::string& path) {
  std::vector<std::string> names;
  if (!path.empty()) return {path};
  for (const char* version : {".13", ".12", ".11", ""}) names.push_back(fmt::format("libcublas.so{}", version));
  for (const char* version : {".13", ".12", ".11", ""})
    names.push_back(fmt::format("/usr/local/cuda/lib64/libcublas.so{}", version));
  return names;
}

}  // namespace

std::unique_ptr<Candidate> make_cublas(Device& device, const std::string& path, std::size_t workspace_bytes,
                                       CublasMath math, std::string& why) {
  if (!device.facts().is_gpu) {
    why = "no GPU";
    return nullptr;
  }
  const DynamicLibrary library(library_names(path));
  Cublas cublas;
  if (!library || !load(library, cublas)) {
    why = library ? library.path() + " lacks functions" : library.error();
    return nullptr;
  }
  Handle handle = nullptr;
  int status = cublas.create(&handle);
  if (status != 0) {
    why = fmt::format("cublasCreate: {}", status_text(cublas, status));
    return nullptr;
  }
  void* workspace = nullptr;
  status = cublas.set_stream(handle, device.stream());
  if (status == 0) status = cublas.set_math_mode(handle, static_cast<int>(math));
  if (status == 0 && workspace_bytes != 0) {
    // After set_stream, which takes a workspace back.
    workspace = device.allocate('d', workspace_bytes);
    if (workspace == nullptr || cublas.set_workspace == nullptr)
      status = 3;  // CUBLAS_STATUS_ALLOC_FAILED
    else
      status = cublas.set_workspace(handle, workspace, workspace_bytes);
  }
  if (status != 0) {
    why = status_text(cublas, status);
    cublas.destroy(handle);
    device.release('d', workspace);
    return nullptr;
  }
  const bool tf32 = math == CublasMath::kTf32;
  const std::string name = tf32                   ? "cublas-tf32"
                           : workspace_bytes == 0 ? "cublas"
                                                  : fmt::format("cublas-ws{}", workspace_bytes >> 20);
  const std::string description = fmt::format(
      "cuBLAS {} ({}), {}{}", version_text(cublas), file_name(library.path()),
      workspace_bytes == 0 ? "its default workspace" : fmt::format("{} MiB workspace", workspace_bytes >> 20),
      tf32 ? ", TF32" : "");
  return std::make_unique<CublasCandidate>(name, description, cublas, handle, device, workspace);
}

}  // namespace xgemm::perf
