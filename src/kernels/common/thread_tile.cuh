// ThreadTile: the part of a CTA tile that one thread computes, as outer products of fragments read from shared memory.
//
// A thread owns thread_m x thread_n elements of C as chunks of 4 x 4. Chunks of one thread are kLanesM * 4 rows and
// kLanesN * 4 columns apart, so that the chunks of neighbouring lanes are neighbours in shared memory and in C:
//
//                    lane_n 0      lane_n 1 ...                warp tile of an 8 x 8 thread tile, 8 x 4 lanes:
//     lane_m 0   | c00 . . .   | . . . .                       64 x 32, the chunks (0, 0), (1, 0), (0, 1), (1, 1) of a
//     lane_m 1   | c10 . . .   | . . . .                       thread at (+0, +0), (+32, +0), (+0, +16), (+32, +16)
//      ...
//
// Reading a fragment of A, eight lanes take 8 x 16 bytes in a row: all 32 banks, once. Lanes that share a row get the
// same words by broadcast. Storing C, the lanes of a column write whole sectors.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/kernel.cuh"

namespace xgemm::kernels {

template <TileConfig kConfig>
struct ThreadTile {
  using Element = gpu::ElementOf<kConfig.type>;
  static constexpr int kM = kConfig.thread_m;
  static constexpr int kN = kConfig.thread_n;
  static constexpr int kChunk = 4;
  static_assert(kM % kChunk == 0 && kN % kChunk == 0, "fragments are read four elements at a time");
  static constexpr int kChunksM = kM / kChunk;
  static constexpr int kChunksN = kN / kChunk;

  // The wider axis of the thread tile gets fewer lanes: the squarer the warp tile, the fewer bytes it reads.
  static constexpr int kLanesM = kM > kN ? 4 : 8;
  static constexpr int kLanesN = gpu::kWarpSize / kLanesM;
  static constexpr int kWarpM = kLanesM * kM;
  static constexpr int kWarpN = kLanesN * kN;
  static constexpr int kWarpsM = kConfig.cta_m / kWarpM;
  static_assert(kConfig.cta_m % kWarpM == 0 && kConfig.cta_n % kWarpN == 0, "warp tiles cover the CTA tile exactly");

  float acc[kN][kM];

  // The thread's first row and column within the CTA tile.
  int row;
  int col;

  XGEMM_DEVICE ThreadTile() {
    const int lane = gpu::lane_index(), warp = gpu::warp_index();
    row = warp % kWarpsM * kWarpM + lane % kLanesM * kChunk;
    col = warp / kWarpsM * kWarpN + lane / kLanesM * kChunk;
  }

  XGEMM_DEVICE void clear() {
    XGEMM_UNROLL
    for (int j = 0; j < kN; ++j) {
      XGEMM_UNROLL
      for (int i = 0; i < kM; ++i) acc[j][i] = 0.0f;
    }
  }

  // A column of A's tile and a row of B's, as fp32.
  struct Fragment {
    float a[kM];
    float b[kN];
  };

  // a_tile is cta_m x cta_k with m contiguous, b_tile is cta_k x cta_n with n contiguous.
  template <class TileA, class TileB>
  XGEMM_DEVICE void load(Fragment& f, const TileA& a_tile, const TileB& b_tile, int k, Loc loc = Loc::current()) const {
    static_assert(TileA::kColumnMajor && TileB::kRowMajor, "fragments are read along m and n");
    XGEMM_UNROLL
    for (int c = 0; c < kChunksM; ++c) {
      const auto v = a_tile.template load<kChunk>(row + c * kLanesM * kChunk, k, loc);
      XGEMM_UNROLL
      for (int e = 0; e < kChunk; ++e) f.a[c * kChunk + e] = gpu::to_float(v[e]);
    }
    XGEMM_UNROLL
    for (int c = 0; c < kChunksN; ++c) {
      const auto v = b_tile.template load<kChunk>(k, col + c * kLanesN * kChunk, loc);
      XGEMM_UNROLL
      for (int e = 0; e < kChunk; ++e) f.b[c * kChunk + e] = gpu::to_float(v[e]);
    }
  }

