// The short way of the products that programs make by the million: small, in fp32 or double, on the host, by the CPU
// BLAS. Their usual way (dispatch/gemm.h) has the same end, and takes several times as long as such a product.
#pragma once

#include "host/builtin_gemm.h"

namespace xgemm::dispatch {

// Computes the product if nothing is out of the ordinary; false, with nothing done, where something is: illegal
// arguments, a quick return, verbose lines, a process that uses CUDA, no BLAS or one that needs help. The flags are
// those of the call: the product's are not read. Opening the BLAS may run out of memory, which the usual way reports.
template <class T>
bool take_short_way(char transa, char transb, host::Gemm<T> product) noexcept;

}  // namespace xgemm::dispatch
