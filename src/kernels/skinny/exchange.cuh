// The sums of a vector's tile whose K is shared by the CTAs of a cluster: the first one gets those of the others and
// adds them to its own, in the order of K; of a few vectors at once.
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

template <class Sum, int kRows>
class VectorExchange {
 public:
  static constexpr int kMostSharers = 8;
  // Vectors at once: of a row's sums 16 bytes, which are written together.
  static constexpr int kVectors = 16 / static_cast<int>(sizeof(Sum));
  using RowSums = gpu::Vector<Sum, kVectors>;
  struct SharedStorage {
    RowSums sums[2][kMostSharers - 1][kRows];
  };

  // sharers: CTAs that share K; nothing where it is one. Each by all threads, whose warps have converged.
  XGEMM_DEVICE explicit VectorExchange(int sharers) {
    if (sharers > 1) gpu::cluster_arrive();
  }

  // Whether this CTA has the sums of all after run().
  XGEMM_DEVICE static bool stores(int sharers) { return sharers == 1 || gpu::cluster_rank() == 0; }

  // row: of the tile, whose sums a thread has in this CTA's shared memory; else none.
  XGEMM_DEVICE void run(SharedStorage& smem, int sharers, int row, RowSums* own) {
    if (sharers == 1) return;
    if (turn_ < 0) gpu::cluster_wait();  // all CTAs run now
    turn_ = turn_ == 0 ? 1 : 0;
    const int rank = gpu::cluster_rank();
    if (rank > 0 && row >= 0) {
      struct Words {
        float word[4];
      };
      const auto words = gpu::detail::bit_cast<Words>(gpu::read<gpu::Space::shared>(own));
      gpu::write_remote(reinterpret_cast<float*>(&smem.sums[turn_][rank - 1][row]), 0, words.word[0], words.word[1],
                        words.word[2], words.word[3]);
    }
    gpu::cluster_sync();
    if (rank > 0 || row < 0) return;
    RowSums all = gpu::read<gpu::Space::shared>(own);
    XGEMM_NO_UNROLL
    for (int i = 0; i < sharers - 1; ++i) {
      const RowSums more = gpu::read<gpu::Space::shared>(&smem.sums[turn_][i][row]);
      XGEMM_UNROLL
      for (int v = 0; v < kVectors; ++v) all[v] += more[v];
    }
    gpu::write<gpu::Space::shared>(own, all);
  }

 private:
  int turn_ = -1;
};

}  // namespace xgemm::kernels
