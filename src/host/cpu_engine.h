// Products on the CPU: through the BLAS that is installed, opened at run time, or through a built-in loop.
#pragma once

#include <string>

#include "core/problem.h"
#include "core/status.h"

namespace xgemm::host {

// Runs the product on host memory and returns when C is ready. The scalars of the problem must be known.
Status cpu_gemm(const Problem& problem);

// What serves products on the CPU in this process: "openblas", "blis", "mkl", "blas", the file that XGEMM_CPU_BLAS
// names, or "builtin". Opens the library on first use.
std::string cpu_engine_name();

// Whether more than one core works on a large product: the libraries have threads, the built-in loop has not.
bool cpu_engine_is_parallel();

// The name with its file and how it was found, for xgemm_explain; one line.
std::string cpu_engine_description();

}  // namespace xgemm::host
