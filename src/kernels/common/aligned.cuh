// Whether vectors of so many elements may start where matrices do.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/target.cuh"

namespace xgemm::kernels {

template <int kVector, class T>
XGEMM_DEVICE bool is_aligned(const T* matrix) {
  return reinterpret_cast<std::uintptr_t>(matrix) % (kVector * sizeof(T)) == 0;
}

// Each matrix of a batch by strides.
template <int kVector, class T, class Arg>
XGEMM_DEVICE bool starts_aligned(const Arg& x) {
  return ((reinterpret_cast<std::uintptr_t>(x.data) / sizeof(T) | static_cast<std::uintptr_t>(x.batch_stride)) &
          (kVector - 1)) == 0;
}

}  // namespace xgemm::kernels
