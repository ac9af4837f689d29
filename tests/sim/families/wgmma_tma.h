// Runs wgmma_tma kernels in the simulator, with the schedule that the planner makes and the launcher's arguments.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "family.h"
#include "kernels/common/cost_math.h"
#include "kernels/wgmma_tma/arguments.h"
#include "kernels/wgmma_tma/instances.h"
#include "kernels/wgmma_tma/schedule.h"
#include "kernels/wgmma_tma/sum_layout.h"
#include "kernels/wgmma_tma/wgmma_tma.cuh"
#include "sim/split.h"

namespace xgemm::sim {

template <class Kernel>
Result launch_wgmma_tma(const typename Kernel::Params& params, GlobalMemory& memory, const Options& options) {
  LaunchShape shape;
  shape.cluster = params.sharers << params.split_bits;
  shape.grid = static_cast<std::int64_t>(params.schedule.clusters) * shape.cluster;
  shape.threads = Kernel::kThreads;
  shape.dynamic_shared_bytes =
      sizeof(typename Kernel::SharedStorage) - params.absent_slots * sizeof(typename Kernel::SharedStorage::Slot);
  // stmatrix, write_remote, rows of boxes; single elements of C; or copies of parts of a chunk
  shape.granule = sizeof(typename Kernel::Cta::ElementC) == 4 ? 4 : Kernel::kVector > 1 ? 2 * Kernel::kVector : 16;
  shape.dependent = true;
  // Barriers, warpgroups, threads that store.
  shape.agents = 2 * (Kernel::kStages + Kernel::kLineStages) + 4 + 2 * (1 + Kernel::kGroups);
  return launch_body(shape, memory, options,
                     [&params](unsigned char* shared) { Kernel::run(params, Kernel::Cta::storage(params, shared)); });
}

// Clusters that the simulated GPU holds: few, so that they loop over tiles.
inline int resident_clusters(const Options& options) {
  return options.max_grid_x > 0 ? static_cast<int>(std::max<std::int64_t>(1, options.max_grid_x / 2)) : 2;
}

inline kernels::Schedule schedule_of(const kernels::WgmmaTmaConfig& config, const kernels::GemmParams& params,
                                     const Options& options) {
  const int resident = resident_clusters(options);
  int ctas_per_sm = 1;
  if (options.cluster.size() == 1 && options.parts == 1 && !params.finishing.any() && !params.c.by_pointers()) {
    const double tiles = kernels::cost::tiles(params.m, config.cta_m) * kernels::cost::tiles(params.n, config.cta_n);
    const std::int64_t slices = (params.k + config.cta_k() - 1) / config.cta_k();
    ctas_per_sm = kernels::WgmmaTmaCtasPerSm(config).of(tiles * static_cast<double>(params.batch_count), slices,
                                                        !params.beta.is_zero<float>(), resident);
  }
  return kernels::wgmma_tma_schedule(config, params.m, params.n, params.batch_count,
                                     {options.whole_tiles, options.parts, options.cluster}, resident, 132, ctas_per_sm);
}

template <kernels::WgmmaTmaConfig kConfig>
auto arguments_of(const kernels::GemmParams& params, const kernels::Schedule& schedule, void* partials) {
  constexpr kernels::WgmmaTmaBoxes kBoxes = kernels::wgmma_tma_boxes(kConfig);
  if constexpr (kConfig.by_lines()) {
    return kernels::wgmma_tma_line_arguments(kBoxes, params, schedule, partials);
  } else {
    return kernels::wgmma_tma_arguments(kBoxes, params, schedule, partials);
  }
}

// As the launcher does it: the product, and the sums of its parts where it is split.
template <kernels::WgmmaTmaConfig kConfig, class Epilogue = kernels::LinearCombination>
Result run_wgmma_tma(const kernels::GemmParams& params, const Options& options) {
  constexpr kernels::WgmmaTmaConfig kCode = kConfig.code();
  using Kernel = kernels::WgmmaTma<kCode, Epilogue>;
  using Finisher = kernels::WgmmaTma<kCode, typename Kernel::Finishing>;
  using Follower = kernels::WgmmaTma<kCode, typename Kernel::Finding>;
  return run_scheduled<kernels::SplitSum<gpu::ElementOf<kConfig.type_c>, Epilogue>>(
      params, schedule_of(kConfig, params, options), size_of(kConfig.type), size_of(kConfig.type_c), options,
      [](const kernels::Schedule& s) { return kernels::split_sum_layout(kConfig, s); },
      [&](const kernels::Schedule& s, void* partials, GlobalMemory& memory) {
        const auto arguments = arguments_of<kConfig>(params, s, partials);
        if (params.finishing.any()) return launch_wgmma_tma<Finisher>(arguments, memory, options);
        if (params.c.by_pointers()) return launch_wgmma_tma<Follower>(arguments, memory, options);
        return launch_wgmma_tma<Kernel>(arguments, memory, options);
      });
}

template <kernels::WgmmaTmaConfig kConfig>
SimKernel make_wgmma_tma(const char* name) {
  return {name, "wgmma_tma", kernels::Instances<kernels::Family::wgmma_tma>::common(kConfig).config,
          static_cast<int>(sizeof(typename kernels::WgmmaTma<kConfig>::SharedStorage)), run_wgmma_tma<kConfig>};
}

template <>
struct Simulated<kernels::Family::wgmma_tma> {
  template <kernels::WgmmaTmaConfig kConfig>
  static SimKernel kernel(const kernels::KernelInfo& info) {
    return make_wgmma_tma<kConfig>(info.name);
  }
};

}  // namespace xgemm::sim
