// The sums of a tile whose K is shared by the CTAs of a cluster: the first one gets those of the others and adds them
// to its own, in the order of K.
//
//     all CTAs: started --> write to the first one --> meet --> the first one adds
//
// Two buffers in turn: what has been read of the one is known when all have met over the other.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/dtype.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

// kEntries: of 16 bytes each, which a thread has and which are written together. kMostSharers: CTAs that share K.
template <class Sum, int kEntries, int kMostSharers = 8>
class VectorExchange {
 public:
  using Entry = gpu::Vector<Sum, 16 / static_cast<int>(sizeof(Sum))>;
  struct SharedStorage {
    Entry sums[2][kMostSharers - 1][kEntries];
  };

  // sharers: CTAs that share K; nothing where it is one. Each by all threads, whose warps have converged.
  XGEMM_DEVICE explicit VectorExchange(int sharers) {
    if (sharers > 1) gpu::cluster_arrive();
  }

  // Whether this CTA has the sums of all after run().
  XGEMM_DEVICE static bool stores(int sharers) { return sharers == 1 || gpu::cluster_rank() == 0; }

  // entry: which one a thread has of this CTA's sums, own; negative, where it has none.
  XGEMM_DEVICE Entry run(SharedStorage& smem, int sharers, int entry, Entry own) {
    if (sharers == 1) return own;
    if (turn_ < 0) gpu::cluster_wait();  // all CTAs run now
    turn_ = turn_ == 0 ? 1 : 0;
    const int rank = gpu::cluster_rank();
    if (rank > 0 && entry >= 0) {
      struct Words {
        float word[4];
      };
      const auto words = gpu::detail::bit_cast<Words>(own);
      gpu::write_remote(reinterpret_cast<float*>(&smem.sums[turn_][rank - 1][entry]), 0, words.word[0], words.word[1],
                        words.word[2], words.word[3]);
    }
    gpu::cluster_sync();
    if (rank > 0 || entry < 0) return own;
    XGEMM_NO_UNROLL
    for (int i = 0; i < sharers - 1; ++i) {
      const Entry more = gpu::read<gpu::Space::shared>(&smem.sums[turn_][i][entry]);
      XGEMM_UNROLL
      for (int v = 0; v < static_cast<int>(sizeof(Entry) / sizeof(Sum)); ++v) own[v] += more[v];
    }
    return own;
  }

 private:
  int turn_ = -1;
};

}  // namespace xgemm::kernels
