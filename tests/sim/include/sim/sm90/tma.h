// TMA: the copy engine between global and shared memory. A TensorMap is the plain description of the tensor and the
// box.
//
// Copies take effect at some time after their start, which the schedule chooses: the destination of a load is poison
// until then, and only those may use it who have waited on its mbarrier; a store reads its source until then, so that
// only those may write it again who know that the group has been waited for. What threads have written needs
// fence_async_shared() by the writer, then a barrier, before the copy engine may read it; before it may write over it,
// a fence of the thread that asks it to will do, which knows of the write by then.
//
// Maps are checked for what the driver and the hardware demand of them. Stores clip the contiguous axis to 16 bytes: a
// row whose extent is no multiple of that is reported as a write out of bounds.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/sm90/tensor_map.h"
#include "sim/machine.h"

namespace xgemm::sim {

// cta_mask: the CTAs of the cluster that get the box, each at this place, completing on its barrier at this place.
void tma_load(void* destination, const kernels::TensorBox& map, void* barrier, unsigned cta_mask, int x, int y,
              kernels::BoxEntry entry, Loc loc);
void tma_store(const kernels::TensorBox& map, const void* source, int x, int y, kernels::BoxEntry entry, Loc loc);
// Of maps whose entries are counted.
inline void tma_load(void* destination, const kernels::TensorBox& map, void* barrier, unsigned cta_mask, int x, int y,
                     int z, Loc loc) {
  tma_load(destination, map, barrier, cta_mask, x, y, kernels::BoxEntry{z, -1}, loc);
}
inline void tma_store(const kernels::TensorBox& map, const void* source, int x, int y, int z, Loc loc) {
  tma_store(map, source, x, y, kernels::BoxEntry{z, -1}, loc);
}
void tma_store_commit(Loc loc);
void tma_store_wait_read(int pending_groups, Loc loc);
void fence_async_shared();

}  // namespace xgemm::sim
