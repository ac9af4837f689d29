// Shared memory. A kernel's shared memory is one struct, Kernel::SharedStorage; sizeof it is the least that is launched
// with, on the GPU and in the simulator alike.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/target.cuh"

namespace xgemm::kernels {

// Elements of a tile, aligned so that 16-byte accesses and cp.async can start at its origin.
template <class T, int kElements>
struct SharedArray {
  alignas(16) T data[kElements];
};

// For kernels that need none.
struct NoSharedStorage {};

// sizeof, except that an empty struct takes nothing.
template <class Kernel>
inline constexpr int kSharedBytes = sizeof(typename Kernel::SharedStorage) == 1
                                        ? 0
                                        : static_cast<int>(sizeof(typename Kernel::SharedStorage));

}  // namespace xgemm::kernels
