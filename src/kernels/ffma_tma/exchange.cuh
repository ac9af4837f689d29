// The sums of an ffma_tma tile whose K is shared by consumer groups: each group hands each other one its sums of that
// group's columns; then each adds what it got to its own, in the order of K. And by CTAs of a cluster: each warp hands
// its share to the one that adds up those of all CTAs, in the order of CTAs, to its own.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/dtype.cuh"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/target.cuh"
#include "kernels/ffma_tma/cta.cuh"

namespace xgemm::kernels {

template <FfmaTmaConfig kConfig>
struct FfmaTmaExchange {
  using Cta = FfmaTmaCta<kConfig>;
  static constexpr int kGroups = Cta::kGroups, kShareN = Cta::kShareN;
  static constexpr int kRowVectors = Cta::kThreadM / 4;
  using Share = float[kShareN][Cta::kThreadM];

  // By all consumers. `thread`: of the group.
  XGEMM_DEVICE static void run(typename Cta::SharedStorage& smem, int group, int thread, const typename Cta::Sums& sums,
                               Share& share) {
    gpu::named_barrier_sync(1, Cta::kConsumerThreads);  // what the last tile left has been read
    XGEMM_UNROLL
    for (int to = 0; to < kGroups; ++to) {
      if (to == group) continue;
      auto& part = smem.exchange[to][group < to ? group : group - 1];
      for_each_vector([&](int v, int j, int i) {
        const float* f = &sums[to * kShareN + j][i];
        gpu::write<gpu::Space::shared>(reinterpret_cast<gpu::Vector<float, 4>*>(part[v][thread]),
                                       gpu::Vector<float, 4>{{f[0], f[1], f[2], f[3]}});
      });
    }
    gpu::named_barrier_sync(1, Cta::kConsumerThreads);
    XGEMM_UNROLL
    for (int own = 0; own < kGroups; ++own) {  // registers are chosen at compile time
      if (own != group) continue;
      for_each_vector([&](int v, int j, int i) {
        XGEMM_UNROLL
        for (int from = 0; from < kGroups; ++from) {
          gpu::Vector<float, 4> part;
          if (from == own) {
            XGEMM_UNROLL
            for (int e = 0; e < 4; ++e) part[e] = sums[own * kShareN + j][i + e];
          } else {
            part = gpu::read<gpu::Space::shared>(reinterpret_cast<const gpu::Vector<float, 4>*>(
                smem.exchange[own][from < own ? from : from - 1][v][thread]));
          }
          XGEMM_UNROLL
          for (int e = 0; e < 4; ++e) share[j][i + e] = from == 0 ? part[e] : share[j][i + e] + part[e];
        }
      });
    }
  }

  // By a consumer warp, of CTAs that share K. Whether the share has all sums now; else another CTA has.
  XGEMM_DEVICE static bool run_in_cluster(typename Cta::SharedStorage& smem, unsigned sharers, int warp, Share& share) {
    const unsigned rank = gpu::block_x() & (sharers - 1), owner = warp & (sharers - 1);
    const int lane = gpu::lane_index(), others = static_cast<int>(sharers) - 1;
    // Parts of the warps that a CTA adds up lie one after the other.
    auto* const parts = &smem.of_cluster[warp - static_cast<int>(owner)];
    if (rank != owner) {
      float* const part = parts[rank < owner ? rank : rank - 1];
      for_each_vector([&](int v, int j, int i) {
        const auto word = [&](int e) { return gpu::detail::bit_cast<unsigned>(share[j][i + e]); };
        gpu::write_remote_async(reinterpret_cast<unsigned*>(part + (v * gpu::kWarpSize + lane) * 4),
                                smem.sums_arrived[warp], static_cast<int>(owner), word(0), word(1), word(2), word(3));
      });
      return false;
    }
    if (lane == 0) gpu::mbarrier_arrive_expect(smem.sums_arrived[warp], others * kConfig.warp_sums() * 4);
    gpu::mbarrier_wait(smem.sums_arrived[warp], 0);
    XGEMM_NO_UNROLL
    for (int from = 0; from < others; ++from) {
      for_each_vector([&](int v, int j, int i) {
        const auto part = gpu::read<gpu::Space::shared>(
            reinterpret_cast<const gpu::Vector<float, 4>*>(parts[from] + (v * gpu::kWarpSize + lane) * 4));
        XGEMM_UNROLL
        for (int e = 0; e < 4; ++e) share[j][i + e] += part[e];
      });
    }
    return true;
  }

 private:
  // The vectors of four rows of a share.
  template <class G>
  XGEMM_DEVICE static void for_each_vector(const G& g) {
    XGEMM_UNROLL
    for (int j = 0; j < kShareN; ++j) {
      XGEMM_UNROLL
      for (int i = 0; i < kRowVectors; ++i) g(j * kRowVectors + i, j, 4 * i);
    }
  }
};

}  // namespace xgemm::kernels
