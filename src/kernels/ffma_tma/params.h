// What an ffma_tma kernel is told about a problem.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/params.h"
#include "kernels/common/sm90/tensor_map.h"

namespace xgemm::kernels {

// How the slices of an operand come to shared memory.
enum class PanelLoad : std::uint8_t {
  bulk,      // by TMA: the operand lies along m (or n), and is aligned
  words_mn,  // by words of cp.async, neighbouring lanes along m (or n)
  words_k,   // by words of cp.async, along k
};

// Map: TensorMap in the kernel, TensorBox before the maps are encoded.
template <class Map>
struct BasicFfmaTmaParams : TileParams {
  Map a_map, b_map;  // where the load is bulk
  PanelLoad a_load, b_load;
  bool c_vectors;  // columns of C start on 16 bytes
};
using FfmaTmaParams = BasicFfmaTmaParams<TensorMap>;

}  // namespace xgemm::kernels
