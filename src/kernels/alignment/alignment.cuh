// alignment: before a product whose matrices are found by pointers (Entries), one CTA looks whether all of them start
// where the copy engine and vectors of 16 bytes may. Which kernel computes the product goes by what it finds
// (Condition): the host does not know what the pointers will be when the work runs.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/alignment/params.h"
#include "kernels/common/sm90/cluster.cuh"
#include "kernels/common/smem.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

struct Alignment {
  using Params = AlignmentParams;
  static constexpr int kThreads = Params::kThreads;
  static constexpr int kMinBlocksPerSm = 1;
  static constexpr int kWarps = kThreads / gpu::kWarpSize;

  struct SharedStorage {
    SharedArray<unsigned, kWarps> of_warps;
  };

  XGEMM_DEVICE static void run(const Params& p, SharedStorage& smem) {
    if constexpr (gpu::kArch >= 900) {
      gpu::grid_launch_dependents();
      gpu::grid_wait_dependencies();
    }
    constexpr std::uint64_t kOffVector = 15;
    std::uint64_t bits = 0;
    for (int array = 0; array < p.count; ++array) {
      for (std::int64_t i = gpu::thread_index(); i < p.entries; i += kThreads)
        bits |= gpu::read<gpu::Space::global>(p.arrays[array] + i);
    }
    unsigned off = (bits & kOffVector) != 0 ? 1 : 0;
    XGEMM_UNROLL
    for (int distance = gpu::kWarpSize / 2; distance > 0; distance /= 2) off |= gpu::shuffle_xor(off, distance);
    if (gpu::lane_index() == 0) gpu::write<gpu::Space::shared>(smem.of_warps.data + gpu::warp_index(), off);
    gpu::sync_threads();
    if (gpu::warp_index() != 0) return;
    static_assert(kWarps == gpu::kWarpSize);
    off = gpu::read<gpu::Space::shared>(smem.of_warps.data + gpu::lane_index());
    XGEMM_UNROLL
    for (int distance = gpu::kWarpSize / 2; distance > 0; distance /= 2) off |= gpu::shuffle_xor(off, distance);
    if (gpu::lane_index() == 0) gpu::write<gpu::Space::global>(p.off_vectors, off);
  }
};

}  // namespace xgemm::kernels
