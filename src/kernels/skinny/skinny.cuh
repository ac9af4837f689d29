// skinny: products that are a few columns (or rows) wide, GEMV among them. One operand is large and is read once, at
// the speed of the memory; the other one is narrow, and its slices wait in shared memory for all threads of a CTA.
//
// The kernel computes D = X Y with X, the streamed operand (rows x k), and Y, the narrow one (k x width): D is C where
// A is streamed, and its transpose where B is.
//
//   X contiguous along k: lanes along k              X contiguous along its rows: lanes along them
//
//          k                                              k: warp 0 | warp 1 | ...
//        +-----------------------+                      +--------+--------+-----
//   warp | lane 0 | lane 1 | ... | a few lines          | lane 0 |        |
//        +-----------------------+                      | lane 1 |        |     4 rows a lane
//   warp | ...                                          | ...    |        |
//   the lanes' sums are added at the end                the warps' sums are added at the end
//
// A slice of X is on its way in registers while that of Y is brought to shared memory, in fp32 and in the order in
// which threads read it, into two buffers in turn: one barrier a slice. Where rows are few the schedule splits K.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/kernel.cuh"
#include "kernels/skinny/few_columns.cuh"
#include "kernels/skinny/instances.h"
#include "kernels/skinny/narrow.cuh"
#include "kernels/skinny/narrow_rows.cuh"
#include "kernels/skinny/short_rows.cuh"
#include "kernels/skinny/vector.cuh"
#include "kernels/skinny/wide_rows.cuh"

namespace xgemm::kernels {

template <TileConfig kConfig, class Epilogue = LinearCombination>
struct Skinny {
  using Element = gpu::ElementOf<kConfig.type>;
  using ElementC = gpu::ElementOf<kConfig.type_c>;
  static constexpr TileConfig kInstance = kConfig;
  static constexpr SkinnyShape kShape = SkinnyShape::of(kConfig);
  static constexpr bool kStreamsB = kShape.streams_b, kAlongK = kShape.along_k;
  static constexpr int kRows = kShape.rows, kWidth = kShape.width;
  static constexpr int kTileM = kConfig.cta_m, kTileN = kConfig.cta_n, kTileK = kConfig.cta_k;
  static constexpr int kVector = kConfig.vector;
  static constexpr int kWarps = SkinnyShape::kWarps;
  static constexpr int kThreads = kWarps * gpu::kWarpSize;
  static constexpr int kMinBlocksPerSm = 2;
  static constexpr bool kStartsEarly = true;
  static constexpr int kWarpVector = gpu::kWarpSize * kVector;  // elements that a warp loads at once
  static_assert(kWidth % 4 == 0 && kTileM % 4 == 0, "vectors of 4 sums: of the narrow operand, and in the workspace");

  // Y in shared memory. Along k: a line for each column, so much longer than the slice that threads with neighbouring
  // columns write to other banks. Otherwise: planes of four columns, in each the four of a k together, with half of the
  // banks between one plane and the next.
  static constexpr int kLine = kAlongK ? kTileK + gpu::kWarpSize / kWidth : 4 * kTileK + 16;
  // The warps' sums, a line for each column of the tile, which differ likewise.
  static constexpr int kSumLine = kRows + gpu::kWarpSize / kWidth;
  static constexpr int kNarrow = kLine * (kAlongK ? kWidth : kWidth / 4);

  static constexpr int kLines = kRows / kWarps;        // along k: of a warp
  static constexpr int kSteps = kTileK / kWarpVector;  // and vectors of a lane in each
  static constexpr int kDepth = kTileK / kWarps;       // otherwise: of k, of a warp
  static constexpr int kChunks = kRows / kWarpVector;  // and vectors of a lane for each k
  static_assert(!kAlongK || (kSteps >= 1 && kLines * kWidth <= gpu::kWarpSize), "a lane stores one element");
  static_assert(kAlongK || (kChunks >= 1 && kRows * kWidth % kThreads == 0), "threads store as many elements each");

  struct SharedStorage {
    SharedArray<float, kNarrow> narrow[2];
    SharedArray<float, kAlongK ? 4 : kWarps * kWidth * kSumLine> sums;
  };

