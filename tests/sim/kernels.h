// The kernel instances of the library as the simulator runs them: the same list, without their types (families/).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>
#include <vector>

#include "kernels/common/params.h"
#include "kernels/common/tile_config.h"
#include "sim/machine.h"

namespace xgemm::sim {

struct SimKernel {
  const char* name = "";
  const char* family = "";
  kernels::TileConfig config;
  int shared_bytes = 0;
  Result (*run)(const kernels::GemmParams&, const Options&) = nullptr;
};

// In the order of the list.
const std::vector<SimKernel>& all_kernels();
// By the name of an instance; null if there is none.
const SimKernel* find_kernel(std::string_view name);

}  // namespace xgemm::sim
