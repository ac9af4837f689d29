// The sums of an ffma_tma tile whose K is shared by consumer groups: each group hands each other one its sums of that
// group's columns; then each adds what it got to its own, in the order of K.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/dtype.cuh"
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
