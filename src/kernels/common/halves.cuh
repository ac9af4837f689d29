// Pairs of fp16 in a word, the first one in its lower half.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/dtype.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::gpu {

// In one instruction (sm_80); of each, what to_half() gives.
XGEMM_DEVICE unsigned to_halves(float first, float second) {
#if defined(XGEMM_SIM)
  return to_half(first).bits | static_cast<unsigned>(to_half(second).bits) << 16;
#else
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
#endif
}

XGEMM_DEVICE float first_of(unsigned halves) {
  return to_float(half{static_cast<std::uint16_t>(halves)});
}
XGEMM_DEVICE float second_of(unsigned halves) {
  return to_float(half{static_cast<std::uint16_t>(halves >> 16)});
}

}  // namespace xgemm::gpu
