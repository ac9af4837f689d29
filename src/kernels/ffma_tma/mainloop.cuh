// The mainloop of an ffma_tma consumer: slots of the ring to sums in registers.
//
// A thread has thread_m x thread_n sums, in chunks of four rows and four columns that interleave over the lanes, so
// that the lanes of a warp read neighbouring chunks. Operands of the next k are on their way while those of this one
// are multiplied.
//
// The sums of a column are visited one way, of the next one the other: a factor stays in the operand cache. Registers
// lie in two banks, of even and of odd numbers, of which each gives one operand a cycle, balanced over two
// instructions. So two operands of each product are left to read, and whether neighbouring products ask both banks
// alike decides, and how often a third one is to be read, which costs a cycle: the assembler puts products in an order
// of its own around the loads. Barriers to that cost more: a branch around the products of each k 6 to 15 %.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/target.cuh"
#include "kernels/ffma_tma/cta.cuh"

namespace xgemm::kernels {

// Where a thread finds its chunks of one operand in a slot. kLanes: of the warp, along the operand's axis m or n.
template <int kLanes, int kThread, int kPanelFloats>
struct FfmaTmaFragmentReader {
  static constexpr int kChunks = kThread / 4;
  // Chunks of a thread lie kLanes apart. Where that is half a panel, every other one is in the half that the exclusive
  // or with k exchanges: a distance that only depends on k.
  static constexpr bool kHalves = kLanes == 4;
  static_assert(kLanes == 8 || kHalves);
  static constexpr int kPeriod = kHalves ? 4 : 8;

  int at[kPeriod];  // of the first chunk, by k modulo kPeriod; in bytes, without the row

  XGEMM_DEVICE static FfmaTmaFragmentReader make(int lane, int first) {
    const int start = 4 * first + 16 * lane;
    FfmaTmaFragmentReader r;
    XGEMM_UNROLL
    for (int k = 0; k < kPeriod; ++k) r.at[k] = gpu::opaque(start ^ (16 * k));  // kept, not worked out again
    return r;
  }

  // rows: of the slot, from a multiple of eight k on.
  XGEMM_DEVICE void read(const float* rows, int k, float (&fragment)[kThread]) const {
    XGEMM_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      const int panel = kHalves ? c / 2 : c;
      const int half = kHalves ? ((c & 1) ^ (k >> 2 & 1)) * 64 : 0;
      const auto chunk = gpu::read<gpu::Space::shared>(reinterpret_cast<const gpu::Vector<float, 4>*>(
          reinterpret_cast<const unsigned char*>(rows) + at[k % kPeriod] +
          (panel * (4 * kPanelFloats) + k * FfmaTmaConfig::kRowBytes + half)));
      XGEMM_UNROLL
      for (int e = 0; e < 4; ++e) fragment[4 * c + e] = chunk[e];
    }
  }
};

// kFollows: beside an epilogue that finds its matrices by pointers.
template <FfmaTmaConfig kConfig, bool kFollows>
struct FfmaTmaMainloop {
  using Cta = FfmaTmaCta<kConfig>;
  using SharedStorage = typename Cta::SharedStorage;
  static constexpr int kBlock = kConfig.turn();
  static constexpr int kThreadSums = Cta::kThreadM * Cta::kThreadN;
  // Which column comes first, and its way: those with which the assembler's order turns out faster, as timed.
  static constexpr bool kFromLast = kConfig.ctas_per_sm > 1 && Cta::kGroups > 1 && kThreadSums == 64;
  static constexpr bool kBackwards =
      kConfig.ctas_per_sm == 1 && (Cta::kGroups > 2 || (kConfig.many_sums() && kFollows));
  static constexpr int kTurns = Cta::kDepth / kBlock;  // for a slot
  static_assert(Cta::kDepth % kBlock == 0);
  using ReaderA = FfmaTmaFragmentReader<kConfig.lanes_m, Cta::kThreadM, Cta::kPanelFloats>;
  using ReaderB = FfmaTmaFragmentReader<kConfig.lanes_n(), Cta::kThreadN, Cta::kPanelFloats>;

