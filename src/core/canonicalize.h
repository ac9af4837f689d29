// xgemm_args, checked, to the canonical Problem.
#pragma once

#include <cstdint>
#include <optional>

#include "core/problem.h"
#include "xgemm.h"

namespace xgemm {

// The type that an enum xgemm_type names; empty for any other number.
std::optional<DType> dtype_of(std::int32_t type);

// A row-major product is the column-major product of the transposes: C^T = op(B)^T op(A)^T, so that A and B, m and n
// swap.
Problem canonicalize(const xgemm_args& args, bool scalars_on_device);

}  // namespace xgemm
