// The parameters of an ffma_tma instance, and what follows from them. Host code reads it without any CUDA header.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "kernels/common/cluster_shapes.h"

namespace xgemm::kernels {

// How the slices of an operand come to shared memory.
enum class PanelLoad : std::uint8_t {
  bulk,      // by TMA: the operand lies along m (or n), and is aligned
  turned,    // by TMA along k, and turned in its slot: it lies along k, and is aligned
  words_mn,  // by words of cp.async, neighbouring lanes along m (or n)
  words_k,   // by words of cp.async, along k
};
constexpr bool by_words(PanelLoad load) {
  return load == PanelLoad::words_mn || load == PanelLoad::words_k;
}

constexpr bool by_tma(PanelLoad load) {
  return !by_words(load);
}

struct FfmaTmaConfig {
  static constexpr int kMaxSharedBytes = 227 * 1024;
  static constexpr int kProducerThreads = 128;
  static constexpr int kPanel = 32;      // columns of a panel: a row of 128 bytes for each k
  static constexpr int kRowBytes = 128;  // of a panel

  int cta_m = 128, cta_n = 128;    // CTA tile of C
  int thread_m = 8, thread_n = 8;  // of C, for a thread
  int lanes_m = 4;                 // of a warp along m; the others lie along n
  int depth = 16;                  // of K, of a slot, that a consumer group computes
  int stages = 4;                  // slots of the ring
  int consumer_warps = 8;          // of a CTA
  int ctas_per_sm = 1;             // two: one multiplies while the other waits or stores
  bool follows = false;            // has a twin, which finds the matrices of a batch by pointers

  constexpr bool operator==(const FfmaTmaConfig&) const = default;

  constexpr int lanes_n() const { return 32 / lanes_m; }
  constexpr int warp_m() const { return lanes_m * thread_m; }
  constexpr int warp_n() const { return lanes_n() * thread_n; }
  constexpr int warps_m() const { return cta_m / warp_m(); }
  constexpr int warps_n() const { return cta_n / warp_n(); }
  // Groups of consumer warps that share K: each computes the whole tile, from its part of every slot.
  constexpr int groups() const { return consumer_warps / (warps_m() * warps_n()); }
  constexpr int group_warps() const { return warps_m() * warps_n(); }
  constexpr int cta_k() const { return depth * groups(); }
  constexpr int threads() const { return kProducerThreads + 32 * consumer_warps; }

  // Extents of a slot's slices: whole panels, of which a tile may need a half.
  static constexpr int whole_panels(int extent) { return (extent + kPanel - 1) / kPanel * kPanel; }
  constexpr int slot_m() const { return whole_panels(cta_m); }
  constexpr int slot_n() const { return whole_panels(cta_n); }
  constexpr int slot_bytes() const { return cta_k() * (slot_m() + slot_n()) * 4; }
  constexpr int exchange_bytes() const { return (groups() - 1) * cta_m * cta_n * 4; }
  // Whether C leaves through a stage in shared memory, of a whole tile. It pays in tiles for short K, whose warps do
  // not share K; beside 16 x 8 sums the assembler would give the mainloop worse registers.
  constexpr bool stages_c() const { return groups() == 1 && !many_sums(); }
  constexpr int stage_bytes() const { return stages_c() ? cta_m * cta_n * 4 : 0; }
  constexpr int own_bytes() const { return stages * slot_bytes() + exchange_bytes() + stage_bytes() + 1024; }
  constexpr int shared_bytes() const { return own_bytes() + (shares_k() ? cluster_bytes() : 0); }

  // CTAs of a cluster can share a tile's K where groups of warps do: each warp's sums are then added up by one of them,
  // in shared memory that it has for what the others send.
  constexpr int warp_sums() const { return cta_m * cta_n / consumer_warps; }  // after the groups have added theirs
  constexpr int cluster_bytes() const { return (consumer_warps - 1) * warp_sums() * 4; }
  constexpr bool shares_k() const {
    return groups() > 1 && ctas_per_sm * (own_bytes() + cluster_bytes() + 1024) <= kMaxSharedBytes + 1024;
  }
  constexpr int most_along_k() const { return shares_k() ? consumer_warps : 1; }

  // The k of a turn of the mainloop: periods of the swizzle. Nothing is in the instruction caches when a kernel starts,
  // and what is short is soon there; for long K, groups of warps that have an SM for themselves get on better with
  // turns of 16.
  constexpr int turn() const { return groups() > 1 && ctas_per_sm == 1 && depth > 8 ? 16 : 8; }

  // The k of a block that a warp turns: a row of what TMA swizzles, at most.
  static constexpr int block_k(int cta_k) { return cta_k < kPanel ? cta_k : kPanel; }

  // Producer warps that fill a slot together, by TMA alone or also with words. On a busy SM a warp gets on slowly; one
  // that fills slots of long duration has the time of several for each. Of few warps each does more copies for what it
  // does beside them.
  constexpr int slot_cycles() const { return cta_m * cta_n / 128 * cta_k(); }  // of an SM's FMA units
  constexpr int team_warps(bool words) const {
    if (words) return ctas_per_sm * slot_cycles() >= 4096 ? 1 : 2;
    return slot_cycles() >= 2048 ? 1 : kProducerThreads / 32;
  }

  // Register budgets for setmaxnreg, of a thread. All that there are for it is what the CTA starts with.
  constexpr int start_registers() const { return 65536 / (threads() * ctas_per_sm) / 8 * 8; }
  constexpr bool many_sums() const { return thread_m * thread_n > 64; }
  // Has a twin, which computes products that have an epilogue. Beside many sums that would spill registers.
  constexpr bool finishes() const { return !many_sums(); }
  constexpr int producer_registers() const { return many_sums() ? 56 : 104; }
  constexpr int consumer_registers() const {
    return (threads() * start_registers() - kProducerThreads * producer_registers()) / (32 * consumer_warps) / 8 * 8;
  }
};

// The clusters that an instance's CTAs can form.
constexpr std::span<const ClusterShape> cluster_shapes(const FfmaTmaConfig& c) {
  return with_most_along_k(kClusterShapesAlongK, c.most_along_k());
}

}  // namespace xgemm::kernels
