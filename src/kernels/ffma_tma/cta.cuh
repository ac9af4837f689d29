// What the roles of an ffma_tma CTA share: the ring of slots in shared memory, its barriers, and the layout of a slot.
//
// A slot holds a slice of A and one of B, each as panels of 32 columns of m (or n). A panel has a row of 128 bytes for
// each k, whose chunks of 16 bytes are permuted by an exclusive or with k: what TMA calls its 128-byte swizzle, and
// what makes accesses along either axis free of bank conflicts.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/dtype.cuh"
#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/target.cuh"
#include "kernels/ffma_tma/config.h"
#include "kernels/ffma_tma/params.h"

namespace xgemm::kernels {

template <FfmaTmaConfig kConfig>
struct FfmaTmaCta {
  static constexpr int kTileM = kConfig.cta_m, kTileN = kConfig.cta_n, kTileK = kConfig.cta_k();
  static constexpr int kDepth = kConfig.depth;
  static constexpr int kStages = kConfig.stages;
  static constexpr int kProducerWarps = FfmaTmaConfig::kProducerThreads / 32;
  static constexpr int kGroups = kConfig.groups();
  static constexpr int kConsumerThreads = 32 * kConfig.consumer_warps;
  static constexpr int kGroupThreads = 32 * kConfig.group_warps();
  static constexpr int kPanel = FfmaTmaConfig::kPanel;
  static constexpr int kPanelFloats = kTileK * kPanel;
  static constexpr int kSlotFloats = kConfig.slot_bytes() / 4;
  static constexpr int kBFloats = kTileK * kConfig.slot_m();  // where the slice of B begins in a slot
  static constexpr int kThreadM = kConfig.thread_m, kThreadN = kConfig.thread_n;
  static constexpr int kShareN = kThreadN / kGroups;  // columns of a thread that a group sums up and stores

  static_assert(kTileM % kConfig.warp_m() == 0 && kTileN % kConfig.warp_n() == 0, "warps divide the tile");
  static constexpr bool begins_on_panels(int tile, int warp) { return tile == warp || warp % kPanel == 0; }
  static_assert(begins_on_panels(kTileM, kConfig.warp_m()) && begins_on_panels(kTileN, kConfig.warp_n()));
  static_assert(kGroups * kConfig.group_warps() == kConfig.consumer_warps, "all consumer warps have work");
  static_assert(kThreadN % kGroups == 0, "groups share the columns of a tile");
  static_assert(kStages >= kProducerWarps, "a barrier knows two phases: a team must not be further ahead");
  static_assert(FfmaTmaConfig::kProducerThreads * kConfig.producer_registers() +
                        kConsumerThreads * kConfig.consumer_registers() <=
                    kConfig.threads() * kConfig.start_registers(),
                "else consumers wait for registers for ever");
  static_assert(kDepth % 8 == 0 && kTileK <= 256, "whole periods of the swizzle; extent of a TMA box");

  using Sums = float[kThreadN][kThreadM];

  struct SharedStorage {
    alignas(1024) float slots[kStages][kSlotFloats];
    // The sums of each warp (staged_output.cuh).
    alignas(kConfig.stages_c() ? 1024 : 4) float stage_c[kConfig.stages_c() ? kConfig.consumer_warps : 1]
                                                        [kConfig.stages_c() ? kConfig.warp_m() * kConfig.warp_n() : 1];
    // For each group what the others have summed of its columns; vectors of a thread lie kGroupThreads apart.
    alignas(16) float exchange[kGroups][kGroups > 1 ? kGroups - 1 : 1][kGroups > 1 ? kShareN* kThreadM / 4 : 1]
                              [kGroups > 1 ? kGroupThreads : 1][4];
    // Of CTAs that share K: what the others have summed of the warps whose sums this one adds up.
    alignas(16) float of_cluster[kConfig.shares_k() ? kConfig.consumer_warps - 1 : 1]
                                [kConfig.shares_k() ? kConfig.warp_sums() : 1];
    gpu::Mbarrier sums_arrived[kConfig.consumer_warps];
    gpu::Mbarrier landed[kStages];  // what is to be turned
    gpu::Mbarrier full[kStages];
    gpu::Mbarrier empty[kStages];
  };
  static_assert(sizeof(SharedStorage) <= static_cast<std::size_t>(kConfig.shared_bytes()));
  static_assert(kConfig.ctas_per_sm * (sizeof(SharedStorage) + 1024) <= FfmaTmaConfig::kMaxSharedBytes + 1024,
                "a CTA's own and what the system has of it");

