// What one copy of the copy engine (TMA) moves, in words of the problem: the matrix, the box and its swizzle. Pure
// data, for hosts with and without CUDA; encode_tensor_map() (tensor_map.h) makes the hardware's descriptor of it.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace xgemm::kernels {

// A batch of matrices, and the box that one copy moves. x is the contiguous axis.
struct TensorBox {
  const void* data;       // a multiple of 16 bytes
  std::int64_t extent_x;  // elements; below 2^32, as the others
  std::int64_t extent_y;
  std::int64_t extent_z;  // the batch; 1 where all entries are the same matrix
  std::int64_t stride_y;  // elements, a multiple of 16 bytes where extent_y > 1
  std::int64_t stride_z;  // elements, a multiple of 16 bytes where extent_z > 1
  int box_x;              // elements; swizzle_bytes in bytes where there is a swizzle
  int box_y;              // at most 256
  int swizzle_bytes;      // 128, 64, 32 or 0
  int element_bytes;      // 2, 4 or 8
  bool tf32 = false;      // elements are fp32, and are rounded to TF32 on their way

  constexpr bool operator==(const TensorBox&) const = default;
};

}  // namespace xgemm::kernels
