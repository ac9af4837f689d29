// cublasLtMatmul: its descriptors, read by the functions of the cublasLt that made them.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cublas/request.h"

namespace xgemm::cublas {

struct MatmulArguments {
  const void* operation;  // cublasLtMatmulDesc_t
  const void* alpha;
  const void *a, *a_layout;  // cublasLtMatrixLayout_t
  const void *b, *b_layout;
  const void* beta;
  const void *c, *c_layout;
  void *d, *d_layout;
  void* workspace;
  std::size_t workspace_bytes;
  void* stream;
};

// Fills the request's call and state, and translates it.
void describe_matmul(int version, const MatmulArguments& arguments, Request* request);

}  // namespace xgemm::cublas
