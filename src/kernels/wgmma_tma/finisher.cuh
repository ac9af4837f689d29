// What a Finishing makes of the sums of a wgmma_tma consumer, in registers, before they are stored: a bias, an
// activation, scales. Of instances that are made with the epilogue Finished, so that those without have none of it.
//
// The bias is on its way while the mainloop runs, and a warp has it in few registers: of rows of D, each lane the
// elements of its own rows; of columns, a pair in each lane, which are shuffled to where they are added.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/activation.h"
#include "kernels/common/dtype.cuh"
#include "kernels/common/epilogue.cuh"
#include "kernels/common/finishing.cuh"
#include "kernels/common/sm90/wgmma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig>
class WgmmaTmaFinisher {
 public:
  using Cta = WgmmaTmaCta<kConfig>;
  using Element = typename Cta::ElementC;
  using Sums = typename Cta::Sums;
  static_assert(sizeof(Element) == 2, "two elements of the bias are a register");

  // Before the mainloop. (row, column): of D, where the warp's sums begin.
  XGEMM_DEVICE static WgmmaTmaFinisher make(const WgmmaTmaParams& p, int row, int column) {
    WgmmaTmaFinisher finisher{};
    if (p.finishing.bias == nullptr) return finisher;
    const int lane = gpu::lane_index();
    XGEMM_UNROLL
    for (int i = 0; i < kPairs; ++i) {
      const bool of_columns = bias_of_columns(p);
      const int first = of_columns ? column + 2 * (gpu::kWarpSize * i + lane) : row + 64 * i + gpu::wgmma_row(lane, 0);
      const int last = (of_columns ? Cta::columns_of(p) : Cta::rows_of(p)) - 1;
      const auto element = [&](int at) {  // beyond C there are sums, too
        return std::uint32_t{gpu::read<gpu::Space::global>(static_cast<const std::uint16_t*>(p.finishing.bias) +
                                                           (at < last ? at : last))};
      };
      finisher.bias_[i][0] = element(first);
      finisher.bias_[i][1] = element(first + (of_columns ? 1 : 8));
    }
    return finisher;
  }

  // Of each sum becomes activation(alpha * sum + bias), times scales.
  XGEMM_DEVICE void run(const WgmmaTmaParams& p, int row, int column, float alpha, Sums& sums) const {
    const int lane = gpu::opaque(gpu::lane_index());  // else what follows from it is computed before the mainloop
    if (bias_of_columns(p)) {
      XGEMM_UNROLL
      for (int j = 0; j < Cta::kSlabRegisters; j += 4) {
        // Four lanes have the bias of columns 2 j to 2 j + 7; a lane's sums are of the pair lane % 4.
        const std::uint32_t word = gpu::shuffle(pair(j / gpu::kWarpSize), j % gpu::kWarpSize | (lane & 3));
        for_each_of(sums, j, [&](float& x, int, int r) { x = gpu::fma(alpha, x, element(word, r % 2)); });
      }
    } else {
      for_each(sums, [&](float& x, int i, int r) { x = gpu::fma(alpha, x, element(pair(i), r / 2)); });
    }
    with_short_activation(p.finishing.activation,
                          [&](const auto& function) { for_each(sums, [&](float& x, int, int) { x = function(x); }); });
    scale(p, row, column, sums);
  }

 private:
  static constexpr int kColumnPairs = (Cta::kGroupColumns + 2 * gpu::kWarpSize - 1) / (2 * gpu::kWarpSize);
  static constexpr int kPairs = kColumnPairs > Cta::kSlabs ? kColumnPairs : Cta::kSlabs;

  // Apart: what would join them waits for them.
  std::uint32_t bias_[kPairs][2];

  XGEMM_DEVICE static bool bias_of_columns(const WgmmaTmaParams& p) {  // of D
    return p.finishing.bias_of_rows == Cta::kTransposed;
  }
  XGEMM_DEVICE std::uint32_t pair(int i) const { return i < kPairs ? bias_[i][0] | bias_[i][1] << 16 : 0; }
  XGEMM_DEVICE static float element(std::uint32_t word, int which) {
    return which == 0 ? gpu::unpack_low<Element>(word) : gpu::unpack_high<Element>(word);
  }

  // By rows of C, then by columns: each product is rounded.
  XGEMM_DEVICE static void scale(const WgmmaTmaParams& p, int row, int column, Sums& sums) {
    const Finishing& f = p.finishing;
    if constexpr (Cta::kTransposed) {
      scale_columns(p, f.row_scales, column, sums);
      scale_rows(p, f.column_scales, row, sums);
    } else {
      scale_rows(p, f.row_scales, row, sums);
      scale_columns(p, f.column_scales, column, sums);
    }
  }
  XGEMM_DEVICE static void scale_rows(const WgmmaTmaParams& p, const float* scales, int row, Sums& sums) {
    if (scales == nullptr) return;
    const int first = row + gpu::wgmma_row(gpu::opaque(gpu::lane_index()), 0);
    float of[Cta::kSlabs][2];
    XGEMM_UNROLL
    for (int i = 0; i < Cta::kSlabs; ++i) {
      XGEMM_UNROLL
      for (int half = 0; half < 2; ++half) of[i][half] = scale_of(scales, first + 64 * i + 8 * half, Cta::rows_of(p));
    }
    for_each(sums, [&](float& x, int i, int r) { x = gpu::multiply(x, of[i][r / 2]); });
  }
  XGEMM_DEVICE static void scale_columns(const WgmmaTmaParams& p, const float* scales, int column, Sums& sums) {
    if (scales == nullptr) return;
    const int first = column + gpu::wgmma_column(gpu::opaque(gpu::lane_index()), 0);
    XGEMM_UNROLL
    for (int j = 0; j < Cta::kSlabRegisters; j += 4) {
      const float of[2] = {scale_of(scales, first + 2 * j, Cta::columns_of(p)),
                           scale_of(scales, first + 2 * j + 1, Cta::columns_of(p))};
      for_each_of(sums, j, [&](float& x, int, int r) { x = gpu::multiply(x, of[r % 2]); });
    }
  }
  XGEMM_DEVICE static float scale_of(const float* scales, int at, int extent) {
    return gpu::read<gpu::Space::global>(scales + (at < extent ? at : extent - 1));
  }

  // Calls f(sum, slab, r) for the sums of a fragment of 8 columns, r = 0 to 3: r % 2 is the column of the pair, r / 2
  // the row.
  template <class F>
  XGEMM_DEVICE static void for_each_of(Sums& sums, int j, const F& f) {
    XGEMM_UNROLL
    for (int i = 0; i < Cta::kSlabs; ++i) {
      XGEMM_UNROLL
      for (int r = 0; r < 4; ++r) f(sums[i][j + r], i, r);
    }
  }
  template <class F>
  XGEMM_DEVICE static void for_each(Sums& sums, const F& f) {
    XGEMM_UNROLL
    for (int j = 0; j < Cta::kSlabRegisters; j += 4) for_each_of(sums, j, f);
  }
};

// Where there is nothing to finish.
struct WgmmaTmaNoFinisher {};

}  // namespace xgemm::kernels
