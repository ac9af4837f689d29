// The sums of a wgmma_tma tile whose K is shared by the CTAs of a cluster: of each chunk of the tile one CTA gets the
// sums of the others, in its ring, which is free after the mainloop, and adds them to its own in the order of the CTAs.
// Then it stores the chunk. Sums travel in fragment order, so threads meet their own positions again.
//
//     every CTA -- rings_free --> the others, which write --> sums_arrived --> adds -- sums_read --> producers
//
// One lane arrives for its warp, after sync_warp() where lanes have read or written.
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
  using Vector = gpu::Vector<float, 4>;

  static constexpr int kChunks = Cta::kGroupColumns / Cta::kChunk;  // of one slab
  static constexpr int kTileChunks = Cta::kSlabs * kChunks;         // of a consumer
  static constexpr int kVectors = Cta::kChunk / 8;                  // of a thread in a chunk

  // acc: of the chunks that this CTA stores, then the sums of all CTAs. phase: of the barriers.
  XGEMM_DEVICE static void run(typename Cta::SharedStorage& smem, const Place& place, unsigned& phase, int group,
                               bool inside, typename Cta::Sums& acc) {
    const int thread = gpu::thread_index() % gpu::kGroupThreads;
    const int others = place.splits - 1;
    const int rounds = (kTileChunks * Cta::kTileGroups + others) / place.splits;  // chunks that a CTA adds up, at most
    const auto buffer = [&](int from, int owner, int chunk) {
      const int part = from < owner ? from : from - 1;
      const int index = part * rounds + Cta::chunk_of_tile(chunk, group) / place.splits;
      return reinterpret_cast<float*>(&smem.slots[0]) + (index * kVectors * gpu::kGroupThreads + thread) * 4;
    };
    const auto sums_of = [&](int chunk) { return &acc[chunk / kChunks][chunk % kChunks * Cta::kChunk / 2]; };

    const int lane = gpu::lane_index();
    const bool has_peer = lane < place.splits && lane != place.split;  // a lane for each
    const int peer = place.rank(place.sharer(), lane);
    if (has_peer) gpu::mbarrier_arrive_remote(smem.rings_free, peer);
    gpu::mbarrier_wait(smem.rings_free, phase);
    if (inside) {
      XGEMM_UNROLL
      for (int chunk = 0; chunk < kTileChunks; ++chunk) {
        const int owner = place.storer(chunk, group);
        if (owner == place.split) continue;
        float* const to = buffer(place.split, owner, chunk);
        const float* const f = sums_of(chunk);
        XGEMM_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          gpu::write_remote(to + v * gpu::kGroupThreads * 4, place.rank(place.sharer(), owner), f[4 * v], f[4 * v + 1],
                            f[4 * v + 2], f[4 * v + 3]);
        }
      }
    }
    gpu::fence_async_shared();  // next the copy engine writes to the ring
    gpu::sync_warp();
    if (has_peer) gpu::mbarrier_arrive_remote_release(smem.sums_arrived, peer);
    gpu::mbarrier_wait_cluster(smem.sums_arrived, phase);
    if (inside) {
      XGEMM_NO_UNROLL
      for (int i = 0; i < others; ++i) {
        const int from = i < place.split ? i : i + 1;
        XGEMM_UNROLL
        for (int chunk = 0; chunk < kTileChunks; ++chunk) {
          if (!place.stores(chunk, group)) continue;
          const float* const part = buffer(from, place.split, chunk);
          float* const f = sums_of(chunk);
          XGEMM_UNROLL
          for (int v = 0; v < kVectors; ++v) {
            const auto more =
                gpu::read<gpu::Space::shared>(reinterpret_cast<const Vector*>(part + v * gpu::kGroupThreads * 4));
            XGEMM_UNROLL
            for (int e = 0; e < 4; ++e) f[4 * v + e] += more[e];
          }
        }
      }
    }
    gpu::sync_warp();
    if (lane < place.sharers) gpu::mbarrier_arrive_remote_release(smem.sums_read, place.rank(lane, place.split));
    phase ^= 1;
  }
};

}  // namespace xgemm::kernels
