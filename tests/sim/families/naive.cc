// The naive instances in the simulator. SPDX-License-Identifier: BSD-3-Clause
#include "kernels/naive/naive.cuh"

#include "families.h"
#include "family.h"

namespace xgemm::sim {

using namespace kernels;

std::vector<SimKernel> naive_kernels() {
  return {
#define XGEMM_NAIVE(name, ...) make_sim_kernel<Naive<(__VA_ARGS__)>>(#name, "naive", (__VA_ARGS__)),
#include "kernels/instances.def"
  };
}

}  // namespace xgemm::sim
