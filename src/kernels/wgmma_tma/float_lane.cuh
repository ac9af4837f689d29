// A thread's elements of a chunk of C in fp32 in shared memory, pairs of neighbours in a row of D: as TMA brings old C
// and stores C. A warp's accesses have no bank conflicts.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/common/sm90/wgmma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"
#include "kernels/wgmma_tma/old_c.cuh"

namespace xgemm::kernels {

// Transposed, in two lines of C that begin in the same bank each element of a pair has what the other one has in the
// other: of such lines the second one's pairs are accessed in reverse.
template <WgmmaTmaConfig kConfig, class OldC>
struct WgmmaTmaFloatLane {
  using Cta = WgmmaTmaCta<kConfig>;
  static constexpr int kRow = OldC::kRow, kBoxElements = OldC::kBoxElements;
  static constexpr int kSwapBit = 5 - std::countr_zero(static_cast<unsigned>(kRow | 32));  // of a line's number
  static constexpr int kFragments = Cta::kChunk / 8;                                       // of 8 columns

  int base;  // in elements
  bool swaps;

  XGEMM_DEVICE static WgmmaTmaFloatLane make(int warp, int lane) {
    const int row = 16 * warp + gpu::wgmma_row(lane, 0), column = gpu::wgmma_column(lane, 0);
    const int line = Cta::kTransposed ? row : column, at = Cta::kTransposed ? column : row;
    const bool swaps = Cta::kTransposed && (line >> kSwapBit & 1) != 0;
    return {OldC::place(line, at) + (swaps ? 1 : 0), swaps};
  }

  struct Pair {
    float low, high;
  };
  XGEMM_DEVICE Pair load(const float* chunk, int fragment, int half) const {
    return ordered({gpu::read<gpu::Space::shared>(chunk + offset(fragment, half, 0)),
                    gpu::read<gpu::Space::shared>(chunk + offset(fragment, half, 1))});
  }
  XGEMM_DEVICE void store(float* chunk, const Pair& pair, int fragment, int half) const {
    const Pair accessed = ordered(pair);
    gpu::write<gpu::Space::shared>(chunk + offset(fragment, half, 0), accessed.low);
    gpu::write<gpu::Space::shared>(chunk + offset(fragment, half, 1), accessed.high);
  }

  // To where load() reads, from a C that TMA cannot bring. now: where the thread's pairs lie in C.
  template <class Now>
  XGEMM_DEVICE void bring(float* chunk, const Now& now) const {
    XGEMM_NO_UNROLL
    for (int f = 0; f < kFragments; ++f) {
      XGEMM_UNROLL
      for (int half = 0; half < 2; ++half) {
        XGEMM_UNROLL
        for (int which = 0; which < 2; ++which) {
          const int e = swaps ? 1 - which : which;
          gpu::copy_async<4>(chunk + offset(f, half, which), now.address(f, half, e), e < now.inside(f, half) ? 4 : 0);
        }
      }
    }
  }

 private:
  // As it is accessed, or as it was.
  XGEMM_DEVICE Pair ordered(Pair pair) const { return swaps ? Pair{pair.high, pair.low} : pair; }
  // Of the first element of a pair that is accessed, and of the other one. What fragments and halves add leaves the
  // swizzle as it is, or lies in bits of its own.
  XGEMM_DEVICE int offset(int fragment, int half, int which) const {
    if constexpr (Cta::kTransposed) {
      const int along = 8 * fragment % kRow;
      const int in_row = OldC::kSwizzle == 0 ? base + along : base ^ along;
      return (in_row ^ which) + 8 * fragment / kRow * kBoxElements + 8 * half * kRow;
    } else {
      return (base ^ 8 * half ^ which * OldC::swizzled(kRow)) + 8 * fragment * kRow;
    }
  }
};

}  // namespace xgemm::kernels
