// Words of 16-bit elements at the edge of a matrix: of two neighbours, one or none may be there to be read.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/target.cuh"

namespace xgemm::gpu {

// The first `elements` (0, 1, or 2 and more) of two, zeros for the others. The pair is aligned where both are read.
// Global memory that nobody writes while the kernel runs.
XGEMM_DEVICE std::uint32_t read_partial_word(const std::uint16_t* pair, int elements,
                                             [[maybe_unused]] Loc loc = Loc::current()) {
#if defined(XGEMM_SIM)
  if (elements >= 2) return read_constant(reinterpret_cast<const std::uint32_t*>(pair), loc);
  if (elements == 1) return read_constant(pair, loc);
  skip_load<Space::global>(loc);
  return 0;
#else
  // Predicated loads into one register. As branches, the values of both loads were kept until they met.
  std::uint32_t word = 0;
  asm("{\n"
      "  .reg .pred both, one;\n"
      "  setp.ge.s32 both, %2, 2;\n"
      "  setp.eq.s32 one, %2, 1;\n"
      "  @both ld.global.nc.u32 %0, [%1];\n"
      "  @one ld.global.nc.u16 %0, [%1];\n"
      "}"
      : "+r"(word)
      : "l"(__cvta_generic_to_global(pair)), "r"(elements));
  return word;
#endif
}

}  // namespace xgemm::gpu