  XGEMM_DEVICE static void run(const TileParams& p, SharedStorage& smem) {
    gpu::grid_launch_dependents();
    const Epilogue epilogue = Epilogue::make_early(p);
    int buffer = 0;
    for_each_unit<kTileM, kTileN, kTileK>(p, epilogue.has_product, [&](const Unit& unit) {
      gpu::grid_wait_dependencies();
      const auto store = [&](int row, int column, float sum) {
        store_unit<kConfig, kTileM, kTileN>(epilogue, p, unit, 0, 0, [&](const auto& c) {
          kStreamsB ? c.store(column, row, sum) : c.store(row, column, sum);
        });
      };
      if constexpr (kStreamsB) {
        compute(view_b<kConfig>(p, unit).transposed(), unit.col, view_a<kConfig>(p, unit).transposed(), unit.row,
                unit.depth, smem, buffer, store);
      } else {
        compute(view_a<kConfig>(p, unit), unit.row, view_b<kConfig>(p, unit), unit.col, unit.depth, smem, buffer,
                store);
      }
    });
  }

 private:
  template <class X, class Y, class Store>
  XGEMM_DEVICE static void compute(const X& x, std::int64_t row, const Y& y, std::int64_t column, std::int64_t depth,
                                   SharedStorage& smem, int& buffer, const Store& store) {
    if constexpr (kAlongK) {
      along_k(x, row, y, column, depth, smem, buffer, store);
    } else {
      along_rows(x, row, y, column, depth, smem, buffer, store);
    }
  }

  template <class X, class Y, class Store>
  XGEMM_DEVICE static void along_k(const X& x, std::int64_t row, const Y& y, std::int64_t column, std::int64_t depth,
                                   SharedStorage& smem, int& buffer, const Store& store) {
    const int lane = gpu::lane_index();
    const int line = gpu::warp_index() * kLines;
    using Wide = gpu::Vector<Element, kVector>[kLines][kSteps];
    const auto load = [&](std::int64_t k0, Wide& wide) {
      const auto block = x.template block<kRows, kTileK>(row, k0);
      XGEMM_UNROLL
      for (int l = 0; l < kLines; ++l) {
        XGEMM_UNROLL
        for (int s = 0; s < kSteps; ++s)
          wide[l][s] = block.template load_or_zero<kVector>(line + l, s * kWarpVector + lane * kVector);
      }
    };
    float sums[kLines][kWidth] = {};
    Wide wide, next;
    Share share;
    if (depth > 0) {
      load(0, wide);
      fetch(y.template block<kTileK, kWidth>(0, column), share);
    }
    XGEMM_NO_UNROLL
    for (std::int64_t k0 = 0; k0 < depth; k0 += kTileK) {
      const float* narrow = next_slice<Y::kColumnMajor>(share, smem, buffer);
      if (k0 + kTileK < depth) {
        load(k0 + kTileK, next);
        fetch(y.template block<kTileK, kWidth>(k0 + kTileK, column), share);
      }
      XGEMM_UNROLL
      for (int s = 0; s < kSteps; ++s) {
        XGEMM_UNROLL
        for (int j = 0; j < kWidth; ++j) {
          const auto factors = gpu::read<Space::shared>(reinterpret_cast<const gpu::Vector<float, kVector>*>(
              narrow + j * kLine + s * kWarpVector + lane * kVector));
          XGEMM_UNROLL
          for (int l = 0; l < kLines; ++l) {
            XGEMM_UNROLL
            for (int e = 0; e < kVector; ++e)
              sums[l][j] = gpu::fma(gpu::to_float(wide[l][s][e]), factors[e], sums[l][j]);
          }
        }
      }
      XGEMM_UNROLL
      for (int l = 0; l < kLines; ++l) {
        XGEMM_UNROLL
        for (int s = 0; s < kSteps; ++s) wide[l][s] = next[l][s];
      }
    }
    float mine = 0.0f;
    XGEMM_UNROLL
    for (int l = 0; l < kLines; ++l) {
      XGEMM_UNROLL
      for (int j = 0; j < kWidth; ++j) {
        XGEMM_UNROLL
        for (int distance = gpu::kWarpSize / 2; distance > 0; distance /= 2)
          sums[l][j] += gpu::shuffle_xor(sums[l][j], distance);
        if (lane == l * kWidth + j) mine = sums[l][j];
      }
    }
    if (lane < kLines * kWidth) store(line + lane / kWidth, lane % kWidth, mine);
  }

