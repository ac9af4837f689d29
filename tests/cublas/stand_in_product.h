// A product by its definition, in host memory, for the stand-ins.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "cublas/request.h"
#include "support/element.h"

namespace xgemm::test {

inline std::int64_t size_of_type(int type) {
  return type == cublas::kReal64F ? 8 : type == cublas::kReal32F ? 4 : 2;
}

inline double load(const void* memory, int type, std::int64_t index) {
  switch (type) {
    case cublas::kReal64F:
      return static_cast<const double*>(memory)[index];
    case cublas::kReal32F:
      return static_cast<const float*>(memory)[index];
    case cublas::kReal16F:
      return half_to_double(static_cast<const Half*>(memory)[index]);
    default:
      return to_double(static_cast<const Bfloat16*>(memory)[index]);
  }
}

inline void store(void* memory, int type, std::int64_t index, double value) {
  switch (type) {
    case cublas::kReal64F:
      static_cast<double*>(memory)[index] = value;
      break;
    case cublas::kReal32F:
      static_cast<float*>(memory)[index] = static_cast<float>(value);
      break;
    case cublas::kReal16F:
      static_cast<Half*>(memory)[index] = double_to_half(value);
      break;
    default:
      static_cast<Bfloat16*>(memory)[index] = from_double<Bfloat16>(value);
  }
}

// One matrix of a batch or of an array of pointers.
inline const void* matrix(const cublas::Call& call, const cublas::Operand& x, std::int64_t index) {
  if (call.pointer_arrays) return static_cast<const void* const*>(x.data)[index];
  return static_cast<const char*>(x.data) + index * x.stride * size_of_type(x.type);
}

// C := alpha op(A) op(B) + beta C, column-major. False for what cuBLAS calls invalid.
inline bool multiply_by_definition(const cublas::Call& x, double alpha, double beta, const void* c_in = nullptr) {
  using namespace cublas;
  const bool ta = x.transa != kOpN, tb = x.transb != kOpN;
  if (x.m < 0 || x.n < 0 || x.k < 0 || x.batch_count < 0 || x.transa > kOpC || x.transb > kOpC) return false;
  if (x.a.ld < (ta ? x.k : x.m) || x.b.ld < (tb ? x.n : x.k) || x.c.ld < x.m) return false;
  for (std::int64_t index = 0; index < x.batch_count; ++index) {
    const void *a = matrix(x, x.a, index), *b = matrix(x, x.b, index);
    void* c = const_cast<void*>(matrix(x, x.c, index));
    for (std::int64_t j = 0; j < x.n; ++j)
      for (std::int64_t i = 0; i < x.m; ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < x.k; ++l)
          sum += load(a, x.a.type, ta ? l + i * x.a.ld : i + l * x.a.ld) *
                 load(b, x.b.type, tb ? j + l * x.b.ld : l + j * x.b.ld);
        const std::int64_t at = i + j * x.c.ld;
        const double old = beta == 0 ? 0 : beta * load(c_in != nullptr ? c_in : c, x.c.type, at);
        store(c, x.c.type, at, alpha * sum + old);
      }
  }
  return true;
}

// Scalars of a compute type.
inline double scalar(const void* pointer, int compute) {
  return load(pointer,
              compute == cublas::kCompute16F   ? cublas::kReal16F
              : compute == cublas::kCompute64F ? cublas::kReal64F
                                               : cublas::kReal32F,
              0);
}

}  // namespace xgemm::test
