// Runs ffma_tma kernels in the simulator, with the schedule that the planner makes and the launcher's arguments.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "family.h"
#include "kernels/common/tile_schedule.h"
#include "kernels/ffma_tma/arguments.h"
#include "kernels/ffma_tma/ffma_tma.cuh"
#include "kernels/ffma_tma/instances.h"
#include "kernels/ffma_tma/schedule.h"
#include "sim/split.h"

namespace xgemm::sim {

template <class Kernel>
Result launch_ffma_tma(const typename Kernel::Params& params, GlobalMemory& memory, const Options& options) {
  LaunchShape shape;
  shape.cluster = params.schedule.cluster.size();
  shape.grid = static_cast<std::int64_t>(params.schedule.clusters) * shape.cluster;
  shape.threads = Kernel::kThreads;
  shape.dynamic_shared_bytes = sizeof(typename Kernel::SharedStorage);
  shape.granule = 4;
  shape.ctas_per_sm = Kernel::kCtasPerSm;
  shape.dependent = true;
  shape.agents = 3 * Kernel::Cta::kStages + 8;  // barriers, warpgroups
  return launch_body(shape, memory, options, [&params](unsigned char* shared) {
    Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(shared));
  });
}

// As the launcher does it: the product, and the sums of its parts where it is split.
template <kernels::FfmaTmaConfig kConfig>
Result run_ffma_tma(const kernels::GemmParams& params, const Options& options) {
  const int ctas =
      options.max_grid_x > 0 ? static_cast<int>(options.max_grid_x) : 4;  // few, so that they loop over tiles
  const kernels::Schedule schedule =
      kernels::ffma_tma_schedule(kConfig, params.m, params.n, params.batch_count,
                                 {options.whole_tiles, options.parts, options.cluster}, ctas, 132, params.fill);
  return run_scheduled<kernels::SplitSum<float>>(
      params, schedule, 4, 4, options, [](const kernels::Schedule& s) { return kernels::tile_sum_layout(kConfig, s); },
      [&](const kernels::Schedule& s, void* partials, GlobalMemory& memory) {
        const auto arguments = kernels::ffma_tma_arguments(kConfig, params, s, partials);
        if constexpr (kConfig.finishes()) {
          using Twin = kernels::FfmaTma<kConfig, kernels::Finished>;
          if (params.finishing.any()) return launch_ffma_tma<Twin>(arguments, memory, options);
        }
        if constexpr (kConfig.follows) {
          using Twin = kernels::FfmaTma<kConfig, kernels::Following>;
          if (params.c.by_pointers()) return launch_ffma_tma<Twin>(arguments, memory, options);
        }
        return launch_ffma_tma<kernels::FfmaTma<kConfig>>(arguments, memory, options);
      });
}

template <>
struct Simulated<kernels::Family::ffma_tma> {
  template <kernels::FfmaTmaConfig kConfig>
  static SimKernel kernel(const kernels::KernelInfo& info) {
    return {info.name, kernels::name_of(info.family), info.config,
            static_cast<int>(sizeof(typename kernels::FfmaTma<kConfig>::SharedStorage)), run_ffma_tma<kConfig>};
  }
};

}  // namespace xgemm::sim
