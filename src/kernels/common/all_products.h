// The products of types that there are, for families with an instance for each.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/dtype.h"

namespace xgemm::kernels {

inline constexpr ProductTypes kAllProducts[] = {
    {DType::f32, DType::f32, DType::f32},    {DType::f16, DType::f16, DType::f16},
    {DType::bf16, DType::bf16, DType::bf16}, {DType::f16, DType::f16, DType::f32},
    {DType::bf16, DType::bf16, DType::f32},  {DType::f64, DType::f64, DType::f64}};

}  // namespace xgemm::kernels
