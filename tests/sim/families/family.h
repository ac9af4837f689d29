// What a family file needs: a kernel struct becomes a row of the table.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "../kernels.h"
#include "sim/split.h"

namespace xgemm::sim {

template <class Kernel>
SimKernel make_sim_kernel(const char* name, const char* family, const kernels::TileConfig& config) {
  return {name, family, config, kernels::kSharedBytes<Kernel>,
          [](const kernels::GemmParams& params, const Options& options) {
            using ElementC = typename Kernel::ElementC;
            return run_scheduled<kernels::SplitSum<ElementC>>(
                params, schedule_of<Kernel>(params, options), sizeof(typename Kernel::Element), sizeof(ElementC),
                options, [](const kernels::Schedule& s) { return kernels::tile_sum_layout(Kernel::kInstance, s); },
                [&](const kernels::Schedule& s, float* partials, GlobalMemory& memory) {
                  return launch<Kernel>({params, s, partials}, memory, options);
                });
          }};
}

}  // namespace xgemm::sim
