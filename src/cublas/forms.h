// The forms of names.def: for each the parameters of its functions with integers of type Int, their names, and what
// they say as a Call (cublas/request.h) of the routine `name` with the type and compute type of its row.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cublas/abi.h"

#define XGEMM_PARAMETERS_gemm(Int)                                                                                \
  (::xgemm::cublas::Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a, \
   Int lda, const void* b, Int ldb, const void* beta, void* c, Int ldc)
#define XGEMM_NAMES_gemm handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc
#define XGEMM_CALL_gemm(name, type, compute)                                                                     \
  ::xgemm::cublas::Call {                                                                                        \
    name, transa, transb, m, n, k, alpha, beta, {a, type, lda}, {b, type, ldb}, {c, type, ldc}, 1, false, false, \
        compute                                                                                                  \
  }

#define XGEMM_PARAMETERS_gemm_typed(Int)                                                                          \
  (::xgemm::cublas::Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a, \
   int type_a, Int lda, const void* b, int type_b, Int ldb, const void* beta, void* c, int type_c, Int ldc)
#define XGEMM_NAMES_gemm_typed \
  handle, transa, transb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc
#define XGEMM_CALL_gemm_typed(name, type, compute)                                                                     \
  ::xgemm::cublas::Call {                                                                                              \
    name, transa, transb, m, n, k, alpha, beta, {a, type_a, lda}, {b, type_b, ldb}, {c, type_c, ldc}, 1, false, false, \
        compute                                                                                                        \
  }

#define XGEMM_PARAMETERS_gemm_ex(Int)                                                                             \
  (::xgemm::cublas::Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a, \
   int type_a, Int lda, const void* b, int type_b, Int ldb, const void* beta, void* c, int type_c, Int ldc,       \
   int compute_type, int algorithm)
#define XGEMM_NAMES_gemm_ex XGEMM_NAMES_gemm_typed, compute_type, algorithm
#define XGEMM_CALL_gemm_ex(name, type, compute)                                                                        \
  ::xgemm::cublas::Call {                                                                                              \
    name, transa, transb, m, n, k, alpha, beta, {a, type_a, lda}, {b, type_b, ldb}, {c, type_c, ldc}, 1, false, false, \
        compute_type, algorithm                                                                                        \
  }

#define XGEMM_PARAMETERS_gemm_strided(Int)                                                                        \
  (::xgemm::cublas::Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a, \
   Int lda, long long stride_a, const void* b, Int ldb, long long stride_b, const void* beta, void* c, Int ldc,   \
   long long stride_c, Int batch_count)
#define XGEMM_NAMES_gemm_strided \
  handle, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch_count
#define XGEMM_CALL_gemm_strided(name, type, compute)                                                \
  ::xgemm::cublas::Call {                                                                           \
    name, transa, transb, m, n, k, alpha, beta, {a, type, lda, stride_a}, {b, type, ldb, stride_b}, \
        {c, type, ldc, stride_c}, batch_count, false, false, compute                                \
  }

#define XGEMM_PARAMETERS_gemm_strided_ex(Int)                                                                         \
  (::xgemm::cublas::Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a,     \
   int type_a, Int lda, long long stride_a, const void* b, int type_b, Int ldb, long long stride_b, const void* beta, \
   void* c, int type_c, Int ldc, long long stride_c, Int batch_count, int compute_type, int algorithm)
#define XGEMM_NAMES_gemm_strided_ex                                                                                 \
  handle, transa, transb, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b, beta, c, type_c, ldc, \
      stride_c, batch_count, compute_type, algorithm
#define XGEMM_CALL_gemm_strided_ex(name, type, compute)                                                 \
  ::xgemm::cublas::Call {                                                                               \
    name, transa, transb, m, n, k, alpha, beta, {a, type_a, lda, stride_a}, {b, type_b, ldb, stride_b}, \
        {c, type_c, ldc, stride_c}, batch_count, false, false, compute_type, algorithm                  \
  }

#define XGEMM_PARAMETERS_gemm_batched(Int)                                                                        \
  (::xgemm::cublas::Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a, \
   Int lda, const void* b, Int ldb, const void* beta, const void* c, Int ldc, Int batch_count)
#define XGEMM_NAMES_gemm_batched XGEMM_NAMES_gemm, batch_count
#define XGEMM_CALL_gemm_batched(name, type, compute)                                                               \
  ::xgemm::cublas::Call {                                                                                          \
    name, transa, transb, m, n, k, alpha, beta, {a, type, lda}, {b, type, ldb}, {c, type, ldc}, batch_count, true, \
        false, compute                                                                                             \
  }

#define XGEMM_PARAMETERS_gemm_batched_ex(Int)                                                                     \
  (::xgemm::cublas::Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a, \
   int type_a, Int lda, const void* b, int type_b, Int ldb, const void* beta, const void* c, int type_c, Int ldc, \
   Int batch_count, int compute_type, int algorithm)
#define XGEMM_NAMES_gemm_batched_ex XGEMM_NAMES_gemm_typed, batch_count, compute_type, algorithm
#define XGEMM_CALL_gemm_batched_ex(name, type, compute)                                                            \
  ::xgemm::cublas::Call {                                                                                          \
    name, transa, transb, m, n, k, alpha, beta, {a, type_a, lda}, {b, type_b, ldb}, {c, type_c, ldc}, batch_count, \
        true, false, compute_type, algorithm                                                                       \
  }
