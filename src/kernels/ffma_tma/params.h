// What an ffma_tma kernel is told about a problem.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/params.h"
#include "kernels/common/sm90/tensor_map.h"
#include "kernels/ffma_tma/config.h"

namespace xgemm::kernels {

// Map: TensorMap in the kernel, TensorBox before the maps are encoded.
template <class Map>
struct BasicFfmaTmaParams : TileParams {
  Map a_map, b_map;  // where TMA brings the operand
  PanelLoad a_load, b_load;
  bool c_vectors;  // columns of C start and end on 16 bytes: TMA writes whole vectors
  Map c_map;       // of tiles that stage C, where c_vectors
};
using FfmaTmaParams = BasicFfmaTmaParams<TensorMap>;

}  // namespace xgemm::kernels
