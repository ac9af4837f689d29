// Tensor maps: what the copy engine (TMA) is told about a matrix. Made on the host for every call, since a map holds
// the pointer, the extents, the strides and the box; passed to the kernel as a __grid_constant__ parameter.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace xgemm::kernels {

using TensorMap = CUtensorMap;

// A batch of matrices of 16-bit elements, and the box that one copy moves. x is the contiguous axis.
struct TensorBox {
  const void* data;       // a multiple of 16 bytes
  std::int64_t extent_x;  // elements; below 2^32, as the others
  std::int64_t extent_y;
  std::int64_t extent_z;  // the batch; 1 where all entries are the same matrix
  std::int64_t stride_y;  // elements, a multiple of 8 where extent_y > 1
  std::int64_t stride_z;  // elements, a multiple of 8 where extent_z > 1
  int box_x;              // elements; box_x * 2 = swizzle_bytes, or 16 bytes without swizzle
  int box_y;              // at most 256
  int swizzle_bytes;      // 128, 64, 32 or 0
};

// Whether the copy engine can reach the matrix; otherwise another kernel has to serve the call.
bool tma_can_address(const void* data, std::int64_t extent_x, std::int64_t extent_y, std::int64_t extent_z,
                     std::int64_t stride_y, std::int64_t stride_z);

// The driver is looked up at run time, so that the library loads where there is none.
cudaError_t encode_tensor_map(TensorMap& map, const TensorBox& box);

}  // namespace xgemm::kernels
