// What the planner decides: which instance computes a problem, how its work is shared out, which operands it gets as
// copies, and the estimate that chose it. Nothing that matters for speed or bits is decided after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/common/schedule.h"
#include "kernels/instances.h"
#include "plan/packing.h"

namespace xgemm::plan {

struct Plan {
  kernels::KernelId kernel;
  kernels::Schedule schedule;  // of the product, or of a block of it where operands are packed
  Packing packing;
  std::int64_t waves = 0;      // rounds of CTAs that the GPU needs
  double tile_efficiency = 0;  // useful part of the tiles' area
  double estimated_us = 0;
  bool forced = false;
  bool needs_pass = false;  // of a product with an epilogue: the plan is that of the product before (core/finishing.h)
  // Where the kernel may find out on the GPU that it must not compute: what does it then (FamilyInfo::fallback).
  bool has_fallback = false;
  kernels::KernelId fallback;
  kernels::Sharing fallback_sharing = {};

  // Whether smaller blocks than those of `packing` give the same bits: tiles are all whole, or all in the same parts,
  // and of all of C.
  bool may_shrink_blocks() const {
    return (schedule.split_tiles == 0 || schedule.whole_tiles == 0) && schedule.triangle.fill == Fill::full;
  }
};

const char* name_of(const Plan& plan);

// "tiles=4x8 raster=m8 units=32 cluster=2x1 clusters=32", and of a split product what is split.
std::string to_string(const kernels::Schedule& schedule);

// "kernel=naive_f32 tile=32x8x1 vector=1 stages=1 tiles=... waves=... tile_efficiency=... estimated_us=...", and what
// follows the product.
std::string to_string(const Plan& plan);

}  // namespace xgemm::plan
