// A thread's block of C, from sums in registers.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/epilogue.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

// kVector rows at a time, which are inside or outside as a whole. All old elements are on their way at once.
template <int kVector, class Output, class Sum, int kColumns, int kRows>
XGEMM_DEVICE void store_block(const Output& c, const Sum (&sums)[kColumns][kRows]) {
  constexpr int kPerColumn = kRows / kVector, kNumber = kColumns * kPerColumn;
  c.template store<kVector, kNumber, kNumber>(
      [](int v) {
        return TilePosition{v % kPerColumn * kVector, v / kPerColumn};
      },
      [&](int v) {
        gpu::Vector<Sum, kVector> vector;
        XGEMM_UNROLL
        for (int e = 0; e < kVector; ++e) vector[e] = sums[v / kPerColumn][v % kPerColumn * kVector + e];
        return vector;
      });
}

}  // namespace xgemm::kernels
