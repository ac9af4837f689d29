// libxgemm.so, opened by the first product: a process that never multiplies does not load its kernels, and its BLAS
// names stay out of the way of the program's own.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cublas/request.h"

namespace xgemm::cublas {

// Whether it is there; why not is said once.
bool has_library();

// The request's product: what xgemm_gemm returns. For requests without an obstacle. c: where C is to lie in place of
// the caller's, null for that.
int multiply(const Request& request, void* c = nullptr);

// Of this thread's last multiply().
const char* error_of_library();

}  // namespace xgemm::cublas
