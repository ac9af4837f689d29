// The one __global__ function: any kernel struct becomes a CUDA kernel by instantiating it. nvcc only; the simulator's
// counterpart is sim::launch<Kernel>.
//
// Launched with schedule.clusters blocks of Kernel::kThreads threads and kSharedBytes<Kernel> of dynamic shared memory,
// after opting in to more than kDefaultSharedBytes where the kernel uses more (launch_instance.cuh).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/params.h"
#include "kernels/common/smem.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, Kernel::kMinBlocksPerSm)
    kernel_entry(const __grid_constant__ TileParams params) {
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  // A binary holds code for several architectures; a kernel has a body only where its instructions exist. The planner
  // never chooses it elsewhere.
  if constexpr (Kernel::kInstance.runs_on(gpu::kArch / 10)) {
    Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(dynamic_shared));
  }
}

}  // namespace xgemm::kernels
