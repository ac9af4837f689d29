// Thread block clusters: CTAs that run together and reach each other's shared memory (sm_90), and programmatic
// dependent launch.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/target.cuh"
#if defined(XGEMM_SIM)
#include "sim/sm90/cluster.h"
#endif

namespace xgemm::gpu {

#if defined(XGEMM_SIM)

inline int cluster_rank(Loc = Loc::current()) {
  return sim::current().cta->cluster_rank;
}
inline void cluster_arrive(Loc loc = Loc::current()) {
  sim::cluster_arrive(loc);
}
inline void cluster_wait(Loc loc = Loc::current()) {
  sim::cluster_wait(loc);
}
inline void cluster_sync(Loc loc = Loc::current()) {
  sim::cluster_sync(loc);
}
inline void write_remote(float* local, int cta_rank, float a, float b, float c, float d, Loc loc = Loc::current()) {
  sim::write_remote(local, cta_rank, {a, b, c, d}, loc);
}
inline void write_remote_async(unsigned* local, Mbarrier& barrier, int cta_rank, unsigned a, unsigned b, unsigned c,
                               unsigned d, Loc loc = Loc::current()) {
  sim::write_remote_async(local, &barrier, cta_rank, {a, b, c, d}, loc);
}
inline void grid_launch_dependents(Loc = Loc::current()) {}
inline void grid_wait_dependencies(Loc = Loc::current()) {
  sim::grid_wait_dependencies();
}

#else

// This CTA's number in its cluster.
XGEMM_DEVICE int cluster_rank(Loc = Loc::current()) {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}

// All threads of the cluster that have not exited. Orders no memory accesses: initialised barriers are published by
// mbarrier_init_fence() before it.
XGEMM_DEVICE void cluster_arrive(Loc = Loc::current()) {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
XGEMM_DEVICE void cluster_wait(Loc = Loc::current()) {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Arrives and waits; what the threads wrote before it can be seen after it, and their accesses to the memory of other
// CTAs are over. Copies in flight are not. Needs no converged warp.
XGEMM_DEVICE void cluster_sync(Loc = Loc::current()) {
  asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

// Writes four floats to the place in CTA cta_rank's shared memory that `local` has in this one's; 16-byte aligned.
XGEMM_DEVICE void write_remote(float* local, int cta_rank, float a, float b, float c, float d, Loc = Loc::current()) {
  asm volatile(
      "{\n\t.reg .b32 remote;\n\t"
      "mapa.shared::cluster.u32 remote, %0, %1;\n\t"
      "st.shared::cluster.v4.f32 [remote], {%2, %3, %4, %5};\n\t}" ::"r"(detail::shared_address(local)),
      "r"(cta_rank), "f"(a), "f"(b), "f"(c), "f"(d)
      : "memory");
}

// Writes four words to the place in CTA cta_rank's shared memory that `local` has in this one's (16-byte aligned), some
// time from now on, and completes 16 bytes on its barrier at this place: who has waited there sees them.
// To this CTA itself as well.
XGEMM_DEVICE void write_remote_async(unsigned* local, Mbarrier& barrier, int cta_rank, unsigned a, unsigned b,
                                     unsigned c, unsigned d, Loc = Loc::current()) {
  asm volatile(
      "{\n\t.reg .b32 remote, remote_barrier;\n\t"
      "mapa.shared::cluster.u32 remote, %0, %2;\n\t"
      "mapa.shared::cluster.u32 remote_barrier, %1, %2;\n\t"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [remote], {%3, %4, %5, %6}, [remote_barrier];\n\t"
      "}" ::"r"(detail::shared_address(local)),
      "r"(detail::shared_address(&barrier)), "r"(cta_rank), "r"(a), "r"(b), "r"(c), "r"(d)
      : "memory");
}

// ---- Programmatic dependent launch: without effect where the launch did not ask for it, and in code for GPUs that do
// not know it, where kernels do not overlap. ----

// Lets the next kernel of the stream start its prologue.
XGEMM_DEVICE void grid_launch_dependents(Loc = Loc::current()) {
  if constexpr (kArch >= 900) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
// Waits until the kernels before this one have finished and their writes are visible. Comes before any access to global
// memory.
XGEMM_DEVICE void grid_wait_dependencies(Loc = Loc::current()) {
  if constexpr (kArch >= 900) asm volatile("griddepcontrol.wait;" ::: "memory");
}

#endif

}  // namespace xgemm::gpu
