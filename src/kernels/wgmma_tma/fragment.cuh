// A sum in a wgmma fragment, and the element of C that it is for.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/params.h"
#include "kernels/common/sm90/wgmma.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

// What becomes of the sum in register r of this lane, of the fragment whose 16 rows of this warp begin at (row, column)
// of D.
template <bool kReadsC, bool kTransposed, class Epilogue>
XGEMM_DEVICE float finish_sum(const Epilogue& epilogue, const EpilogueArguments& arguments, float sum, float old,
                              int row, int column, int r) {
  const int lane = gpu::lane_index();
  const int d_row = row + gpu::wgmma_row(lane, r);
  const int d_column = column + gpu::wgmma_column(lane, r);
  return epilogue.template apply<kReadsC>(sum, old, kTransposed ? d_column : d_row, kTransposed ? d_row : d_column,
                                          arguments);
}

}  // namespace xgemm::kernels
