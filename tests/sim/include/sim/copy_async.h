// cp.async: global to shared memory past the registers. From issue to wait the destination is poison, and whoever
// touches it is reported; the data appear when the issuing thread waits for their group, and not before.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sim/machine.h"

namespace xgemm::sim {

void copy_async(int bytes, void* destination, const void* source, int source_bytes, Loc loc);
void copy_async_commit();
void copy_async_wait(int pending_groups);
// Arrives at an mbarrier when all copies of this thread have landed.
void copy_async_arrive(void* barrier, Loc loc);

}  // namespace xgemm::sim
