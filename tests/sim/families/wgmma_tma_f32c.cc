// The wgmma_tma instances with C in fp32 in the simulator. SPDX-License-Identifier: BSD-3-Clause
#include "families.h"
#include "wgmma_tma.h"

namespace xgemm::sim {

using namespace kernels;

std::vector<SimKernel> wgmma_tma_f32c_kernels() {
  return {
#define XGEMM_WGMMA_TMA_F32C(name, ...) make_wgmma_tma<(__VA_ARGS__)>(#name),
#include "kernels/instances.def"
  };
}

}  // namespace xgemm::sim
