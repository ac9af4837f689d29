// cublasLt as tests call it.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "cublas/abi.h"

extern "C" {
int cublasLtMatmulDescCreate(void** descriptor, int compute, int scale);
int cublasLtMatmulDescDestroy(void* descriptor);
int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t cols, std::int64_t ld);
int cublasLtMatrixLayoutDestroy(void* layout);
int cublasLtMatmulDescSetAttribute(void* descriptor, int attribute, const void* value, std::size_t size);
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, std::size_t size);
int cublasLtMatmul(void* handle, const void* operation, const void* alpha, const void* a, const void* a_layout,
                   const void* b, const void* b_layout, const void* beta, const void* c, const void* c_layout, void* d,
                   void* d_layout, const void* algorithm, void* workspace, std::size_t bytes, void* stream);
}

// A handle, which the stand-in does not look at.
inline void* lt_handle() {
  static char handle;
  return &handle;
}
