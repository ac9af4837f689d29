// How a launch is simulated.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/common/schedule.h"

namespace xgemm::sim {

// Which thread runs when several can. A correct kernel gives the same bits under all of them.
enum class Order {
  forward,  // threads and CTAs by number; each runs until it has to wait
  reverse,  // the same from the last to the first
  random,   // any thread at each synchronisation, and now and then at a memory access; CTAs in any order
};

struct Options {
  std::string kernel = "kernel";  // for reports
  Order order = Order::forward;
  std::uint64_t seed = 1;       // of Order::random
  int preempt_every = 200;      // of Order::random: accesses between two changes of thread, on average; 0: never
  bool check_races = true;      // races, uninitialised reads and asynchronous copies in shared memory; races in global
  bool count = false;           // fill Result::counters
  std::int64_t max_grid_x = 0;  // launch fewer CTAs than the kernel asks for, to see that it loops; 0: as many
  int concurrent_ctas = 1;      // CTAs that run at the same time, by turns
  // Of kernels that can split K: the tiles from this one on are computed in so many parts.
  std::int64_t whole_tiles = 0;
  int parts = 1;
  bool truncate_sums = false;       // of wgmma, as Hopper's tensor cores do (slow); else they are rounded to fp32
  kernels::ClusterShape cluster{};  // of kernels that form them
  std::size_t workspace_bytes = 0;  // for the sums of parts; 0: as much as they need
};

}  // namespace xgemm::sim
