// The smem_tiled instances in the simulator. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/smem_tiled/smem_tiled.cuh"

#include "families.h"
#include "family.h"

namespace xgemm::sim {

using namespace kernels;

std::vector<SimKernel> smem_tiled_kernels() {
  return {
#define XGEMM_SMEM_TILED(name, ...) make_sim_kernel<SmemTiled<(__VA_ARGS__)>>(#name, "smem_tiled", (__VA_ARGS__)),
#include "kernels/instances.def"
  };
}

}  // namespace xgemm::sim
