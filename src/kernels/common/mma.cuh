// mma.sync: a warp multiplies 16-bit matrices with fp32 sums, or doubles (sm_80).
//
// D (16 x 8) += A (16 x 16) * B (16 x 8). Lane 4 g + c holds, as pairs of neighbours along k (A, B) or along a row (D),
//   a[0] A(g, 2c)   a[1] A(g + 8, 2c)   a[2] A(g, 2c + 8)   a[3] A(g + 8, 2c + 8)
//   b[0] B(2c, g)   b[1] B(2c + 8, g)
//   d[0..1] D(g, 2c)   d[2..3] D(g + 8, 2c)
// load_matrices (fragments.cuh) delivers a and b so.
//
// Of doubles, D (16 x 8) += A (16 x 8) * B (8 x 8):
//   a[0] A(g, c)    a[1] A(g + 8, c)    a[2] A(g, c + 4)    a[3] A(g + 8, c + 4)
//   b[0] B(c, g)    b[1] B(c + 4, g)
//   d as above
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/dtype.cuh"
#include "kernels/common/target.cuh"

#if defined(XGEMM_SIM)
#include "sim/mma.h"
#endif

namespace xgemm::gpu {

// Element: half or bfloat16. All lanes of the warp.
template <class Element>
XGEMM_DEVICE void mma(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                      [[maybe_unused]] Loc loc = Loc::current()) {
  static_assert(std::is_same_v<Element, half> || std::is_same_v<Element, bfloat16>);
#if defined(XGEMM_SIM)
  sim::mma(std::is_same_v<Element, bfloat16> ? DType::bf16 : DType::f16, d, a, b, loc);
#else
  if constexpr (std::is_same_v<Element, bfloat16>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
#endif
}

// All lanes of the warp. One instruction from sm_90 on, which has it at twice the rate of the four of sm_80.
template <class Element>
XGEMM_DEVICE void mma(double (&d)[4], const double (&a)[4], const double (&b)[2],
                      [[maybe_unused]] Loc loc = Loc::current()) {
  static_assert(std::is_same_v<Element, double>);
#if defined(XGEMM_SIM)
  sim::mma(d, a, b, loc);
#else
  if constexpr (kArch >= 900) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
  } else {
    XGEMM_UNROLL
    for (int k = 0; k < 2; ++k) {
      XGEMM_UNROLL
      for (int half = 0; half < 2; ++half)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(d[2 * half]), "+d"(d[2 * half + 1])
                     : "d"(a[2 * k + half]), "d"(b[k]));
    }
  }
#endif
}

}  // namespace xgemm::gpu
