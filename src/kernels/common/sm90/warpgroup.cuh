// Warpgroups: register budgets, and moving 8x8 matrices of 16-bit elements from accumulator fragments to shared memory
// (sm_90).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/fragments.cuh"
#include "kernels/common/target.cuh"
#if defined(XGEMM_SIM)
#include "sim/sm90/warpgroup.h"
#endif

namespace xgemm::gpu {

inline constexpr int kWarpsPerGroup = 4;
inline constexpr int kGroupThreads = kWarpsPerGroup * kWarpSize;

#if defined(XGEMM_SIM)

template <int kRegisters>
void release_registers(Loc loc = Loc::current()) {
  sim::release_registers(kRegisters, loc);
}
template <int kRegisters>
void acquire_registers(Loc loc = Loc::current()) {
  sim::acquire_registers(kRegisters, loc);
}

template <bool kTranspose, int kMatrices>
void store_matrices(void* row, const std::uint32_t (&m)[kMatrices], Loc loc = Loc::current()) {
  sim::store_matrices(kMatrices, kTranspose, row, m, loc);
}

#else

// setmaxnreg: all warps of a warpgroup give registers back, or wait for them. Multiples of 8 from 24 to 256.
template <int kRegisters>
XGEMM_DEVICE void release_registers(Loc = Loc::current()) {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
XGEMM_DEVICE void acquire_registers(Loc = Loc::current()) {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// stmatrix: the inverse of load_matrices (common/fragments.cuh).
template <bool kTranspose>
XGEMM_DEVICE void store_matrices(void* row, const std::uint32_t (&m)[4], Loc = Loc::current()) {
  const unsigned address = detail::shared_address(row);
  if constexpr (kTranspose) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m[0]),
                 "r"(m[1]), "r"(m[2]), "r"(m[3])
                 : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m[0]),
                 "r"(m[1]), "r"(m[2]), "r"(m[3])
                 : "memory");
  }
}
template <bool kTranspose>
XGEMM_DEVICE void store_matrices(void* row, const std::uint32_t (&m)[2], Loc = Loc::current()) {
  const unsigned address = detail::shared_address(row);
  if constexpr (kTranspose) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(m[0]), "r"(m[1])
                 : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(m[0]), "r"(m[1])
                 : "memory");
  }
}

#endif

}  // namespace xgemm::gpu
