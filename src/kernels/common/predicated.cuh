// Accesses to global memory under a predicate. As branches, loads would be apart, and their values be moved to where
// the branches meet.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/target.cuh"

namespace xgemm::gpu {

// What is there, or zeros if it is not inside: of 2, 4, 8 or 16 bytes, aligned so.
template <class T>
XGEMM_DEVICE T read_if(bool inside, const T* pointer, [[maybe_unused]] Loc loc = Loc::current()) {
#if defined(XGEMM_SIM)
  if (inside) return read<Space::global>(pointer, loc);
  skip_load<Space::global>(loc);
  return T{};
#else
  typename detail::Word<sizeof(T)>::Type word{};
  const auto address = __cvta_generic_to_global(pointer);
  const int predicate = inside;
  if constexpr (sizeof(T) == 16) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global.v4.u32 {%0, %1, %2, %3}, [%4]; }"
                 : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w)
                 : "l"(address), "r"(predicate)
                 : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.v2.u32 {%0, %1}, [%2]; }"
                 : "+r"(word.x), "+r"(word.y)
                 : "l"(address), "r"(predicate)
                 : "memory");
  } else if constexpr (sizeof(T) == 4) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.u32 %0, [%1]; }"
                 : "+r"(word)
                 : "l"(address), "r"(predicate)
                 : "memory");
  } else {
    static_assert(sizeof(T) == 2);
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.u16 %0, [%1]; }"
                 : "+h"(word)
                 : "l"(address), "r"(predicate)
                 : "memory");
  }
  return detail::bit_cast<T>(word);
#endif
}

template <class T>
XGEMM_DEVICE void write_if(bool inside, T* pointer, const T& value, [[maybe_unused]] Loc loc = Loc::current()) {
#if defined(XGEMM_SIM)
  if (inside) {
    write<Space::global>(pointer, value, loc);
  } else {
    skip_store<Space::global>(loc);
  }
#else
  const auto word = detail::to_word(value);
  const auto address = __cvta_generic_to_global(pointer);
  const int predicate = inside;
  if constexpr (sizeof(T) == 16) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %5, 0; @p st.global.v4.u32 [%4], {%0, %1, %2, %3}; }" ::"r"(word.x),
                 "r"(word.y), "r"(word.z), "r"(word.w), "l"(address), "r"(predicate)
                 : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p st.global.v2.u32 [%2], {%0, %1}; }" ::"r"(word.x),
                 "r"(word.y), "l"(address), "r"(predicate)
                 : "memory");
  } else if constexpr (sizeof(T) == 4) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p st.global.u32 [%1], %0; }" ::"r"(word), "l"(address),
                 "r"(predicate)
                 : "memory");
  } else {
    static_assert(sizeof(T) == 2);
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p st.global.u16 [%1], %0; }" ::"h"(word), "l"(address),
                 "r"(predicate)
                 : "memory");
  }
#endif
}

}  // namespace xgemm::gpu