  // acc += a b^T. Every other column upwards: the last row of one column is the first of the next, and the operand of
  // one FFMA stays in the reuse cache for the next.
  XGEMM_DEVICE void multiply(const Fragment& f) {
    XGEMM_UNROLL
    for (int j = 0; j < kN; ++j) {
      XGEMM_UNROLL
      for (int e = 0; e < kM; ++e) {
        const int i = j % 2 == 0 ? e : kM - 1 - e;
        acc[j][i] = gpu::fma(f.a[i], f.b[j], acc[j][i]);
      }
    }
  }

  // All of a slice.
  template <class TileA, class TileB>
  XGEMM_DEVICE void multiply(const TileA& a_tile, const TileB& b_tile, Loc loc = Loc::current()) {
    XGEMM_UNROLL
    for (int k = 0; k < kConfig.cta_k; ++k) {
      Fragment f;
      load(f, a_tile, b_tile, k, loc);
      multiply(f);
    }
  }

  // The same, with the fragment of the next k read while this one is multiplied.
  template <class TileA, class TileB>
  XGEMM_DEVICE void multiply_ahead(const TileA& a_tile, const TileB& b_tile, Loc loc = Loc::current()) {
    Fragment f[2];
    load(f[0], a_tile, b_tile, 0, loc);
    XGEMM_UNROLL
    for (int k = 0; k < kConfig.cta_k; ++k) {
      if (k + 1 < kConfig.cta_k) load(f[(k + 1) % 2], a_tile, b_tile, k + 1, loc);
      multiply(f[k % 2]);
    }
  }

  // A column of each thread's.
  static constexpr int kColumns = kConfig.cta_n / kN;
  struct Columns {
    SharedArray<float, kConfig.cta_m * kColumns> sums;
  };

  // To the tile of C that is the CTA's. By all threads; of shared memory that is idle, and is left so.
  template <class Output>
  XGEMM_DEVICE void store(const Output& c, Columns& columns, Loc loc = Loc::current()) const {
    constexpr int kWidth = Output::kVector < kChunk ? Output::kVector : kChunk;
    // A whole tile, the usual case, needs no test per vector; nor does it read C when beta is 0.
    if (c.view().rows() == kConfig.cta_m && c.view().cols() == kConfig.cta_n && c.contains_all() && !c.reads_c()) {
      for_each_vector<kWidth>([&](int i, int j, const float(&values)[kWidth]) {
        c.view().template store<kWidth>(i, j, c.template finish<kWidth>(i, j, values, {}), loc);
      });
    } else {
      store_columns<kWidth>(c, columns, loc);
    }
  }

 private:
  // Column after column of the threads' through shared memory: in a loop, as what has to be asked for each vector would
  // take most of a kernel's code if it stood there for all of them.
  template <int kWidth, class Output>
  XGEMM_DEVICE void store_columns(const Output& c, Columns& columns, Loc loc) const {
    const auto staged = shared_view<kConfig.cta_m, kColumns, 1, kConfig.cta_m>(columns.sums.data);
    const int own = col / kWarpN * kLanesN + col % kWarpN / kChunk;
    XGEMM_NO_UNROLL
    for (int column = 0; column < kN; ++column) {
      XGEMM_UNROLL
      for (int j = 0; j < kN; ++j) {
        if (j != column) continue;
        XGEMM_UNROLL
        for (int i = 0; i < kM; i += kChunk)
          staged.template store<kChunk>(
              row + i * kLanesM, own,
              gpu::Vector<float, kChunk>{{acc[j][i], acc[j][i + 1], acc[j][i + 2], acc[j][i + 3]}});
      }
      gpu::sync_threads();
      constexpr int kPerColumn = kConfig.cta_m / kWidth;
      XGEMM_NO_UNROLL
      for (int v = gpu::thread_index(); v < kPerColumn * kColumns; v += kConfig.threads()) {
        const int i = v % kPerColumn * kWidth, of = v / kPerColumn;
        const auto sums = staged.template load<kWidth>(i, of);
        c.template store<kWidth>(
            i, of / kLanesN * kWarpN + (column / kChunk * kLanesN + of % kLanesN) * kChunk + column % kChunk, sums.data,
            loc);
      }
      gpu::sync_threads();
    }
  }

