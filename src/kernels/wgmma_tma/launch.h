// The launch of wgmma_tma, for all instances in one function.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/common/opt_in.h"
#include "kernels/wgmma_tma/arguments.h"

namespace xgemm::kernels {

// A kernel.
struct WgmmaTmaEntry {
  const void* function;
  SharedOptIn& opt_in;
};

// What the launch needs of an instance.
struct WgmmaTmaInstance {
  WgmmaTmaConfig config;
  WgmmaTmaBoxes boxes;
  int shared_bytes;
  WgmmaTmaEntry plain;
  WgmmaTmaEntry finishing;  // of products that have an epilogue, where config.finishes
  WgmmaTmaEntry following;  // of matrices that are found by pointers, where config.follows
};

cudaError_t launch_wgmma_tma(const WgmmaTmaInstance& instance, const GemmParams& g, const Schedule& schedule,
                             void* workspace, cudaStream_t stream);

}  // namespace xgemm::kernels
