// How sums leave a tile that is chosen for short K where it is not all whole vectors of C: through shared memory.
//
// What output.cuh does there asks the L2 for parts of sectors at both ends of each column of a warp, by accesses of a
// few rows of many columns. Beside a long K nobody notices. Where C is most of what there is to move, it took twice as
// long as here: the sums of some columns at a time pass through a stage, which warps read as they lie in memory. An
// access is of 32 rows of one column.
//
//     registers  -- chunks of 4 rows -->  stage: columns of kTileM rows  -- 32 rows -->  C
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/fill.h"
#include "kernels/common/dtype.cuh"
#include "kernels/common/target.cuh"
#include "kernels/ffma_tma/cta.cuh"
#include "kernels/ffma_tma/output.cuh"

namespace xgemm::kernels {

// By all consumer warps of a CTA together, also those with nothing inside of C.
template <FfmaTmaConfig kConfig>
struct FfmaTmaStagedOutput {
  using Cta = FfmaTmaCta<kConfig>;
  static constexpr int kThreadM = Cta::kThreadM, kThreadN = Cta::kThreadN;

  float* stage;  // of the warps that have the same columns,
  int warp;      // of which this is one, along m
  // Of C, from the first row of the tile and the first column of the warp on.
  float* c;
  std::int64_t ld;
  int rows, columns;
  // Of a triangle: which, and in which row its diagonal meets the first column.
  Fill fill;
  int diagonal;

  // A warp's sums. row, lane_n: of the thread, in the tile and in the warp. finish(sum, old, row, column).
  template <bool kReadsC, class Finish>
  XGEMM_DEVICE void store(int row, int lane_n, const typename Cta::Sums& sums, const Finish& finish) const {
    float* const to = stage + lane_n * kStride + row;
    // Vectors of the sums themselves would bind registers in fours all through the mainloop; products with one do not.
    const float one = gpu::opaque(1.0f);
    XGEMM_UNROLL
    for (int first = 0; first < kThreadN; first += kShare) {
      sync();  // what the stage held has been read
      XGEMM_UNROLL
      for (int j = 0; j < kShare; ++j) {
        XGEMM_UNROLL
        for (int i = 0; i < kThreadM; i += 4) {
          gpu::Vector<float, 4> v;
          XGEMM_UNROLL
          for (int e = 0; e < 4; ++e) v[e] = gpu::multiply(one, sums[first + j][i + e]);
          gpu::write<gpu::Space::shared>(
              reinterpret_cast<gpu::Vector<float, 4>*>(to + j * kLanesN * kStride + Output::row_of(i)), v);
        }
      }
      sync();
      store_columns<kReadsC>(first, finish);
    }
  }

 private:
  using Output = FfmaTmaOutput<kConfig>;
  static constexpr int kShare = FfmaTmaConfig::kStageShare, kStride = kConfig.stage_stride();
  static constexpr int kLanesN = kConfig.lanes_n(), kWarps = kConfig.warps_m();
  static constexpr int kOwn = kShare * kLanesN / kWarps;  // columns of the stage that a warp stores
  static constexpr int kPieces = Cta::kTileM / gpu::kWarpSize;
  static_assert(kConfig.lanes_m == 4 && kThreadN % kShare == 0 && 4 % kShare == 0 && kLanesN % kWarps == 0);

  // What is in the stage: of each thread the columns from its `first` on.
  template <bool kReadsC, class Finish>
  XGEMM_DEVICE void store_columns(int first, const Finish& finish) const {
    const int lane = gpu::opaque(gpu::lane_index());  // what follows from it is not kept beside the sums
    XGEMM_NO_UNROLL
    for (int own = 0; own < kOwn; ++own) {
      const int of_stage = own * kWarps;  // and `warp`
      const int column = 4 * (of_stage % kLanesN + warp) + Output::column_of(first) + of_stage / kLanesN;
      const float* const from = stage + (of_stage + warp) * kStride + lane;
      float* const to = c + column * ld + lane;
      float old[kPieces] = {};
      const auto for_each_piece = [&](const auto& f) {  // f(piece, its first row)
        XGEMM_UNROLL
        for (int piece = 0; piece < kPieces; ++piece) {
          if (contains(piece * gpu::kWarpSize + lane, column)) f(piece, piece * gpu::kWarpSize);
        }
      };
      if constexpr (kReadsC)
        for_each_piece([&](int piece, int row) { old[piece] = gpu::read<gpu::Space::global>(to + row); });
      for_each_piece([&](int piece, int row) {
        const float sum = gpu::read<gpu::Space::shared>(from + row);
        gpu::write<gpu::Space::global>(to + row, finish(sum, old[piece], row + lane, column));
      });
    }
  }

  XGEMM_DEVICE bool contains(int row, int column) const {
    const int on_diagonal = diagonal + column;
    return column < columns && row < rows && !(fill == Fill::lower && row < on_diagonal) &&
           !(fill == Fill::upper && row > on_diagonal);
  }

  XGEMM_DEVICE static void sync() { gpu::named_barrier_sync(1, Cta::kConsumerThreads); }
};

}  // namespace xgemm::kernels
