// The blocked loop that serves the CPU where no BLAS can be had, and sizes that no BLAS takes.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/problem.h"
#include "core/status.h"

namespace xgemm::host {

// One fp32 product on host memory, column-major: C := alpha * op(A) * op(B) + beta * C.
struct Sgemm {
  Op transa = Op::none, transb = Op::none;
  std::int64_t m = 0, n = 0, k = 0;
  float alpha = 1;
  const float* a = nullptr;
  std::int64_t lda = 1;
  const float* b = nullptr;
  std::int64_t ldb = 1;
  float beta = 0;
  float* c = nullptr;
  std::int64_t ldc = 1;
};

// Any extents and leading dimensions; k > 0. One thread; up to 2.4 MiB of scratch memory. Does not touch C when that
// cannot be had.
Status builtin_sgemm(const Sgemm& product);

// The instruction set that it uses on this machine: "avx2" or "generic".
const char* builtin_isa() noexcept;

}  // namespace xgemm::host
