// xgemm_args, checked, to the canonical Problem.
#pragma once

#include <cstdint>
#include <optional>

#include "core/problem.h"
#include "xgemm.h"

namespace xgemm {

// The type that an enum xgemm_type names; empty for any other number.
std::optional<DType> dtype_of(std::int32_t type);

// The type of C, by an enum xgemm_type_c beside the type of A and B; empty for any other number.
std::optional<DType> dtype_of_c(std::int32_t type_c, DType type);

// xgemm_args::alpha or ::beta, on the host, of a product of matrices of this type.
double scalar_at(const void* pointer, DType type);

// The elements of C that an enum xgemm_fill names; empty for any other number.
std::optional<Fill> fill_of(std::int32_t fill);

// What an enum xgemm_math_mode allows; empty for any other number.
std::optional<Compute> compute_of(std::int32_t math_mode);

// Whether the number is one of enum xgemm_activation.
bool is_activation(std::int32_t activation);

// A row-major product is the column-major product of the transposes: C^T = op(B)^T op(A)^T, so that A and B, m and n
// swap. Matrices given by their strides become plain ones (core/problem.h) where they can; by those of C it is decided
// which of the two products it is, as it is for a C of one row without gaps, which becomes a column, as such an input
// does. compute: the context's mode.
Problem canonicalize(const xgemm_args& args, bool scalars_on_device, Compute compute = Compute::strict);

}  // namespace xgemm
