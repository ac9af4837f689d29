// The parameters of an ffma_tma instance, and what follows from them. Host code reads it without any CUDA header.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace xgemm::kernels {

struct FfmaTmaConfig {
  static constexpr int kMaxSharedBytes = 227 * 1024;
  static constexpr int kConsumerWarps = 8;
  static constexpr int kProducerThreads = 128;
  static constexpr int kPanel = 32;      // columns of a panel: a row of 128 bytes for each k
  static constexpr int kRowBytes = 128;  // of a panel

  int cta_m = 128, cta_n = 128;    // CTA tile of C
  int thread_m = 8, thread_n = 8;  // of C, for a thread
  int lanes_m = 4;                 // of a warp along m; the others lie along n
  int depth = 16;                  // of K, of a slot, that a consumer group computes
  int stages = 4;                  // slots of the ring

  constexpr bool operator==(const FfmaTmaConfig&) const = default;

  constexpr int lanes_n() const { return 32 / lanes_m; }
  constexpr int warp_m() const { return lanes_m * thread_m; }
  constexpr int warp_n() const { return lanes_n() * thread_n; }
  constexpr int warps_m() const { return cta_m / warp_m(); }
  constexpr int warps_n() const { return cta_n / warp_n(); }
  // Groups of consumer warps that share K: each computes the whole tile, from its part of every slot.
  constexpr int groups() const { return kConsumerWarps / (warps_m() * warps_n()); }
  constexpr int group_warps() const { return warps_m() * warps_n(); }
  constexpr int cta_k() const { return depth * groups(); }
  constexpr int threads() const { return kProducerThreads + 32 * kConsumerWarps; }

  constexpr int slot_bytes() const { return cta_k() * (cta_m + cta_n) * 4; }
  constexpr int exchange_bytes() const { return (groups() - 1) * cta_m * cta_n * 4; }
  constexpr int shared_bytes() const { return stages * slot_bytes() + exchange_bytes() + 1024; }

  // Slots of long duration are filled by one producer warp each: on a busy SM a warp gets on slowly, and has the time
  // of several slots for its own. Short ones, of small tiles, are filled by all.
  constexpr bool long_slots() const { return cta_m * cta_n / 128 * cta_k() >= 2048; }
  constexpr int team_warps() const { return long_slots() ? 1 : kProducerThreads / 32; }
  constexpr int teams() const { return kProducerThreads / 32 / team_warps(); }

  // Register budgets for setmaxnreg. All that there are for it is what the CTA starts with.
  static constexpr int kStartRegisters = 168;  // of a thread
  constexpr bool many_sums() const { return thread_m * thread_n > 64; }
  constexpr int producer_registers() const { return many_sums() ? 56 : 104; }
  constexpr int consumer_registers() const { return many_sums() ? 224 : 200; }
};

}  // namespace xgemm::kernels
