// The names of cuBLAS, made from the rows of names.def, in the version nodes of both releases: a program's references
// carry the node of the cuBLAS that it was built with, which tells whose function is meant where a process has several.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>

#include "cublas/abi.h"
#include "cublas/forms.h"
#include "cublas/handle.h"
#include "cublas/matmul.h"
#include "cublas/original.h"
#include "cublas/request.h"
#include "cublas/serve.h"

namespace xgemm::cublas {
namespace {

// The call by whoever should compute it; the real function of the caller's cuBLAS is one of them.
template <int version, class Real>
int gemm(Handle handle, const Call& call, const Real& real) noexcept {
  Request request;
  request.call = call;
  if (read_state(version, handle, &request.state))
    translate(&request);
  else
    request.obstacle = "a handle that cuBLAS does not know";
  return serve_or_forward(request, Forward(real));
}

}  // namespace
}  // namespace xgemm::cublas

using namespace xgemm::cublas;

// Of the functions, symbol is the name, version the node's, and at how the linker is told of it.

#define XGEMM_EXPORT(local, symbol, library, version, at) \
  __asm__(".symver " #local "," #symbol at #library ".so." #version)

#define XGEMM_FUNCTION(symbol, form, type, compute, Int, version, at)                                      \
  [[gnu::visibility("default")]] int xgemm_##symbol##_of_##version XGEMM_PARAMETERS_##form(Int) noexcept { \
    using Function = int XGEMM_PARAMETERS_##form(Int);                                                     \
    static constinit Original original(#symbol, Library::cublas, version);                                 \
    const auto real = [&] { return original.call<Function>(XGEMM_NAMES_##form); };                         \
    if (!looks_at_calls()) return real();                                                                  \
    return gemm<version>(handle, XGEMM_CALL_##form(#symbol, type, compute), real);                         \
  }                                                                                                        \
  XGEMM_EXPORT(xgemm_##symbol##_of_##version, symbol, libcublas, version, at);

// A workspace is remembered once cuBLAS has taken it, and forgotten as cuBLAS forgets it.
#define XGEMM_STATE_FUNCTIONS(version, at)                                                                         \
  [[gnu::visibility("default")]] int xgemm_cublasSetWorkspace_v2_of_##version(Handle handle, void* memory,         \
                                                                              std::size_t bytes) noexcept {        \
    static constinit Original original("cublasSetWorkspace_v2", Library::cublas, version);                         \
    const int status = original.call<int(Handle, void*, std::size_t)>(handle, memory, bytes);                      \
    if (status == kSuccess) remember_workspace(handle, memory, bytes);                                             \
    return status;                                                                                                 \
  }                                                                                                                \
  XGEMM_EXPORT(xgemm_cublasSetWorkspace_v2_of_##version, cublasSetWorkspace_v2, libcublas, version, at);           \
  [[gnu::visibility("default")]] int xgemm_cublasSetStream_v2_of_##version(Handle handle, void* stream) noexcept { \
    static constinit Original original("cublasSetStream_v2", Library::cublas, version);                            \
    const int status = original.call<int(Handle, void*)>(handle, stream);                                          \
    if (status == kSuccess) forget_workspace(handle);                                                              \
    return status;                                                                                                 \
  }                                                                                                                \
  XGEMM_EXPORT(xgemm_cublasSetStream_v2_of_##version, cublasSetStream_v2, libcublas, version, at);                 \
  [[gnu::visibility("default")]] int xgemm_cublasDestroy_v2_of_##version(Handle handle) noexcept {                 \
    static constinit Original original("cublasDestroy_v2", Library::cublas, version);                              \
    forget_handle(handle);                                                                                         \
    return original.call<int(Handle)>(handle);                                                                     \
  }                                                                                                                \
  XGEMM_EXPORT(xgemm_cublasDestroy_v2_of_##version, cublasDestroy_v2, libcublas, version, at);

#define XGEMM_MATMUL_FUNCTION(version, at)                                                                         \
  [[gnu::visibility("default")]] int xgemm_cublasLtMatmul_of_##version(                                            \
      Handle handle, const void* operation, const void* alpha, const void* a, const void* a_layout, const void* b, \
      const void* b_layout, const void* beta, const void* c, const void* c_layout, void* d, void* d_layout,        \
      const void* algorithm, void* workspace, std::size_t bytes, void* stream) noexcept {                          \
    static constinit Original original("cublasLtMatmul", Library::cublas_lt, version);                             \
    const auto real = [&] {                                                                                        \
      return original.call<decltype(xgemm_cublasLtMatmul_of_##version)>(handle, operation, alpha, a, a_layout, b,  \
                                                                        b_layout, beta, c, c_layout, d, d_layout,  \
                                                                        algorithm, workspace, bytes, stream);      \
    };                                                                                                             \
    if (handle == nullptr || !looks_at_calls()) return real();                                                     \
    Request request;                                                                                               \
    request.call.routine = "cublasLtMatmul";                                                                       \
    describe_matmul(                                                                                               \
        version,                                                                                                   \
        {operation, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, workspace, bytes, stream},    \
        &request);                                                                                                 \
    return serve_or_forward(request, Forward(real));                                                               \
  }                                                                                                                \
  XGEMM_EXPORT(xgemm_cublasLtMatmul_of_##version, cublasLtMatmul, libcublasLt, version, at);

// What is linked with this library itself, by a name without a node, means the newest; where the loader finds such a
// name in another library, which has cuBLAS in itself, it takes the first.
extern "C" {

#define XGEMM_CUBLAS_ROUTINE(name, form, type, compute)                 \
  XGEMM_FUNCTION(name, form, type, compute, int, 12, "@")               \
  XGEMM_FUNCTION(name##_64, form, type, compute, std::int64_t, 12, "@") \
  XGEMM_FUNCTION(name, form, type, compute, int, 13, "@@")              \
  XGEMM_FUNCTION(name##_64, form, type, compute, std::int64_t, 13, "@@")
#include "cublas/names.def"

XGEMM_STATE_FUNCTIONS(12, "@")
XGEMM_STATE_FUNCTIONS(13, "@@")
XGEMM_MATMUL_FUNCTION(12, "@")
XGEMM_MATMUL_FUNCTION(13, "@@")

}  // extern "C"
