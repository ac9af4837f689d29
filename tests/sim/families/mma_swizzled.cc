// The mma_swizzled instances in the simulator. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/mma_swizzled/mma_swizzled.cuh"

#include "families.h"
#include "family.h"

namespace xgemm::sim {

using namespace kernels;

std::vector<SimKernel> mma_swizzled_kernels() {
  return {
#define XGEMM_MMA_SWIZZLED(name, ...) make_sim_kernel<MmaSwizzled<(__VA_ARGS__)>>(#name, "mma_swizzled", (__VA_ARGS__)),
#include "kernels/instances.def"
  };
}

}  // namespace xgemm::sim
