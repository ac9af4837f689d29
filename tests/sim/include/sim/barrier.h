// Barriers of a CTA: number 0 is __syncthreads, 1 to 15 are named barriers (bar.sync).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sim/machine.h"

namespace xgemm::sim {

// All threads of the CTA. A thread that ends without it leaves the others waiting: a deadlock.
void sync_threads(Loc loc);

// Meets when `threads` threads have come.
void named_barrier_sync(int id, int threads, Loc loc);

}  // namespace xgemm::sim
