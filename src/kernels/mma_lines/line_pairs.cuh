// Pairs of neighbours along a line that starts anywhere, for fragments of mma.sync.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"

namespace xgemm::kernels {

// Pairs of a line's 16-bit elements in shared memory, in words that they may lie across.
template <class Element>
struct LinePairs {
  static constexpr std::uint32_t kAll = 0xffffffff;
  XGEMM_DEVICE static std::uint32_t mask_of(int left) { return left > 1 ? kAll : left == 1 ? 0xffffu : 0u; }

  const Element* words;
  bool across;

  XGEMM_DEVICE static LinePairs of(const Element* slot, int at) { return {slot + (at & ~1), (at & 1) != 0}; }

  // The pair that is `more` elements on. mask: of what of it there is. kShifts: lines may start off words.
  template <bool kShifts>
  XGEMM_DEVICE std::uint32_t at(int more, std::uint32_t mask) const {
    const std::uint32_t low = word(more, mask != 0);
    if constexpr (!kShifts) return low & mask;
    const std::uint32_t high = word(more + 2, mask > 0xffffu && across);
    return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> (across ? 16 : 0)) & mask;
  }

 private:
  XGEMM_DEVICE std::uint32_t word(int more, bool is_there) const {
    if (is_there) return gpu::read<Space::shared>(reinterpret_cast<const std::uint32_t*>(words + more));
    gpu::skip_load<Space::shared>();
    return 0;
  }
};

}  // namespace xgemm::kernels
