// TMA: the copy engine that moves a box of a tensor between global and shared memory (sm_90).
//
// A TensorMap describes the tensor (address, extents, strides), the box, and how the box is swizzled in shared memory.
// Loads fill what lies outside the tensor with zeros and complete on an mbarrier with the bytes of the whole box;
// stores write nothing outside. Maps have rank 3: contiguous axis, other axis, and the number of an entry of a batch;
// or, where entries lie anywhere (TensorBox), rank 4: two axes are an entry's address (BoxEntry). A box begins on 16
// bytes along the contiguous axis: elsewhere it is an illegal instruction (H100).
//
// What a copy is told comes from uniform registers. Of what the compiler does not know to be the same in all lanes,
// such as what was loaded from memory (uniform_entry_of()) or a place in a ring that some lanes do not walk, it makes a
// loop over the lanes, of some dozen instructions for each copy.
//
// TMA and wgmma reach shared memory through the async proxy. What ordinary stores have written becomes visible to it
// by fence_async_shared() in the writing thread, then a barrier. TMA may write over it, too, where the thread that asks
// it to has made the fence after the barrier. Where that is in another CTA, both sides name the cluster as the scope.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/sm90/mbarrier.cuh"
#include "kernels/common/sm90/tensor_map.h"
#include "kernels/common/target.cuh"
#if defined(XGEMM_SIM)
#include "sim/sm90/tma.h"
#endif

namespace xgemm::gpu {

using TensorMap = kernels::TensorMap;
using kernels::BoxEntry;

#if defined(XGEMM_SIM)

inline void tma_prefetch_map(const TensorMap&, Loc = Loc::current()) {}
inline void bulk_prefetch(const void*, int) {}
template <class Entry>
void tma_load(void* destination, const TensorMap& map, Mbarrier& barrier, int x, int y, Entry entry,
              Loc loc = Loc::current()) {
  sim::tma_load(destination, map, &barrier, 1u << sim::current().cta->cluster_rank, x, y, entry, loc);
}
template <class Entry>
void tma_load_multicast(void* destination, const TensorMap& map, Mbarrier& barrier, unsigned cta_mask, int x, int y,
                        Entry entry, Loc loc = Loc::current()) {
  sim::tma_load(destination, map, &barrier, cta_mask, x, y, entry, loc);
}
template <class Entry>
void tma_store(const TensorMap& map, const void* source, int x, int y, Entry entry, Loc loc = Loc::current()) {
  sim::tma_store(map, source, x, y, entry, loc);
}
inline void tma_store_commit(Loc loc = Loc::current()) {
  sim::tma_store_commit(loc);
}
template <int kPending>
void tma_store_wait_read(Loc loc = Loc::current()) {
  sim::tma_store_wait_read(kPending, loc);
}
inline void fence_async_shared(Loc = Loc::current()) {
  sim::fence_async_shared();
}

#else

XGEMM_DEVICE void tma_prefetch_map(const TensorMap& map, Loc = Loc::current()) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<std::uint64_t>(&map)) : "memory");
}

// Asks for so many bytes of global memory to be in the L2 soon, with what shares a vector of 16 bytes with them.
XGEMM_DEVICE void bulk_prefetch(const void* from, int bytes) {
  const auto begin = static_cast<std::uint64_t>(__cvta_generic_to_global(from));
  const auto first = begin & ~std::uint64_t{15}, end = (begin + static_cast<unsigned>(bytes) + 15) & ~std::uint64_t{15};
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(first), "r"(static_cast<unsigned>(end - first))
               : "memory");
}

XGEMM_DEVICE void tma_load(void* destination, const TensorMap& map, Mbarrier& barrier, int x, int y, int z,
                           Loc = Loc::current()) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(detail::shared_address(destination)),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(detail::shared_address(&barrier)), "r"(x), "r"(y), "r"(z)
      : "memory");
}

XGEMM_DEVICE void tma_load(void* destination, const TensorMap& map, Mbarrier& barrier, int x, int y, BoxEntry entry,
                           Loc = Loc::current()) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(detail::shared_address(destination)),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(detail::shared_address(&barrier)), "r"(x), "r"(y), "r"(entry.z),
      "r"(entry.w)
      : "memory");
}

// The box goes to the same place in each CTA of the cluster whose bit is set, and completes on each one's barrier.
XGEMM_DEVICE void tma_load_multicast(void* destination, const TensorMap& map, Mbarrier& barrier, unsigned cta_mask,
                                     int x, int y, int z, Loc = Loc::current()) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(detail::shared_address(destination)),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(detail::shared_address(&barrier)), "r"(x), "r"(y), "r"(z),
      "h"(static_cast<std::uint16_t>(cta_mask))
      : "memory");
}

XGEMM_DEVICE void tma_load_multicast(void* destination, const TensorMap& map, Mbarrier& barrier, unsigned cta_mask,
                                     int x, int y, BoxEntry entry, Loc = Loc::current()) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(detail::shared_address(destination)),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(detail::shared_address(&barrier)), "r"(x), "r"(y), "r"(entry.z),
      "r"(entry.w), "h"(static_cast<std::uint16_t>(cta_mask))
      : "memory");
}

XGEMM_DEVICE void tma_store(const TensorMap& map, const void* source, int x, int y, int z, Loc = Loc::current()) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(
                   reinterpret_cast<std::uint64_t>(&map)),
               "r"(detail::shared_address(source)), "r"(x), "r"(y), "r"(z)
               : "memory");
}

XGEMM_DEVICE void tma_store(const TensorMap& map, const void* source, int x, int y, BoxEntry entry,
                            Loc = Loc::current()) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(
                   reinterpret_cast<std::uint64_t>(&map)),
               "r"(detail::shared_address(source)), "r"(x), "r"(y), "r"(entry.z), "r"(entry.w)
               : "memory");
}

// Closes the group of the stores that this thread issued since the last commit.
XGEMM_DEVICE void tma_store_commit(Loc = Loc::current()) {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all but this thread's kPending newest groups have read their shared memory, which may then be reused.
template <int kPending>
XGEMM_DEVICE void tma_store_wait_read(Loc = Loc::current()) {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

XGEMM_DEVICE void fence_async_shared(Loc = Loc::current()) {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#endif

}  // namespace xgemm::gpu
