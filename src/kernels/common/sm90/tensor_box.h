// What one copy of the copy engine (TMA) moves, in words of the problem: the matrix, the box and its swizzle. Pure
// data, for hosts with and without CUDA; encode_tensor_map() (tensor_map.h) makes the hardware's descriptor of it.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/portability.h"

namespace xgemm::kernels {

// Which matrix of a batch a copy is of, where they lie anywhere: its address, as the two outer coordinates of a tensor
// that begins at address 0. A step of z is 16 bytes, and one of w as many as z counts, so that a single map reaches all
// of the memory.
struct BoxEntry {
  static constexpr int kStepBits = 4, kBits = 24;  // of an address, below z; of z
  int z, w;

  XGEMM_HOST_DEVICE static bool holds(const void* matrix) {
    return reinterpret_cast<std::uintptr_t>(matrix) % (1 << kStepBits) == 0;
  }
  XGEMM_HOST_DEVICE static BoxEntry at(const void* matrix) {
    const auto step = reinterpret_cast<std::uintptr_t>(matrix) >> kStepBits;
    return {static_cast<int>(step & ((std::uintptr_t{1} << kBits) - 1)), static_cast<int>(step >> kBits)};
  }
};

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
  // The matrices lie anywhere, on multiples of 16 bytes: z and w are the address (BoxEntry), and data, extent_z and
  // stride_z do not count. No box may lie outside of its matrix as a whole: on an H100 that is an illegal access.
  bool anywhere = false;
  // Elements at the begin of each line that lie before the operand's: they come, since boxes begin on multiples of 16
  // bytes, and are of no use.
  int before = 0;

  constexpr bool operator==(const TensorBox&) const = default;
};

}  // namespace xgemm::kernels
