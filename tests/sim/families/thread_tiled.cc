// The thread_tiled instances in the simulator. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/thread_tiled/thread_tiled.cuh"

#include "families.h"
#include "family.h"

namespace xgemm::sim {

using namespace kernels;

std::vector<SimKernel> thread_tiled_kernels() {
  return {
#define XGEMM_THREAD_TILED(name, ...) make_sim_kernel<ThreadTiled<(__VA_ARGS__)>>(#name, "thread_tiled", (__VA_ARGS__)),
#include "kernels/instances.def"
  };
}

}  // namespace xgemm::sim
