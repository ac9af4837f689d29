// The blocked loop that serves the CPU where no BLAS can be had, and sizes that no BLAS takes.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/problem.h"
#include "core/status.h"

namespace xgemm::host {

// One product on host memory, column-major: C := alpha * op(A) * op(B) + beta * C. T: float or double.
template <class T>
struct Gemm {
  Op transa = Op::none, transb = Op::none;
  std::int64_t m = 0, n = 0, k = 0;
  T alpha = 1;
  const T* a = nullptr;
  std::int64_t lda = 1;
  const T* b = nullptr;
  std::int64_t ldb = 1;
  T beta = 0;
  T* c = nullptr;
  std::int64_t ldc = 1;
  Fill fill = Fill::full;

  // A and its own transpose: what BLAS has a routine for where C is a triangle.
  bool is_rank_k_update() const { return fill != Fill::full && a == b && lda == ldb && transa != transb; }
};

// Any extents and leading dimensions; k > 0, and all of C. One thread; up to 4.2 MiB of scratch memory. Does not touch
// C when that cannot be had.
template <class T>
Status builtin_gemm(const Gemm<T>& product);

// The instruction set that it uses on this machine: "avx2" or "generic".
const char* builtin_isa() noexcept;

}  // namespace xgemm::host
