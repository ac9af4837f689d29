// Loads of a few bytes here and there whose neighbours are wanted soon: the L2 brings the 128 bytes around at once,
// where it would otherwise go to the memory for each 32 of them.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/target.cuh"

namespace xgemm::gpu {

// What is there, or zeros if it is not inside: of 2, 4, 8 or 16 bytes, aligned so, of global memory that nobody writes
// while the kernel runs.
template <class T>
XGEMM_DEVICE T read_line_or_zero(const T* pointer, bool inside, [[maybe_unused]] Loc loc = Loc::current()) {
#if defined(XGEMM_SIM)
  if (inside) return read_constant(pointer, loc);
  skip_load<Space::global>(loc);
  return T{};
#else
  // Predicated loads: as branches, both values were kept until they met.
  typename detail::Word<sizeof(T)>::Type word{};
  const auto address = __cvta_generic_to_global(pointer);
  const int predicate = inside;
  if constexpr (sizeof(T) == 16) {
    asm("{ .reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global.nc.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4]; }"
        : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w)
        : "l"(address), "r"(predicate));
  } else if constexpr (sizeof(T) == 8) {
    asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.nc.L2::128B.v2.u32 {%0, %1}, [%2]; }"
        : "+r"(word.x), "+r"(word.y)
        : "l"(address), "r"(predicate));
  } else if constexpr (sizeof(T) == 4) {
    asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.L2::128B.u32 %0, [%1]; }"
        : "+r"(word)
        : "l"(address), "r"(predicate));
  } else {
    static_assert(sizeof(T) == 2);
    asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.L2::128B.u16 %0, [%1]; }"
        : "+h"(word)
        : "l"(address), "r"(predicate));
  }
  return detail::bit_cast<T>(word);
#endif
}

// As copy_async().
template <int kBytes>
XGEMM_DEVICE void copy_line_async(void* destination, const void* source, int source_bytes,
                                  [[maybe_unused]] Loc loc = Loc::current()) {
#if defined(XGEMM_SIM)
  copy_async<kBytes>(destination, source, source_bytes, loc);
#else
  const unsigned shared = detail::shared_address(destination);
  const auto global = __cvta_generic_to_global(source);
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(source_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %3, %2;" ::"r"(shared), "l"(global), "r"(source_bytes),
                 "n"(kBytes)
                 : "memory");
  }
#endif
}

}  // namespace xgemm::gpu
