// The wmma_padded instances in the simulator. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/wmma_padded/wmma_padded.cuh"

#include "families.h"
#include "family.h"

namespace xgemm::sim {

using namespace kernels;

std::vector<SimKernel> wmma_padded_kernels() {
  return {
#define XGEMM_WMMA_PADDED(name, ...) make_sim_kernel<WmmaPadded<(__VA_ARGS__)>>(#name, "wmma_padded", (__VA_ARGS__)),
#include "kernels/instances.def"
  };
}

}  // namespace xgemm::sim
