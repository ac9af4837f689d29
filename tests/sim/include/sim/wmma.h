// WMMA, 16x16x16, as compiled code carries it out (read off the SASS of nvcc 13 for sm_80 and sm_90, operands in
// shared memory):
//
//   wmma.load    of A and B: one LDSM.16.M88.4 where memory is contiguous along k (A by rows, B by columns), one
//                LDSM.16.MT88.4 (transposed) where it is not
//   wmma.mma     two HMMA.16816.F32, side by side
//   wmma.store   of fp32 sums: by rows four STS.64, two neighbours of a row each; by columns eight STS
//
// So the fragments are those of ldmatrix and mma.sync, and the counters see the same requests. What the API asks for
// beyond that is checked too: pointers are multiples of 32 bytes, lines of 16 bytes apart, all lanes name the same
// matrix.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "sim/machine.h"

namespace xgemm::sim {

enum class WmmaOperand { a, b };

// The fragment of a 16x16 matrix of 16-bit elements; ld in elements.
void wmma_load(WmmaOperand operand, bool column_major, std::uint32_t (&m)[4], const void* shared, int ld, Loc loc);

// d as mma_pair() leaves it.
void wmma_store(bool column_major, float* shared, const float (&d)[8], int ld, Loc loc);

}  // namespace xgemm::sim
