// libxgemm for C++: matrix products on strided views.
//
//     #include <xgemm.hpp>
//
//     std::vector<float> a(m * k), b(k * n), c(m * n);
//     auto A = xgemm::row_major(a.data(), m, k);
//     auto B = xgemm::col_major(b.data(), k, n);
//     auto C = xgemm::row_major(c.data(), m, n);
//     xgemm::gemm(1.0f, A, B, 0.0f, C);                              // C := A B
//     xgemm::gemm(2.0f, B.transposed(), A.transposed(), 1.0f, C.transposed());  // C^T := 2 B^T A^T + C^T
//
// A view is a pointer, two extents and two strides; it owns nothing and is copied like a pointer. gemm() hands the
// strides to the library, so any mix of row- and column-major operands, transposes and sub-matrices is one call with
// nothing copied. Views without a unit stride, which BLAS cannot take (every other column, reversed rows, a row
// repeated by stride 0, a Hankel matrix whose lines overlap), are one call as well: the library copies what its kernels
// cannot read as it lies, on the GPU at the speed of its memory. Elements between those of C stay untouched.
//
// Everything else is as in xgemm.h: where data may live, when a call is asynchronous, what alpha = 0 and beta = 0 do
// not read. A and B may overlap each other, but not C. Failures throw xgemm::error.
//
// C++17, header-only over xgemm.h; needs no CUDA header. std::mdspan is accepted where the standard library has it.
// SPDX-License-Identifier: BSD-3-Clause
#ifndef XGEMM_HPP
#define XGEMM_HPP

#if __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#error "xgemm.hpp needs C++17 (-std=c++17); C and older C++ have xgemm.h"
#else
#include "xgemm/context.hpp"
#include "xgemm/element.hpp"
#include "xgemm/error.hpp"
#include "xgemm/gemm.hpp"
#include "xgemm/matrix_view.hpp"
#include "xgemm/prepared.hpp"
#endif

#endif  // XGEMM_HPP
