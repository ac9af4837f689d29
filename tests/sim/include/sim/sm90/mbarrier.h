// mbarrier: the phase barrier in shared memory that counts arrivals and bytes of asynchronous copies.
//
// Who waits sees what the arrivals of its own CTA and the copies have written; of arrivals from other CTAs it learns no
// more than that something is over, unless both sides name the cluster as the scope. An initialised barrier can be used
// by other threads of the CTA after a barrier, by other CTAs and the copy engine after mbarrier_init_fence() as well.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sim/machine.h"
#include "sim/sm90/scope.h"

namespace xgemm::sim {

void mbarrier_init(void* barrier, int count, Loc loc);
void mbarrier_init_fence(Loc loc);
void mbarrier_arrive(void* barrier, Loc loc);
void mbarrier_arrive_expect(void* barrier, int bytes, Loc loc);
void mbarrier_arrive_remote(void* barrier, int cta_rank, Scope release, Loc loc);
// May return false only where nothing else can happen: polling threads rest meanwhile.
bool mbarrier_try_wait(void* barrier, unsigned parity, Scope acquire, Loc loc);
void mbarrier_wait(void* barrier, unsigned parity, Scope acquire, Loc loc);

}  // namespace xgemm::sim
