// What the simulator finds: faults of a kernel, as data. A fault never ends the process and never touches memory that
// it should not: a bad read yields NaN poison, a bad write is dropped, and the kernel goes on where it can.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/location.h"

namespace xgemm::sim {

enum class Fault {
  view_bounds,         // an index outside the view it was used on
  global_bounds,       // global memory outside every matrix of the problem
  global_permission,   // a read of memory that must not be read, or a write of read-only memory
  shared_bounds,       // an address outside the CTA's shared memory
  misaligned,          // an access or copy that is not aligned to its size
  shared_race,         // shared memory: two threads, one of them writing, no barrier in between
  global_race,         // the same in global memory, between threads or CTAs
  uninitialised_read,  // shared memory that nobody has written
  async_not_waited,    // the destination of an asynchronous copy before the copy was waited for
  proxy_fence,         // shared memory written by threads, used by the copy engine or tensor cores without a fence
  tensor_map,          // a tensor map or box that the copy engine does not take
  wgmma_misuse,        // a wgmma without its fence, on registers of another, with an impossible descriptor
  registers,           // setmaxnreg: an impossible number, or registers that there are not
  cluster_misuse,      // a CTA that is not there any more, or never was; its barrier out of turn
  left_in_flight,      // a thread or CTA ended before what it started
  grid_dependency,     // global memory before the wait for earlier kernels
  deadlock,            // threads wait for something that cannot happen any more
  barrier_misuse,      // a barrier with an impossible id or count, or more arrivals than it counts
  warp_divergence,     // a warp-wide operation that its lanes do not execute together
  bad_launch,          // a grid, CTA or shared memory size that no GPU has
  exception,           // the kernel threw
};

const char* to_string(Fault fault);

struct Report {
  Fault fault = Fault::exception;
  std::string kernel;
  std::int64_t cta = 0;  // in the grid
  int thread = -1;
  Loc where;              // the line of the kernel
  int other_thread = -1;  // of races: the other party
  Loc other;
  std::string other_unit;  // "the copy engine", where the other party is no thread
  std::string message;     // the rest in words
  std::int64_t count = 1;  // how often the same happened at the same lines

  std::string file() const { return where.file(); }
  unsigned line() const { return where.line(); }
};

// "smem_tiled_f32_32x32x32_v1_nt, block (0, 0, 0), thread 5, smem_tiled.cuh:71: shared_race: ...".
std::string to_string(const Report& report);

// Keeps one report for each kind and pair of lines.
class ReportList {
 public:
  void add(Report report);
  const std::vector<Report>& all() const { return reports_; }
  bool empty() const { return reports_.empty(); }

 private:
  static constexpr std::size_t kMax = 200;
  std::vector<Report> reports_;
  std::map<std::tuple<Fault, const void*, const void*>, std::size_t> index_;
};

}  // namespace xgemm::sim
