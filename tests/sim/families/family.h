// What a family file needs: a kernel struct becomes a row of the table.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "../kernels.h"
#include "sim/launch.h"

namespace xgemm::sim {

template <class Kernel>
SimKernel make_sim_kernel(const char* name, const char* family, const kernels::TileConfig& config) {
  return {name, family, config, kernels::kSharedBytes<Kernel>,
          [](const kernels::GemmParams& params, const Options& options) { return launch<Kernel>(params, options); }};
}

}  // namespace xgemm::sim
