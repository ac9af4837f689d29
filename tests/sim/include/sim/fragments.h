// 8x8 matrices of 16-bit elements between shared memory and the lanes of a warp: ldmatrix and stmatrix.
//
// Matrix i consists of the 16-byte rows whose addresses lanes 8 i to 8 i + 7 give. A lane reads and writes for the race
// checks what it gave the address of; the elements it gets or brings are those of its fragment. For the counters one
// instruction is one request of a wavefront per matrix, more where rows of a matrix share banks: just what accesses of
// 16 bytes by those lanes would cost.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "sim/machine.h"
#include "sim/warp.h"

namespace xgemm::sim {

// m[0, count): what lane l holds of each matrix, elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4 (of column l / 4
// when transposed), the first in the lower half. count is 1, 2 or 4; addresses of lanes from 8 count on are not used.
void load_matrices(int count, bool transpose, std::uint32_t* m, const void* row, Loc loc);
void store_matrices(int count, bool transpose, void* row, const std::uint32_t* m, Loc loc);

// For instructions that contain one of these.
namespace detail {

inline constexpr int kMatrixRows = 8;  // and elements of a row

// One lane's part.
struct MatricesPayload {
  int count;
  std::uint16_t row[kMatrixRows];  // of the address that the lane gives
  std::uint32_t fragment[4];       // of each matrix
};
template <bool kTranspose>
void rows_to_fragments(LanePayloads& lanes);
template <bool kTranspose>
void fragments_to_rows(LanePayloads& lanes);

}  // namespace detail
}  // namespace xgemm::sim
