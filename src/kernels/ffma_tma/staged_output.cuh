// How sums leave a tile that is chosen for short K, where C is most of what there is to move: each warp puts its own on
// a stage in shared memory. From there TMA stores them, under the mainloop of the next tile.
//
//     registers  -- chunks of 4 rows -->  stage  -- TMA: a warp's rows and columns -->  C
//
// TMA writes whole vectors of 16 bytes. Where columns do not start and end on them, warps of the same columns read the
// stage as it lies in memory, and an access is of 32 rows of one column: the L2 takes as long for a part of a sector as
// for all of it, and accesses of few rows in many columns (output.cuh) have twice as many.
//
// On the stage a warp has a row of 128 bytes for each column, swizzled as panels are (cta.cuh).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/fill.h"
#include "kernels/common/dtype.cuh"
#include "kernels/common/sm90/tma.cuh"
#include "kernels/common/target.cuh"
#include "kernels/ffma_tma/cta.cuh"
#include "kernels/ffma_tma/output.cuh"

namespace xgemm::kernels {

template <FfmaTmaConfig kConfig>
struct FfmaTmaStagedOutput {
  using Cta = FfmaTmaCta<kConfig>;
  using Stage = float[kConfig.warp_m() * kConfig.warp_n()];  // of a warp
  static constexpr int kThreadM = Cta::kThreadM, kThreadN = Cta::kThreadN;

  Stage* stages;  // of the warps that have the same columns,
  int warp;       // of which this is one, along m
  int lane_m, lane_n;
  // Of C, from the first row of the tile and the first column of the warp on.
  float* c;
  std::int64_t ld;
  int rows, columns;
  // Of a triangle: which, and in which row its diagonal meets the first column.
  Fill fill;
  int diagonal;
  bool all_alike;  // whether all tiles are stored the same way

  // By a warp, of columns that start and end on 16 bytes. finish(sum, old, row, column); store(stage) has TMA store it.
  template <bool kReadsC, class Finish, class Store>
  XGEMM_DEVICE void store_vectors(const typename Cta::Sums& sums, const Finish& finish, const Store& store) const {
    float* const stage = stages[warp];
    wait_until_read();
    if constexpr (kReadsC) {
      for_each_vector([&](int j, int i) {
        const int row = row_of(i), column = column_of(j);
        const bool inside = row < rows && column < columns;
        gpu::copy_async<16>(stage + offset(j, i), inside ? c + column * ld + row : c, inside ? 16 : 0);
      });
      gpu::copy_async_commit();
      gpu::copy_async_wait<0>();
    }
    for_each_vector([&](int j, int i) {
      auto* const at = reinterpret_cast<Vector*>(stage + offset(j, i));
      Vector v{};
      if constexpr (kReadsC) v = gpu::read<gpu::Space::shared>(at);
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e) v[e] = finish(sums[j][i + e], v[e], row_of(i) + e, column_of(j));
      gpu::write<gpu::Space::shared>(at, v);
    });
    gpu::fence_async_shared();
    gpu::sync_warp();
    if (gpu::lane_index() == 0) {
      store(stage);
      gpu::tma_store_commit();
    }
  }

  // By all warps of the same columns, also those with nothing inside of C.
  template <bool kReadsC, class Finish>
  XGEMM_DEVICE void store_anywhere(const typename Cta::Sums& sums, const Finish& finish) const {
    wait_until_read();
    sync();
    // Vectors of the sums themselves would bind registers in fours all through the mainloop; products with one do not.
    const float one = gpu::opaque(1.0f);
    for_each_vector([&](int j, int i) {
      Vector v;
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e) v[e] = gpu::multiply(one, sums[j][i + e]);
      gpu::write<gpu::Space::shared>(reinterpret_cast<Vector*>(stages[warp] + offset(j, i)), v);
    });
    sync();
    store_columns<kReadsC>(finish);
    if (!all_alike) sync();  // TMA may store the next tile, for which each warp is on its own
  }

  // TMA has read what this warp had it store.
  XGEMM_DEVICE static void wait_until_read() {
    if (gpu::lane_index() == 0) gpu::tma_store_wait_read<0>();
    gpu::sync_warp();
  }

 private:
  using Output = FfmaTmaOutput<kConfig>;
  using Vector = gpu::Vector<float, 4>;
  static constexpr int kWarps = kConfig.warps_m();
  static constexpr int kOwn = kConfig.warp_n() / kWarps;  // columns that a warp stores
  static constexpr int kRows = FfmaTmaConfig::kPanel;
  static_assert(kConfig.warp_m() == kRows && kConfig.warp_n() % kWarps == 0);

  // Of a thread's sums: in the tile, and in the warp.
  XGEMM_DEVICE int row_of(int i) const { return warp * kRows + 4 * lane_m + Output::row_of(i); }
  XGEMM_DEVICE int column_of(int j) const { return 4 * lane_n + Output::column_of(j); }

  template <class F>
  XGEMM_DEVICE static void for_each_vector(const F& f) {
    XGEMM_UNROLL
    for (int j = 0; j < kThreadN; ++j) {
      XGEMM_UNROLL
      for (int i = 0; i < kThreadM; i += 4) f(j, i);
    }
  }

  // Of the chunk in a column of a stage.
  XGEMM_DEVICE static int offset_of(int column, int chunk) { return column * kRows + (chunk ^ column % 8) * 4; }
  XGEMM_DEVICE int offset(int j, int i) const { return offset_of(column_of(j), lane_m + Output::row_of(i) / 4); }

  template <bool kReadsC, class Finish>
  XGEMM_DEVICE void store_columns(const Finish& finish) const {
    const int lane = gpu::opaque(gpu::lane_index());  // what follows from it is not kept beside the sums
    XGEMM_NO_UNROLL
    for (int own = 0; own < kOwn; ++own) {
      const int column = own * kWarps + warp;
      const int from = offset_of(column, lane / 4) + lane % 4;
      float* const to = c + column * ld + lane;
      float old[kWarps] = {};
      const auto for_each_piece = [&](const auto& f) {  // f(piece, its first row)
        XGEMM_UNROLL
        for (int piece = 0; piece < kWarps; ++piece) {
          if (contains(piece * kRows + lane, column)) f(piece, piece * kRows);
        }
      };
      if constexpr (kReadsC)
        for_each_piece([&](int piece, int row) { old[piece] = gpu::read<gpu::Space::global>(to + row); });
      for_each_piece([&](int piece, int row) {
        const float sum = gpu::read<gpu::Space::shared>(stages[piece] + from);
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
