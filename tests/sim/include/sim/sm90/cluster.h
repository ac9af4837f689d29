// Clusters: CTAs that run together and reach each other's shared memory; and programmatic dependent launch.
//
// cluster_arrive() orders no accesses: with it, initialised mbarriers are published by mbarrier_init_fence() and
// nothing else is. cluster_sync() orders all. A CTA must not end while others may still reach into its shared memory:
// at its end it has to know that every access from outside is over, whatever the schedule was.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sim/machine.h"

namespace xgemm::sim {

void cluster_arrive(Loc loc);
void cluster_wait(Loc loc);
void cluster_sync(Loc loc);
// 16 bytes to the place in CTA cta_rank's shared memory that `local` has in this one's.
void write_remote(float* local, int cta_rank, const float (&values)[4], Loc loc);
// The same at some later time, which the schedule chooses; then 16 bytes complete on the mbarrier that lies there where
// `barrier` does here. Until then the place is poison.
void write_remote_async(unsigned* local, void* barrier, int cta_rank, const unsigned (&values)[4], Loc loc);
// In a dependent launch, a thread uses global memory after this alone.
void grid_wait_dependencies();

}  // namespace xgemm::sim
