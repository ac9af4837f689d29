// The instances of a family in the simulator: the list of the library, and how each is run. families/NAME.h specialises
// Simulated for a family whose kernels take other parameters than TileParams.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "../kernels.h"
#include "kernels/common/instance_list.h"
#include "sim/split.h"

namespace xgemm::sim {

template <class Kernel>
SimKernel make_sim_kernel(const char* name, const char* family, const kernels::TileConfig& config) {
  return {name, family, config, kernels::kSharedBytes<Kernel>,
          [](const kernels::GemmParams& params, const Options& options) {
            using ElementC = typename Kernel::ElementC;
            using Epilogue = kernels::BasicLinearCombination<gpu::SumOf<Kernel::kInstance.type>>;
            return run_scheduled<kernels::SplitSum<ElementC, Epilogue>>(
                params, schedule_of<Kernel>(params, options), sizeof(typename Kernel::Element), sizeof(ElementC),
                options, [](const kernels::Schedule& s) { return kernels::tile_sum_layout(Kernel::kInstance, s); },
                [&](const kernels::Schedule& s, void* partials, GlobalMemory& memory) {
                  if constexpr (requires { typename Kernel::ByPointers; })
                    if (params.c.by_pointers())
                      return launch<typename Kernel::ByPointers>({params, s, partials}, memory, options);
                  return launch<Kernel>({params, s, partials}, memory, options);
                });
          }};
}

template <kernels::Family kFamily>
struct Simulated {
  template <kernels::TileConfig kConfig>
  static SimKernel kernel(const kernels::KernelInfo& info) {
    using Kernel = typename kernels::Instances<kFamily>::template Kernel<kConfig>;
    return make_sim_kernel<Kernel>(info.name, kernels::name_of(kFamily), info.config);
  }
};

// A compilation unit of the family: the kernels of its part of the instances, which it puts into their places.
template <kernels::Family kFamily, int kPart>
void set_kernels(std::vector<SimKernel>& of_family) {
  of_family.resize(kernels::kCount<kFamily>);
  kernels::for_each_in_part<kFamily, kPart>([&](auto index) {
    constexpr const kernels::KernelInfo& kInfo = kernels::kInfos<kFamily>[index];
    of_family[index] = Simulated<kFamily>::template kernel<kernels::kConfigs<kFamily>[index]>(kInfo);
  });
}

}  // namespace xgemm::sim