  ReaderA a;
  ReaderB b;

  // row, column: of the warp in the CTA tile.
  XGEMM_DEVICE static FfmaTmaMainloop make(int group, int row, int column, int lane_m, int lane_n) {
    const int rows_of_k = group * Cta::kDepth * Cta::kPanel;
    return {ReaderA::make(lane_m, row * Cta::kTileK + rows_of_k),
            ReaderB::make(lane_n, Cta::kBFloats + column * Cta::kTileK + rows_of_k)};
  }

  // Adds the products of the next slots, of this group's rows of them. Rows of the last slot beyond `depth` of K are
  // zeros, which are left out by whole turns of the loop.
  XGEMM_DEVICE void run(SharedStorage& smem, typename Cta::Ring& ring, int group, std::int64_t depth,
                        typename Cta::Sums& sums) const {
    // Of the last k of a slot, operands are multiplied after the wait for the next slot, whose first ones come
    // meanwhile. The slot is held until then: until registers that its last reads fill are read into again. The last
    // one is held over the epilogue.
    Fragments f[2] = {};
    const int slices = Cta::slices(depth);
    const int rows_of_last = static_cast<int>(depth) - (slices - 1) * Cta::kTileK - group * Cta::kDepth;
    const bool skips_last = Cta::kGroups > 1 && rows_of_last <= 0 && slices > 0;
    const int turns_of_last =
        rows_of_last <= 0 || rows_of_last >= Cta::kDepth ? kTurns : (rows_of_last + kBlock - 1) / kBlock;
    Cta::release_last(smem, ring);
    XGEMM_NO_UNROLL
    for (int left = slices - (skips_last ? 1 : 0); left > 0; --left) {
      // A loop of its own: what comes after it is uniform, and slots are addressed by uniform registers.
      gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
      const float* rows = smem.slots[ring.slot];
      int turns = left > 1 ? kTurns : turns_of_last;
      XGEMM_NO_UNROLL
      do {
        read(rows, 0, f[0]);
        multiply(f[1], sums);
        XGEMM_UNROLL
        for (int k = 0; k < kBlock - 1; ++k) {
          read(rows, k + 1, f[(k + 1) % 2]);
          multiply(f[k % 2], sums);
        }
        rows += kBlock * Cta::kPanel;
        Cta::release_held(smem, ring);
      } while (kTurns > 1 && --turns > 0);
      ring.held = ring.slot;
      ring.next();
    }
    if (skips_last) {
      gpu::mbarrier_wait(smem.full[ring.slot], ring.phase);
      ring.unread = ring.slot;
      ring.next();
    }
    multiply(f[1], sums);
  }

 private:
  struct Fragments {
    float a[Cta::kThreadM];
    float b[Cta::kThreadN];
  };

  XGEMM_DEVICE void read(const float* rows, int k, Fragments& f) const {
    if constexpr (kFromLast) b.read(rows, k, f.b);
    a.read(rows, k, f.a);
    if constexpr (!kFromLast) b.read(rows, k, f.b);
  }

  XGEMM_DEVICE static void multiply(const Fragments& f, typename Cta::Sums& sums) {
    XGEMM_UNROLL
    for (int column = 0; column < Cta::kThreadN; ++column) {
      const int j = kFromLast ? Cta::kThreadN - 1 - column : column;
      XGEMM_UNROLL
      for (int step = 0; step < Cta::kThreadM; ++step) {
        const int i = j % 2 == (kBackwards ? 1 : 0) ? step : Cta::kThreadM - 1 - step;
        sums[j][i] = gpu::fma(f.a[i], f.b[j], sums[j][i]);
      }
    }
  }
};

}  // namespace xgemm::kernels
