// What a Finishing makes of the sums of a wgmma_tma consumer, in registers, before anything stores them: a bias and an
// activation. In place, so that one code stores sums whether they are finished or not; what products without an
// epilogue pay is a branch.
//
// A warp has what it needs of the bias in few registers: of rows of D, each lane the elements of its own rows; of
// columns, a pair in each lane, which are shuffled to where they are added.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/activation.h"
#include "kernels/common/dtype.cuh"
#include "kernels/common/finishing.cuh"
#include "kernels/common/sm90/wgmma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig>
struct WgmmaTmaFinisher {
  using Cta = WgmmaTmaCta<kConfig>;
  using Element = typename Cta::ElementC;
  using Sums = typename Cta::Sums;
  static_assert(sizeof(Element) == 2, "two elements of the bias are a register");

  // Of the warp whose sums begin at (row, column) of D; of each becomes activation(alpha * sum + bias).
  XGEMM_DEVICE static void run(const WgmmaTmaParams& p, int row, int column, float alpha, Sums& sums) {
    add_bias(p, row, column, alpha, sums);
    const Activation activation = p.finishing.activation;
    if (kConfig.activates() || activation == Activation::relu)
      with_short_activation(kConfig.activates() ? activation : Activation::relu,
                            [&](const auto& function) { for_each(sums, function); });
  }

 private:
  XGEMM_DEVICE static void add_bias(const WgmmaTmaParams& p, int row, int column, float alpha, Sums& sums) {
    const int lane = gpu::opaque(gpu::lane_index());  // else what follows from it is computed before the mainloop
    if (p.finishing.bias != nullptr && p.finishing.bias_of_rows == Cta::kTransposed) {
      constexpr int kWords = (Cta::kGroupColumns + 2 * gpu::kWarpSize - 1) / (2 * gpu::kWarpSize);
      std::uint32_t words[kWords];
      XGEMM_UNROLL
      for (int w = 0; w < kWords; ++w) {
        const int first = column + 2 * (gpu::kWarpSize * w + lane);
        words[w] = pair(p, first, first + 1, Cta::columns_of(p));
      }
      XGEMM_UNROLL
      for (int j = 0; j < Cta::kSlabRegisters; j += 4) {
        // Four lanes have the bias of columns 2 j to 2 j + 7; a lane's sums are of the pair lane % 4.
        const std::uint32_t word = gpu::shuffle(words[j / gpu::kWarpSize], j % gpu::kWarpSize | (lane & 3));
        XGEMM_UNROLL
        for (int i = 0; i < Cta::kSlabs; ++i) {
          XGEMM_UNROLL
          for (int r = 0; r < 4; ++r) sums[i][j + r] = gpu::fma(alpha, sums[i][j + r], element(word, r % 2));
        }
      }
    } else {
      XGEMM_UNROLL
      for (int i = 0; i < Cta::kSlabs; ++i) {
        const int first = row + 64 * i + gpu::wgmma_row(lane, 0);
        const std::uint32_t word = p.finishing.bias != nullptr ? pair(p, first, first + 8, Cta::rows_of(p)) : 0;
        const float of_rows[2] = {element(word, 0), element(word, 1)};
        XGEMM_UNROLL
        for (int j = 0; j < Cta::kSlabRegisters; ++j) sums[i][j] = gpu::fma(alpha, sums[i][j], of_rows[j / 2 % 2]);
      }
    }
  }

  // Outside of C there are sums, too.
  XGEMM_DEVICE static std::uint32_t pair(const WgmmaTmaParams& p, int i, int j, int extent) {
    const auto bits = [&](int at) {
      const auto* const bias = static_cast<const std::uint16_t*>(p.finishing.bias);
      return std::uint32_t{gpu::read<gpu::Space::global>(bias + (at < extent ? at : extent - 1))};
    };
    return bits(i) | bits(j) << 16;
  }
  XGEMM_DEVICE static float element(std::uint32_t word, int which) {
    return which == 0 ? gpu::unpack_low<Element>(word) : gpu::unpack_high<Element>(word);
  }

  template <class F>
  XGEMM_DEVICE static void for_each(Sums& sums, const F& f) {
    XGEMM_UNROLL
    for (int i = 0; i < Cta::kSlabs; ++i) {
      XGEMM_UNROLL
      for (int j = 0; j < Cta::kSlabRegisters; ++j) sums[i][j] = f(sums[i][j]);
    }
  }
};

}  // namespace xgemm::kernels
