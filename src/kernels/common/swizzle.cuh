// XOR permutations of shared-memory offsets: they spread over all 32 banks what a power-of-two stride would put into
// few, without padding.
//
// An offset in elements is seen as  | … | y: kBits | … | x: kBits | base: kBase |,  y starting kShift bits above x, and
// x becomes x ^ y. Runs of 2^kBase elements stay together, so vectors of that width stay one access; the map is its own
// inverse and permutes each aligned block of 2^(kBase + kShift + kBits) elements.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/target.cuh"

namespace xgemm::kernels {

template <int kBits, int kBase, int kShift>
struct XorSwizzle {
  static_assert(kBits >= 1 && kBase >= 0 && kShift >= kBits, "source and target bits must not overlap");
  static constexpr int kMask = ((1 << kBits) - 1) << (kBase + kShift);

  XGEMM_HOST_DEVICE static constexpr int apply(int offset) { return offset ^ ((offset & kMask) >> kShift); }
};

// Where TMA puts what is at an offset of lines of so many bytes, 32, 64 or 128, with a swizzle as wide: an XorSwizzle
// of bytes, in the form that is one instruction after the shift.
template <int kLineBytes>
XGEMM_HOST_DEVICE constexpr int tma_swizzled(int offset) {
  return offset ^ (offset >> 3 & (kLineBytes - 16));
}

}  // namespace xgemm::kernels
