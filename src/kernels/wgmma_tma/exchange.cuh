// The sums of a wgmma_tma tile whose K is shared by the CTAs of a cluster: every CTA sends each other CTA of the same
// tile its partial sums of that CTA's columns; then each adds what it got to its own, in the order of K. Sums travel in
// fragment order, so threads meet their own positions again. Every thread arrives for its own sums: one lane for a
// warp, after sync_warp(), would do, but racecheck of compute-sanitizer does not follow that.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/dtype.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/target.cuh"
#include "kernels/wgmma_tma/cta.cuh"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig>
struct WgmmaTmaExchange {
  using Cta = WgmmaTmaCta<kConfig>;
  using Place = typename Cta::Place;

  static constexpr int kSlabs = Cta::kSlabs;
  static constexpr int kSplits = Cta::kSplits;
  static constexpr int kRegisters = Cta::kSplitColumns / 2;  // of a slab
  static constexpr int kVectors = kRegisters / 4;

  XGEMM_DEVICE static void run(typename Cta::SharedStorage& smem, const Place& place, unsigned& phase, int group,
                               const typename Cta::Sums& acc, float (&sums)[kSlabs][kRegisters]) {
    const int thread = gpu::thread_index() % gpu::kGroupThreads;
    const int mine = place.split;
    const int sharer = gpu::cluster_rank() - mine * place.sharers;
    gpu::mbarrier_wait(smem.partial_empty, phase ^ 1);
    XGEMM_UNROLL
    for (int to = 0; to < kSplits; ++to) {
      if (to == mine) continue;
      float(*part)[gpu::kGroupThreads][4] = smem.partial[mine < to ? mine : mine - 1][group];
      const int rank = place.rank(sharer, to);
      XGEMM_UNROLL
      for (int i = 0; i < kSlabs; ++i) {
        XGEMM_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          const float* f = &acc[i][to * kRegisters + 4 * v];
          gpu::write_remote(part[i * kVectors + v][thread], rank, f[0], f[1], f[2], f[3]);
        }
      }
      gpu::mbarrier_arrive_remote_release(smem.partial_full, rank);
    }
    gpu::mbarrier_wait_cluster(smem.partial_full, phase);
    XGEMM_UNROLL
    for (int own = 0; own < kSplits; ++own) {  // registers are chosen at compile time
      if (own != mine) continue;
      XGEMM_UNROLL
      for (int i = 0; i < kSlabs; ++i) {
        XGEMM_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          XGEMM_UNROLL
          for (int from = 0; from < kSplits; ++from) {
            gpu::Vector<float, 4> part;
            if (from == own) {
              XGEMM_UNROLL
              for (int e = 0; e < 4; ++e) part[e] = acc[i][own * kRegisters + 4 * v + e];
            } else {
              part = gpu::read<gpu::Space::shared>(reinterpret_cast<const gpu::Vector<float, 4>*>(
                  smem.partial[from < own ? from : from - 1][group][i * kVectors + v][thread]));
            }
            XGEMM_UNROLL
            for (int e = 0; e < 4; ++e) sums[i][4 * v + e] = from == 0 ? part[e] : sums[i][4 * v + e] + part[e];
          }
        }
      }
    }
    XGEMM_UNROLL
    for (int from = 0; from < kSplits; ++from) {
      if (from != mine) gpu::mbarrier_arrive_remote(smem.partial_empty, place.rank(sharer, from));
    }
    phase ^= 1;
  }
};

}  // namespace xgemm::kernels
