// Fragments of tensor-core products: pairs of 16-bit elements in a register, and 8x8 matrices of them from shared
// memory (ldmatrix, sm_75; packing, sm_80).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/dtype.cuh"
#include "kernels/common/target.cuh"
#if defined(XGEMM_SIM)
#include "sim/fragments.h"
#endif

namespace xgemm::gpu {

// Two fp32 values rounded to nearest even, `low` in the lower half.
#if defined(XGEMM_SIM)
template <class Element>
XGEMM_DEVICE std::uint32_t pack_pair(float low, float high) {
  return from_float<Element>(low).bits | static_cast<std::uint32_t>(from_float<Element>(high).bits) << 16;
}
#else
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
#endif
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

// ldmatrix: lane 8 i + r gives the address of row r (16 bytes) of matrix i; lane l gets elements 2 (l % 4) and
// 2 (l % 4) + 1 of row l / 4 of each matrix, the fragments of mma and wgmma. Transposed: address r is column r.
#if defined(XGEMM_SIM)
template <bool kTranspose>
XGEMM_DEVICE void load_matrices(std::uint32_t (&m)[4], const void* row, Loc loc = Loc::current()) {
  sim::load_matrices(4, kTranspose, m, row, loc);
}
template <bool kTranspose>
XGEMM_DEVICE void load_matrices(std::uint32_t (&m)[2], const void* row, Loc loc = Loc::current()) {
  sim::load_matrices(2, kTranspose, m, row, loc);
}
#else
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
#endif

}  // namespace xgemm::gpu
