// ffma_async: fp32 products of a short K, of which each CTA computes one tile and is gone. Where tiles take a few
// microseconds, what a pipeline of producers and consumers needs to start and to end (ffma_tma) is what can be saved:
// here all threads start copies by cp.async, and several CTAs of an SM overlap.
//
// A slice of A is [k][row], one of B [k][column], however they lie in memory (slice_loader.cuh).
//
//     wait for slice i, barrier | start slice i + stages - 1 | multiply slice i | wait for slice i + 1, barrier | ...
//
// A warp has 32 rows: 4 x 8 lanes with 8 x 4 sums each, or 8 x 4 lanes with 4 x 4. Sums are in chunks of four rows and
// four columns, which interleave over the lanes, so that lanes read neighbouring chunks.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/common/kernel.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/ffma_async/instances.h"
#include "kernels/ffma_async/slice_loader.cuh"

namespace xgemm::kernels {

// kFollows: the matrices of a batch are found by pointers, and each is looked at for where it starts.
template <TileConfig kConfig, class Epilogue, bool kFollows>
struct FfmaAsync {
  using ByPointers = FfmaAsync<kConfig, Epilogue, true>;
  using Element = float;
  using ElementC = float;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr int kTileM = kConfig.cta_m, kTileN = kConfig.cta_n, kTileK = kConfig.cta_k;
  static constexpr int kThreadM = kConfig.thread_m, kThreadN = kConfig.thread_n;
  static constexpr int kStages = kConfig.stages;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMinBlocksPerSm = ffma_async_ctas_per_sm(kConfig);
  static constexpr bool kStartsEarly = true;

  // Warps have 32 rows.
  static constexpr int kLanesM = gpu::kWarpSize / kThreadM, kLanesN = gpu::kWarpSize / kLanesM;
  static constexpr int kWarpM = kLanesM * kThreadM, kWarpN = kLanesN * kThreadN;
  static constexpr int kWarpsM = kTileM / kWarpM, kWarps = kThreads / gpu::kWarpSize;
  static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0 && kThreadM % 4 == 0 && kThreadN % 4 == 0);

