// xgemm_args, checked, to the canonical Problem.
#pragma once

#include "core/problem.h"
#include "xgemm.h"

namespace xgemm {

// A row-major product is the column-major product of the transposes: C^T = op(B)^T op(A)^T, so that A and B, m and n
// swap.
Problem canonicalize(const xgemm_args& args, bool scalars_on_device);

}  // namespace xgemm
