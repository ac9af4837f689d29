// mma.sync m16n8k16: D += A B on fragments that the lanes of a warp hold together.
//
// Lane l, with g = l / 4 and t = l % 4, holds (two 16-bit elements in a register, the first in the lower half)
//   A, 16 x 16   a[0] (g, 2t), (g, 2t + 1)   a[1] rows + 8   a[2] columns + 8   a[3] rows and columns + 8
//   B, 16 x 8    b[0] (2t, g), (2t + 1, g)   b[1] rows + 8
//   D, 16 x 8    d[0] (g, 2t)   d[1] (g, 2t + 1)   d[2], d[3] rows + 8
//
// Numerics: the products of two 16-bit elements are exact; they are added to d in fp32, one after the other by rising
// k, each sum rounded to nearest. Tensor cores add several products at once, align them to the largest and cut off what
// lies below, in an order that depends on the architecture: they agree with this within the error bound of fp32 sums,
// not to the last bit. NaN and Inf spread as in any fp32 sum; a product of bf16 beyond the range of fp32 is Inf.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "sim/machine.h"

namespace xgemm::sim {

// `type` is that of A and B: f16 or bf16.
void mma(DType type, float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Loc loc);

// Of doubles, m16n8k8:
//
//   A, 16 x 8    a[0] (g, t)   a[1] (g + 8, t)   a[2] (g, t + 4)   a[3] (g + 8, t + 4)
//   B, 8 x 8     b[0] (t, g)   b[1] (t + 4, g)
//   D, 16 x 8    as above
//
// Sums by rising k, in fused multiply-adds, as the GPU's are.
void mma(double (&d)[4], const double (&a)[4], const double (&b)[2], Loc loc);

// Two of them side by side as one instruction, m16n16k16: b[2], b[3] and d[4] to d[7] belong to columns 8 to 15.
void mma_pair(DType type, float (&d)[8], const std::uint32_t (&a)[4], const std::uint32_t (&b)[4], Loc loc);

}  // namespace xgemm::sim
