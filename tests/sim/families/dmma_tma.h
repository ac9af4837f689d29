// Runs dmma_tma kernels in the simulator, with the schedule that the planner makes and the launcher's arguments.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "family.h"
#include "kernels/dmma_tma/arguments.h"
#include "kernels/dmma_tma/dmma_tma.cuh"
#include "kernels/dmma_tma/instances.h"
#include "sim/split.h"

namespace xgemm::sim {

template <class Kernel>
Result launch_dmma_tma(const typename Kernel::Params& params, GlobalMemory& memory, const Options& options) {
  LaunchShape shape;
  shape.grid = static_cast<std::int64_t>(params.schedule.clusters);
  shape.threads = Kernel::kThreads;
  shape.dynamic_shared_bytes = sizeof(typename Kernel::SharedStorage);
  shape.granule = 8;
  shape.dependent = true;
  shape.agents = 2 * Kernel::kStages + Kernel::kThreads / 128;  // barriers, warpgroups
  return launch_body(shape, memory, options, [&params](unsigned char* shared) {
    Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(shared));
  });
}

// As the launcher does it: the product, and the sums of its parts where it is split.
template <kernels::TileConfig kConfig>
Result run_dmma_tma(const kernels::GemmParams& params, const Options& options) {
  using Kernel = kernels::DmmaTma<kConfig>;
  kernels::Schedule schedule = schedule_of<Kernel>(params, options);
  // Few CTAs, so that they loop over tiles.
  schedule.clusters = std::min(schedule.clusters, options.max_grid_x > 0 ? unsigned(options.max_grid_x) : 4u);
  return run_scheduled<kernels::SplitSum<double, kernels::LinearCombinationOf<kConfig.type>>>(
      params, schedule, sizeof(double), sizeof(double), options,
      [](const kernels::Schedule& s) { return kernels::tile_sum_layout(kConfig, s); },
      [&](const kernels::Schedule& s, void* partials, GlobalMemory& memory) {
        return launch_dmma_tma<Kernel>(kernels::dmma_tma_arguments(kConfig, params, s, partials), memory, options);
      });
}

template <>
struct Simulated<kernels::Family::dmma_tma> {
  template <kernels::TileConfig kConfig>
  static SimKernel kernel(const kernels::KernelInfo& info) {
    return {info.name, kernels::name_of(info.family), info.config,
            static_cast<int>(sizeof(typename kernels::DmmaTma<kConfig>::SharedStorage)), run_dmma_tma<kConfig>};
  }
};

}  // namespace xgemm::sim
