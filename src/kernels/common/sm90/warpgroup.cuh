// Warpgroups: register budgets, and moving 8x8 matrices of 16-bit elements between accumulator fragments and shared
// memory (sm_90).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/dtype.cuh"
#include "kernels/common/sm90/bfloat16.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::gpu {

inline constexpr int kWarpsPerGroup = 4;
inline constexpr int kGroupThreads = kWarpsPerGroup * kWarpSize;

// setmaxnreg: all warps of a warpgroup give registers back, or wait for them. Multiples of 8 from 24 to 256.
template <int kRegisters>
XGEMM_DEVICE void release_registers(Loc = Loc::current()) {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
XGEMM_DEVICE void acquire_registers(Loc = Loc::current()) {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Two fp32 values rounded to nearest even, `low` in the lower half.
template <class Element>
XGEMM_DEVICE std::uint32_t pack_pair(float low, float high);
template <>
XGEMM_DEVICE std::uint32_t pack_pair<half>(float low, float high) {
  std::uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
template <>
XGEMM_DEVICE std::uint32_t pack_pair<bfloat16>(float low, float high) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
template <class Element>
XGEMM_DEVICE float unpack_low(std::uint32_t pair) {
  if constexpr (std::is_same_v<Element, bfloat16>) {
    return detail::bit_cast<float>(pair << 16);
  } else {
    return to_float(half{static_cast<std::uint16_t>(pair)});
  }
}
template <class Element>
XGEMM_DEVICE float unpack_high(std::uint32_t pair) {
  if constexpr (std::is_same_v<Element, bfloat16>) {
    return detail::bit_cast<float>(pair & 0xffff0000u);
  } else {
    return to_float(half{static_cast<std::uint16_t>(pair >> 16)});
  }
}

// stmatrix: lane 8 i + r gives the address of row r (16 bytes) of matrix i; lane l holds elements 2 (l % 4) and
// 2 (l % 4) + 1 of row l / 4 of each matrix, the accumulator fragment of mma and wgmma. Transposed: address r receives
// column r.
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

// ldmatrix: the inverse of store_matrices.
template <bool kTranspose>
XGEMM_DEVICE void load_matrices(std::uint32_t (&m)[4], const void* row, Loc = Loc::current()) {
  const unsigned address = detail::shared_address(row);
  if constexpr (kTranspose) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address)
                 : "memory");
  }
}
template <bool kTranspose>
XGEMM_DEVICE void load_matrices(std::uint32_t (&m)[2], const void* row, Loc = Loc::current()) {
  const unsigned address = detail::shared_address(row);
  if constexpr (kTranspose) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(m[0]), "=r"(m[1])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(m[0]), "=r"(m[1])
                 : "r"(address)
                 : "memory");
  }
}

}  // namespace xgemm::gpu
