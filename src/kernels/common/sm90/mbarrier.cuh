// mbarrier: the phase barrier in shared memory that counts arrivals and bytes of asynchronous copies (sm_90).
//
// A phase completes when `count` arrivals and all expected bytes have come in; the barrier then starts the next phase.
// A waiter names the parity of the phase that it waits for: 0 for the first, 1 for the second, 0 again for the third.
// Waiting for the parity of the phase *before* the first (1) returns at once, which is how producers start.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/target.cuh"
#if defined(XGEMM_SIM)
#include "sim/sm90/mbarrier.h"
#endif

namespace xgemm::gpu {

struct Mbarrier {
  std::uint64_t state;
};

#if defined(XGEMM_SIM)

inline void mbarrier_init(Mbarrier& barrier, int count, Loc loc = Loc::current()) {
  sim::mbarrier_init(&barrier, count, loc);
}
inline void mbarrier_init_fence(Loc loc = Loc::current()) {
  sim::mbarrier_init_fence(loc);
}
inline void mbarrier_arrive(Mbarrier& barrier, Loc loc = Loc::current()) {
  sim::mbarrier_arrive(&barrier, loc);
}
inline void mbarrier_arrive_times(Mbarrier& barrier, int count, Loc loc = Loc::current()) {
  for (int i = 0; i < count; ++i) sim::mbarrier_arrive(&barrier, loc);
}
inline void mbarrier_arrive_expect(Mbarrier& barrier, int bytes, Loc loc = Loc::current()) {
  sim::mbarrier_arrive_expect(&barrier, bytes, loc);
}
inline void mbarrier_arrive_remote(Mbarrier& barrier, int cta_rank, Loc loc = Loc::current()) {
  sim::mbarrier_arrive_remote(&barrier, cta_rank, sim::Scope::cta, loc);
}
inline void mbarrier_arrive_remote_release(Mbarrier& barrier, int cta_rank, Loc loc = Loc::current()) {
  sim::mbarrier_arrive_remote(&barrier, cta_rank, sim::Scope::cluster, loc);
}
inline void copy_async_arrive(Mbarrier& barrier, Loc loc = Loc::current()) {
  sim::copy_async_arrive(&barrier, loc);
}
inline bool mbarrier_try_wait(Mbarrier& barrier, unsigned parity, Loc loc = Loc::current()) {
  return sim::mbarrier_try_wait(&barrier, parity, sim::Scope::cta, loc);
}
inline void mbarrier_wait(Mbarrier& barrier, unsigned parity, Loc loc = Loc::current()) {
  sim::mbarrier_wait(&barrier, parity, sim::Scope::cta, loc);
}
inline void mbarrier_wait_cluster(Mbarrier& barrier, unsigned parity, Loc loc = Loc::current()) {
  sim::mbarrier_wait(&barrier, parity, sim::Scope::cluster, loc);
}

#else

XGEMM_DEVICE void mbarrier_init(Mbarrier& barrier, int count, Loc = Loc::current()) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(detail::shared_address(&barrier)), "r"(count)
               : "memory");
}

// Makes initialised barriers visible to the other CTAs of the cluster and to the async proxy; a CTA or cluster barrier
// must follow.
XGEMM_DEVICE void mbarrier_init_fence(Loc = Loc::current()) {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

XGEMM_DEVICE void mbarrier_arrive_times(Mbarrier& barrier, int count, Loc = Loc::current()) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(detail::shared_address(&barrier)), "r"(count)
               : "memory");
}

XGEMM_DEVICE void mbarrier_arrive(Mbarrier& barrier, Loc = Loc::current()) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(detail::shared_address(&barrier)) : "memory");
}

// Arrives, and adds to the bytes that this phase waits for.
XGEMM_DEVICE void mbarrier_arrive_expect(Mbarrier& barrier, int bytes, Loc = Loc::current()) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(detail::shared_address(&barrier)),
               "r"(bytes)
               : "memory");
}

// Arrives on the barrier at the same place in the shared memory of another CTA of the cluster (or of this one). Says
// that this thread no longer reads something; it does not publish ordinary writes to other CTAs, which takes a fence.
XGEMM_DEVICE void mbarrier_arrive_remote(Mbarrier& barrier, int cta_rank, Loc = Loc::current()) {
  asm volatile(
      "{\n\t.reg .b32 remote;\n\t"
      "mapa.shared::cluster.u32 remote, %0, %1;\n\t"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n\t}" ::"r"(detail::shared_address(&barrier)),
      "r"(cta_rank)
      : "memory");
}

// The same, and publishes this thread's earlier writes, ordinary ones to the shared memory of the other CTA included.
XGEMM_DEVICE void mbarrier_arrive_remote_release(Mbarrier& barrier, int cta_rank, Loc = Loc::current()) {
  asm volatile(
      "{\n\t.reg .b32 remote;\n\t"
      "mapa.shared::cluster.u32 remote, %0, %1;\n\t"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n\t}" ::"r"(detail::shared_address(&barrier)),
      "r"(cta_rank)
      : "memory");
}

// Arrives when all copies that this thread has issued by copy_async() have landed; one of the arrivals that a phase
// counts.
XGEMM_DEVICE void copy_async_arrive(Mbarrier& barrier, Loc = Loc::current()) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(detail::shared_address(&barrier))
               : "memory");
}

XGEMM_DEVICE bool mbarrier_try_wait(Mbarrier& barrier, unsigned parity, Loc = Loc::current()) {
  unsigned done;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(done)
      : "r"(detail::shared_address(&barrier)), "r"(parity)
      : "memory");
  return done != 0;
}

// Returns when the phase of this parity has completed; sees what the arrivals of this CTA and the copies
// and remote writes that complete on the barrier have written.
XGEMM_DEVICE void mbarrier_wait(Mbarrier& barrier, unsigned parity, Loc loc = Loc::current()) {
  while (!mbarrier_try_wait(barrier, parity, loc)) {
  }
}

// The same for what threads of other CTAs wrote before mbarrier_arrive_remote_release().
XGEMM_DEVICE void mbarrier_wait_cluster(Mbarrier& barrier, unsigned parity, Loc = Loc::current()) {
  unsigned done;
  do {
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(detail::shared_address(&barrier)), "r"(parity)
        : "memory");
  } while (done == 0);
}

#endif

}  // namespace xgemm::gpu