  // Calls f(row, column, values) for each vector down a column of the thread's part of C.
  template <int kWidth, class F>
  XGEMM_DEVICE void for_each_vector(const F& f) const {
    XGEMM_UNROLL
    for (int j = 0; j < kN; ++j) {
      XGEMM_UNROLL
      for (int i = 0; i < kM; i += kWidth) {
        float values[kWidth];
        XGEMM_UNROLL
        for (int e = 0; e < kWidth; ++e) values[e] = acc[j][i + e];
        f(row + i / kChunk * kLanesM * kChunk + i % kChunk, col + j / kChunk * kLanesN * kChunk + j % kChunk, values);
      }
    }
  }
};

// Slices of A and B in shared memory, in the order in which fragments are read: m and n contiguous. An operand that is
// contiguous along k is transposed on the way in.
template <TileConfig kConfig>
struct SliceLayout {
  using Element = gpu::ElementOf<kConfig.type>;
  static constexpr bool kTransposeA = kConfig.a_contiguous == layout::Axis::col;
  static constexpr bool kTransposeB = kConfig.b_contiguous == layout::Axis::row;

  // A warp of a transposing loader takes one sector (32 bytes along k) from each of as many lines as it has lanes left.
  // Four elements of padding per k move the parts of a sector to banks that the lines leave free: no conflicts, and
  // fragments stay aligned.
  static constexpr int kSector = 32 / sizeof(Element);
  static constexpr int kRun = kConfig.cta_k < kSector ? kConfig.cta_k : kSector;
  static constexpr int kPadding = 4;
  static constexpr int kStrideA = kConfig.cta_m + (kTransposeA ? kPadding : 0);
  static constexpr int kStrideB = kConfig.cta_n + (kTransposeB ? kPadding : 0);

  using LoaderA = TileLoader<Element, kConfig.cta_m, kConfig.cta_k, contiguous(kConfig.a_contiguous), kConfig.vector,
                             kConfig.threads(), kTransposeA ? kRun : kConfig.cta_m>;
  using LoaderB = TileLoader<Element, kConfig.cta_k, kConfig.cta_n, contiguous(kConfig.b_contiguous), kConfig.vector,
                             kConfig.threads(), kTransposeB ? kRun : kConfig.cta_n>;

  struct Storage {
    SharedArray<Element, kStrideA * kConfig.cta_k> a;
    SharedArray<Element, kStrideB * kConfig.cta_k> b;
  };

  XGEMM_DEVICE static auto tile_a(Storage& slice) {
    return shared_view<kConfig.cta_m, kConfig.cta_k, 1, kStrideA>(slice.a.data);
  }
  XGEMM_DEVICE static auto tile_b(Storage& slice) {
    return shared_view<kConfig.cta_k, kConfig.cta_n, kStrideB, 1>(slice.b.data);
  }
};

// CTAs that share an SM, by the registers of a thread: its accumulators, two fragments, what it holds of slices in
// flight, and the rest. Addresses of cp.async vectors are few; where every element has its own, they need room.
template <TileConfig kConfig>
constexpr int min_blocks_for_thread_tile() {
  using Slice = SliceLayout<kConfig>;
  constexpr bool kAsync = kConfig.copy == Copy::async;
  int in_flight = 0;
  if (Slice::kTransposeA || !kAsync) in_flight += kConfig.cta_m * kConfig.cta_k;
  if (Slice::kTransposeB || !kAsync) in_flight += kConfig.cta_n * kConfig.cta_k;
  const int rest = kAsync && kConfig.vector > 1 ? 14 : 40;
  const int registers = kConfig.thread_m * kConfig.thread_n + 2 * (kConfig.thread_m + kConfig.thread_n) +
                        in_flight / kConfig.threads() + rest;
  const int blocks = 65536 / (kConfig.threads() * (registers < 64 ? 64 : registers));
  return blocks > 1 ? blocks : 1;
}

}  // namespace xgemm::kernels
