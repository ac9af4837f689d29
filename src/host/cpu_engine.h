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

// How many of so many cores work on a large product: as many as the library says that it has threads, all where it does
// not say, one in the built-in loop.
int cpu_engine_threads(int cores);

// The name with its file and how it was found, for xgemm_explain; one line.
std::string cpu_engine_description();

}  // namespace xgemm::host
