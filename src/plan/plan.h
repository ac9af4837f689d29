// What the planner decides: which instance computes a problem, on how many CTAs, and the estimate that chose it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/instances.h"

namespace xgemm::plan {

struct Plan {
  kernels::KernelId kernel = kernels::KernelId{0};
  std::int64_t tiles_m = 0, tiles_n = 0;  // CTA tiles of one product
  std::int64_t ctas = 0;                  // of the whole batch
  std::int64_t waves = 0;                 // rounds of CTAs that the GPU needs
  // Split K: the tiles from whole_tiles on (counted in clusters' tiles where CTAs form clusters) are computed in
  // `parts` parts each, whose sums go through a workspace.
  std::int64_t whole_tiles = 0;
  int parts = 1;  // 1: nothing is split
  std::size_t workspace_bytes = 0;
  double tile_efficiency = 0;  // useful part of the tiles' area
  double estimated_us = 0;
  bool forced = false;
};

const char* name_of(const Plan& plan);

// "kernel=naive_f32 tile=32x8x1 vector=1 ctas=... waves=... tile_efficiency=... estimated_us=..."
std::string to_string(const Plan& plan);

}  // namespace xgemm::plan
