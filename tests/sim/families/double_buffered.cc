// The double_buffered instances in the simulator. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/double_buffered/double_buffered.cuh"

#include "families.h"
#include "family.h"

namespace xgemm::sim {

using namespace kernels;

std::vector<SimKernel> double_buffered_kernels() {
  return {
#define XGEMM_DOUBLE_BUFFERED(name, ...) \
  make_sim_kernel<DoubleBuffered<(__VA_ARGS__)>>(#name, "double_buffered", (__VA_ARGS__)),
#include "kernels/instances.def"
  };
}

}  // namespace xgemm::sim