  // By one thread. A slot is full when each operand's slice has come. Of words each thread of the team says when its
  // own are there; a warp announces what TMA brings for it, and says what it has turned. bulk_warps: of a team, where
  // there are no words. strays: each thread says so once more, of what comes by words in place of TMA.
  template <class Params>
  XGEMM_DEVICE static void init_barriers(SharedStorage& smem, const Params& p, int bulk_warps, bool strays) {
    const auto either = [&](PanelLoad load) { return p.a_load == load || p.b_load == load ? 1 : 0; };
    const int words = (by_words(p.a_load) ? 1 : 0) + (by_words(p.b_load) ? 1 : 0);
    const int stray = strays ? gpu::kWarpSize : 0;
    const int warps = words != 0 ? kConfig.team_warps(true) : bulk_warps;
    const int arrivals = either(PanelLoad::turned) != 0
                             ? either(PanelLoad::bulk) + 1 + stray
                             : warps * (either(PanelLoad::bulk) + words * gpu::kWarpSize + stray);
    for (int s = 0; s < kStages; ++s) {
      gpu::mbarrier_init(smem.landed[s], 1);
      gpu::mbarrier_init(smem.full[s], arrivals);
      gpu::mbarrier_init(smem.empty[s], kConfig.consumer_warps);
    }
    if (sharers(p) > 1) {
      for (int warp = 0; warp < kConfig.consumer_warps; ++warp) gpu::mbarrier_init(smem.sums_arrived[warp], 1);
    }
    gpu::mbarrier_init_fence();
  }

  // CTAs of a cluster that share K: a power of two.
  XGEMM_DEVICE static unsigned sharers(const TileParams& p) {
    return kConfig.shares_k() ? static_cast<unsigned>(p.schedule.cluster.k) : 1;
  }

  // A position in the ring of slots. `phase` is the parity that consumers wait for. Behind it are slots that a consumer
  // has yet to release, or -1: held, and unread, of which it needed nothing. A warp releases slots in their order: of
  // teams of producers one would else get two phases ahead of another.
  struct Ring {
    int slot = 0;
    unsigned phase = 0;
    int held = -1;
    int unread = -1;

    XGEMM_DEVICE void next() { skip(1); }
    XGEMM_DEVICE void skip(int slots) {
      const int end = slot + slots;
      phase ^= static_cast<unsigned>(end / kStages) & 1;
      slot = end % kStages;
    }
  };

  // Slices of a unit.
  XGEMM_DEVICE static int slices(std::int64_t depth) { return static_cast<int>((depth + kTileK - 1) / kTileK); }

  // By all lanes of a consumer warp whose reads of a slot are over. A barrier does not wait for reads that are on their
  // way to registers: it takes an instruction that uses what they bring.
  XGEMM_DEVICE static void release(SharedStorage& smem, int slot) {
    gpu::sync_warp();
    if (gpu::lane_index() == 0) gpu::mbarrier_arrive(smem.empty[slot]);
  }
  XGEMM_DEVICE static void release_held(SharedStorage& smem, Ring& ring) {
    if (ring.held < 0) return;
    release(smem, ring.held);
    ring.held = -1;
  }
  // Before the slots of another unit.
  XGEMM_DEVICE static void release_last(SharedStorage& smem, Ring& ring) {
    release_held(smem, ring);
    if (ring.unread < 0) return;
    release(smem, ring.unread);
    ring.unread = -1;
  }
};

}  // namespace xgemm::kernels
