// XGEMM_CUBLAS=compare: one product by both.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cublas/request.h"
#include "cublas/serve.h"

namespace xgemm::cublas {

// cuBLAS computes the caller's C, libxgemm a copy of it; difference and times are counted. Where that cannot be (C is
// found by pointers, the stream is captured, there is no memory, the shape has been compared often enough) cuBLAS
// computes alone. Its status.
int compare(const Request& request, const Forward& forward) noexcept;

}  // namespace xgemm::cublas
