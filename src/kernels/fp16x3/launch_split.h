// The pass before an fp16x3 product, enqueued. CUDA builds with sm_90a only.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/fp16x3/split.h"

namespace xgemm::kernels {

cudaError_t launch_split(const SplitParams& params, cudaStream_t stream);

}  // namespace xgemm::kernels
