// A call of cuBLAS in the terms of libxgemm, and why it cannot or should not be served. Pure.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "cublas/abi.h"
#include "cublas/handle.h"
#include "xgemm.h"

namespace xgemm::cublas {

struct Operand {
  const void* data = nullptr;
  int type = kReal32F;  // cudaDataType_t
  std::int64_t ld = 1;
  std::int64_t stride = 0;  // elements from a matrix to the next of a batch
};

// The arguments of any routine in names.def, or of cublasLtMatmul, as the caller gave them.
struct Call {
  const char* routine = "";
  int transa = kOpN, transb = kOpN;
  std::int64_t m = 0, n = 0, k = 0;
  const void* alpha = nullptr;
  const void* beta = nullptr;
  Operand a, b, c;
  std::int64_t batch_count = 1;
  bool pointer_arrays = false;  // the operands' data are arrays of pointers to the matrices
  bool row_major = false;       // cublasLtMatmul alone
  int compute = kCompute32F;
  int algorithm = kDefaultAlgorithm;
  // Of cublasLtMatmul alone.
  int epilogue = kEpilogueDefault;
  const void* bias = nullptr;
  Operand aux = {};    // what gradients need; of ReLU, elements are bits
  Operand old_c = {};  // what beta multiplies, where it is not c; data is null elsewhere
};

struct Request {
  Request() = default;
  Request(const Request&) = delete;  // product may point to alpha and beta
  Request& operator=(const Request&) = delete;

  Call call;
  HandleState state;
  xgemm_args product = XGEMM_ARGS_INIT;  // where there is no obstacle
  float alpha = 0, beta = 0;             // scalars in fp16, in libxgemm's type
  bool reads_c = true;                // false where what is in C does not matter, and C is written whatever was there
  const char* obstacle = nullptr;     // why libxgemm cannot serve the call
  const char* reservation = nullptr;  // why it should not, unless it is told to serve all that it can

  bool scalars_on_device() const { return state.pointer_mode == kScalarsOnDevice; }
};

// From call and state to the rest. What is illegal is an obstacle or left in the product, whose checks then refuse it:
// cuBLAS, to which the call goes in both cases, finds it and returns its own status.
void translate(Request* request);

// Of alpha and beta, a cudaDataType_t; negative for compute types that are not known here.
int scalar_type_of(int compute);

// "type=f16 transa=N transb=T m=300 n=200 k=100 lda=300 ...": one call.
std::string to_string(const Call& call);

// "f16 NT 300x200x100": what calls are counted under.
std::string shape_of(const Call& call);

}  // namespace xgemm::cublas