  template <class X, class Y, class Store>
  XGEMM_DEVICE static void along_rows(const X& x, std::int64_t row, const Y& y, std::int64_t column, std::int64_t depth,
                                      SharedStorage& smem, int& buffer, const Store& store) {
    const int lane = gpu::lane_index();
    const int warp = gpu::warp_index();
    float sums[kWidth][kChunks * kVector] = {};
    XGEMM_NO_UNROLL
    for (std::int64_t k0 = 0; k0 < depth; k0 += kTileK) {
      gpu::Vector<Element, kVector> wide[kDepth][kChunks];
      const auto block = x.template block<kRows, kTileK>(row, k0);
      XGEMM_UNROLL
      for (int k = 0; k < kDepth; ++k) {
        XGEMM_UNROLL
        for (int c = 0; c < kChunks; ++c)
          wide[k][c] = block.template load_or_zero<kVector>(c * kWarpVector + lane * kVector, warp * kDepth + k);
      }
      Share share;
      fetch(y.template block<kTileK, kWidth>(k0, column), share);
      const float* narrow = next_slice<Y::kColumnMajor>(share, smem, buffer);
      XGEMM_UNROLL
      for (int k = 0; k < kDepth; ++k) {
        XGEMM_UNROLL
        for (int q = 0; q < kWidth / 4; ++q) {
          const auto factors = gpu::read<Space::shared>(
              reinterpret_cast<const gpu::Vector<float, 4>*>(narrow + q * kLine + 4 * (warp * kDepth + k)));
          XGEMM_UNROLL
          for (int j = 0; j < 4; ++j) {
            XGEMM_UNROLL
            for (int i = 0; i < kChunks * kVector; ++i)
              sums[4 * q + j][i] =
                  gpu::fma(gpu::to_float(wide[k][i / kVector][i % kVector]), factors[j], sums[4 * q + j][i]);
          }
        }
      }
    }
    // The warps' sums: a column of the tile after the other, for each warp.
    XGEMM_UNROLL
    for (int j = 0; j < kWidth; ++j) {
      XGEMM_UNROLL
      for (int c = 0; c < kChunks; ++c) {
        gpu::Vector<float, kVector> part;
        XGEMM_UNROLL
        for (int e = 0; e < kVector; ++e) part[e] = sums[j][c * kVector + e];
        gpu::write<Space::shared>(
            reinterpret_cast<gpu::Vector<float, kVector>*>(smem.sums.data + (warp * kWidth + j) * kSumLine +
                                                           c * kWarpVector + lane * kVector),
            part);
      }
    }
    gpu::sync_threads();
    XGEMM_UNROLL
    for (int i = 0; i < kRows * kWidth / kThreads; ++i) {
      // Neighbours in C, which are rows of D or, in its transpose, columns.
      const int element = i * kThreads + gpu::thread_index();
      const int r = kStreamsB ? element / kWidth : element % kRows;
      const int j = kStreamsB ? element % kWidth : element / kRows;
      float sum = 0.0f;
      XGEMM_UNROLL
      for (int w = 0; w < kWarps; ++w)
        sum += gpu::read<Space::shared>(smem.sums.data + (w * kWidth + j) * kSumLine + r);
      store(r, j, sum);
    }
    gpu::sync_threads();
  }

  // A thread's elements of a slice of Y. The lanes of a warp go along Y's contiguous axis; in steps of eight of k and
  // four columns, whole sectors, where their way to the planes asks for it.
  static_assert(kTileK * kWidth % kThreads == 0);
  static constexpr int kShare = kTileK * kWidth / kThreads;
  using Share = float[kShare];

  struct Place {
    int k, column;
  };
  template <bool kColumnMajor>
  XGEMM_DEVICE static Place place_of(int i) {
    const int element = i * kThreads + gpu::thread_index();
    if constexpr (!kColumnMajor) return {element / kWidth, element % kWidth};
    if constexpr (kAlongK) return {element % kTileK, element / kTileK};
    const int lane = element % gpu::kWarpSize, block = element / gpu::kWarpSize;
    constexpr int kBlocks = kTileK / 8;
    return {block % kBlocks * 8 + lane % 8, block / kBlocks * 4 + lane / 8};
  }

  template <class Y>
  XGEMM_DEVICE static void fetch(const Y& y, Share& share) {
    XGEMM_UNROLL
    for (int i = 0; i < kShare; ++i) {
      const Place at = place_of<Y::kColumnMajor>(i);
      share[i] = gpu::to_float(y.template load_or_zero<1>(at.k, at.column)[0]);
    }
  }

  // Puts a slice of Y into shared memory. The other buffer may still be read, by threads that are not here yet.
  template <bool kColumnMajor>
  XGEMM_DEVICE static const float* next_slice(const Share& share, SharedStorage& smem, int& buffer) {
    float* const narrow = smem.narrow[buffer].data;
    buffer ^= 1;
    XGEMM_UNROLL
    for (int i = 0; i < kShare; ++i) {
      const auto [k, column] = place_of<kColumnMajor>(i);
      const int at = kAlongK ? column * kLine + k : column / 4 * kLine + 4 * k + column % 4;
      gpu::write<Space::shared>(narrow + at, share[i]);
    }
    gpu::sync_threads();
    return narrow;
  }
};

}  // namespace xgemm::kernels
