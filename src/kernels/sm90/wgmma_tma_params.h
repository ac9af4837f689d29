// What a wgmma_tma kernel is told about a problem.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/sm90/tensor_map.h"

namespace xgemm::kernels {

struct WgmmaTmaScalars {
  void* c_data;
  std::int64_t c_ld;  // elements
  std::int64_t c_batch;
  int m;
  int n;
  int c_whole_m;  // m, less the last m % 8: TMA stores clip the contiguous axis to 16 bytes, not to elements
  const float* alpha_device;  // read instead of alpha when it is not null
  const float* beta_device;
  float alpha;
  float beta;
  int k;
  int x_batch_step;  // 0 where all entries of the batch are the same matrix
  int y_batch_step;
  unsigned tiles_rows;  // of D, in cluster tiles
  unsigned tiles_columns;
  unsigned batch_count;
  unsigned raster_group;  // cluster tiles along rows, or along columns, that are walked together
  bool raster_columns;
};

// Map: TensorMap in the kernel, TensorBox before the maps are encoded.
template <class Map>
struct BasicWgmmaTmaParams : WgmmaTmaScalars {
  Map x;  // kBoxX
  Map y;
  Map c_old;  // where beta is not 0
  Map c;      // c_whole_m rows only
};
using WgmmaTmaParams = BasicWgmmaTmaParams<TensorMap>;

}  // namespace xgemm::kernels
