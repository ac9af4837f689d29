// The launch of kernels that take TileParams: one function for all, where each instance's own would be some hundred
// kilobytes of the library. CUDA builds only.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/common/opt_in.h"
#include "kernels/common/params.h"
#include "kernels/common/schedule.h"
#include "kernels/common/tile_config.h"

namespace xgemm::kernels {

// An instance, or its twin.
struct TileKernel {
  const void* entry;
  SharedOptIn& opt_in;
  const TileConfig& config;
  unsigned threads;
  unsigned shared_bytes;  // the least that it is launched with
  bool starts_early = false;
};

// Enqueues it, and the second stage of tiles that it leaves in parts. workspace: schedule.workspace_bytes.
cudaError_t launch_tiles(const TileKernel& kernel, const GemmParams& params, const Schedule& schedule, void* workspace,
                         cudaStream_t stream);

}  // namespace xgemm::kernels