  using LoaderA = FfmaAsyncSliceLoader<kTileM, kTileK, kThreads>;
  using LoaderB = FfmaAsyncSliceLoader<kTileN, kTileK, kThreads>;
  struct Slice {
    SharedArray<float, kTileK * LoaderA::kLine> a;
    SharedArray<float, kTileK * LoaderB::kLine> b;
  };
  // Of C, from one column in shared memory to the next: chunks of four rows of four lanes in two columns lie in 32
  // banks.
  static constexpr int kColumn = kTileM + 4;
  union SharedStorage {
    Slice slices[kStages];
    SharedArray<float, kTileN * kColumn> c;
  };

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    const Epilogue epilogue = Epilogue::make_early(p);
    const Place place = Place::make();
    for_each_whole_unit_32<kTileM, kTileN>(p, epilogue.has_product, [&](const Unit& unit) {
      Sums sums = {};
      gpu::grid_wait_dependencies();
      if (unit.depth > 0) multiply(p, unit, smem, place, sums);
      if (vectors_of_c(p, unit)) {
        store_vectors(epilogue, p, unit, place, sums);
      } else {
        store_rows(epilogue, p, unit, smem, place, sums);
      }
    });
  }

 private:
  using Sums = float[kThreadN][kThreadM];

  // A thread's first row and column in the tile.
  struct Place {
    int row, column;
    // So that eight lanes in a row, whose accesses of 16 bytes go together, have four rows and two columns, or eight
    // rows of one.
    XGEMM_DEVICE static Place make() {
      const int lane = gpu::lane_index(), warp = gpu::warp_index();
      const int lane_m = kLanesM == 4 ? (lane & 1) | (lane >> 1 & 2) : lane % kLanesM;
      const int lane_n = kLanesM == 4 ? (lane >> 1 & 1) | (lane >> 2 & 6) : lane / kLanesM;
      return {warp % kWarpsM * kWarpM + 4 * lane_m, warp / kWarpsM * kWarpN + 4 * lane_n};
    }
  };
  // From there on, of a thread's sums.
  XGEMM_DEVICE static constexpr int row_of(int i) { return i / 4 * (4 * kLanesM) + i % 4; }
  XGEMM_DEVICE static constexpr int column_of(int j) { return j / 4 * (4 * kLanesN) + j % 4; }

  XGEMM_DEVICE static void multiply(const TileParams& p, const Unit& unit, SharedStorage& smem, const Place& place,
                                    Sums& sums) {
    LoaderA a(p.a, unit.batch, unit.row, p.m, kFollows);
    LoaderB b(p.b.transposed(), unit.batch, unit.col, p.n, kFollows);
    const int depth = static_cast<int>(unit.depth);
    const auto next = [](int stage) { return stage + 1 < kStages ? stage + 1 : 0; };
    constexpr int kAhead = (kStages - 1) * kTileK;
    const int ahead = depth < kAhead ? (depth + kTileK - 1) / kTileK * kTileK : kAhead;
    int stage = 0, free_stage = 0;
    // From before the first slice, so that the code of copies is there once.
    XGEMM_NO_UNROLL
    for (int k0 = -ahead; k0 < depth; k0 += kTileK, free_stage = next(free_stage)) {
      if (k0 >= 0) {
        // Of slices that are on their way, the newest kStages - 2 may stay so.
        if (k0 + ahead - kTileK < depth && ahead == kAhead) {
          gpu::copy_async_wait<kStages - 2>();
        } else {
          gpu::copy_async_wait<0>();
        }
        gpu::sync_threads();  // and all threads have multiplied the slice before
      }
      const int next_k = k0 + ahead;
      if (next_k < depth) {
        a.copy(smem.slices[free_stage].a.data, depth - next_k);
        b.copy(smem.slices[free_stage].b.data, depth - next_k);
        gpu::copy_async_commit();
      }
      if (k0 >= 0) {
        multiply(smem.slices[stage], depth - k0 < kTileK ? depth - k0 : kTileK, place, sums);
        stage = next(stage);
      }
    }
    gpu::sync_threads();  // before C, or the next tile's slices
  }

  // Products are made of so many k at a time: of a slice's last ones there may be none, and zeros stand there.
  static constexpr int kAtOnce = 8;
  static_assert(kTileK % kAtOnce == 0);

  struct Fragments {
    float a[kThreadM];
    float b[kThreadN];
  };

  XGEMM_DEVICE static void multiply(const Slice& slice, int depth, const Place& place, Sums& sums) {
    const float* a = slice.a.data + place.row;
    const float* b = slice.b.data + place.column;
    XGEMM_NO_UNROLL
    for (int k = 0; k < depth; k += kAtOnce, a += kAtOnce * LoaderA::kLine, b += kAtOnce * LoaderB::kLine) {
      Fragments f[2];
      read(a, b, f[0]);
      XGEMM_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        if (i + 1 < kAtOnce) read(a + (i + 1) * LoaderA::kLine, b + (i + 1) * LoaderB::kLine, f[(i + 1) % 2]);
        add_products(f[i % 2], sums);
      }
    }
  }

  XGEMM_DEVICE static void read(const float* a, const float* b, Fragments& f) {
    XGEMM_UNROLL
    for (int j = 0; j < kThreadN; j += 4) read_four(b + column_of(j), f.b + j);
    XGEMM_UNROLL
    for (int i = 0; i < kThreadM; i += 4) read_four(a + row_of(i), f.a + i);
  }
  XGEMM_DEVICE static void read_four(const float* from, float* to) {
    const auto four = gpu::read<Space::shared>(reinterpret_cast<const gpu::Vector<float, 4>*>(from));
    XGEMM_UNROLL
    for (int e = 0; e < 4; ++e) to[e] = four[e];
  }

  // One row one way, the next one the other: a factor stays in the operand cache. Of the orders that do, and that read
  // one operand or the other first, the assembler makes the fastest code of this, as timed.
  XGEMM_DEVICE static void add_products(const Fragments& f, Sums& sums) {
    XGEMM_UNROLL
    for (int i = 0; i < kThreadM; ++i) {
      XGEMM_UNROLL
      for (int step = 0; step < kThreadN; ++step) {
        const int j = i % 2 == 0 ? step : kThreadN - 1 - step;
        sums[j][i] = gpu::fma(f.a[i], f.b[j], sums[j][i]);
      }
    }
  }

  // Whether C consists of whole vectors down its columns.
  XGEMM_DEVICE static bool vectors_of_c(const TileParams& p, const Unit& unit) {
    const void* const c = kFollows ? entry_of<const float>(p.c, unit.batch, true) : p.c.data;
    const std::int64_t between = kFollows ? 0 : p.c.batch_stride;
    return (reinterpret_cast<std::uintptr_t>(c) % 16 | p.c.col_stride % 4 | between % 4 | p.m % 4) == 0;
  }

  // All of C, which the compiler is to know: the family computes no triangles.
  template <int kRows, int kColumns>
  XGEMM_DEVICE static auto output(const Epilogue& epilogue, const TileParams& p, const Unit& unit, int row,
                                  int column) {
    const std::int64_t i = unit.row + gpu::opaque(row), j = unit.col + gpu::opaque(column);
    const auto view = view_c<kConfig, kFollows>(p, unit).template block<kRows, kColumns>(i, j);
    return OutputTile<Epilogue, std::remove_const_t<decltype(view)>>(epilogue, p, view, i, j, Fill::full);
  }

  XGEMM_DEVICE static void store_vectors(const Epilogue& epilogue, const TileParams& p, const Unit& unit,
                                         const Place& place, const Sums& sums) {
    constexpr int kOfColumn = kThreadM / 4, kNumber = kOfColumn * kThreadN;
    output<kTileM, kTileN>(epilogue, p, unit, place.row, place.column)
        .template store<4, kNumber, kNumber>(
            [](int v) {
              return TilePosition{row_of(v % kOfColumn * 4), column_of(v / kOfColumn)};
            },
            [&](int v) {
              const float* const from = sums[v / kOfColumn] + v % kOfColumn * 4;
              return gpu::Vector<float, 4>{{from[0], from[1], from[2], from[3]}};
            });
  }

  // By 32 rows of a column, through shared memory. The L2 takes as long for a part of a sector as for all of it:
  // shorter runs that start anywhere ask for more of them (docs/coalescing.md).
  XGEMM_DEVICE static void store_rows(const Epilogue& epilogue, const TileParams& p, const Unit& unit,
                                      SharedStorage& smem, const Place& place, const Sums& sums) {
    float* const to = smem.c.data + place.column * kColumn + place.row;
    XGEMM_UNROLL
    for (int j = 0; j < kThreadN; ++j) {
      XGEMM_UNROLL
      for (int i = 0; i < kThreadM; i += 4) {
        gpu::write<Space::shared>(reinterpret_cast<gpu::Vector<float, 4>*>(to + column_of(j) * kColumn + row_of(i)),
                                  gpu::Vector<float, 4>{{sums[j][i], sums[j][i + 1], sums[j][i + 2], sums[j][i + 3]}});
      }
    }
    gpu::sync_threads();
    constexpr int kPieces = kTileM / gpu::kWarpSize, kColumns = kTileN / kWarps;  // of a warp
    constexpr int kTogether = kColumns < 8 ? kColumns : 8;                        // whose old elements are on their way
    const int row = gpu::lane_index(), column = gpu::warp_index();
    XGEMM_NO_UNROLL
    for (int first = 0; first < kColumns; first += kTogether) {
      const float* const from = smem.c.data + (first * kWarps + column) * kColumn + row;
      output<kTileM, kTogether * kWarps>(epilogue, p, unit, row, first * kWarps + column)
          .template store<1, kPieces * kTogether, kPieces * kTogether>(
              [](int v) {
                return TilePosition{v % kPieces * gpu::kWarpSize, v / kPieces * kWarps};
              },
              [&](int v) {
                return gpu::Vector<float, 1>{
                    {gpu::read<Space::shared>(from + v / kPieces * (kWarps * kColumn) + v % kPieces * gpu::kWarpSize)}};
              });
    }
    gpu::sync_threads();  // before the next tile's slices
  }
};

}  // namespace xgemm::kernels
