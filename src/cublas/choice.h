// Which of the products that libxgemm can serve cuBLAS is expected to compute faster. Pure.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cublas/driver.h"
#include "xgemm.h"

namespace xgemm::cublas {

// Why cuBLAS, in a few words; null for libxgemm. Of fp32, product.math_mode says how libxgemm would compute it; 0 is
// strict. reads_c: whether what is in C counts.
const char* why_cublas(const xgemm_args& product, const Gpu& gpu, bool reads_c = false);

}  // namespace xgemm::cublas
