// The launch of the finishing pass.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/finish/params.h"

namespace xgemm::kernels {

// type: of C.
cudaError_t launch_finish(DType type, const FinishParams& params, cudaStream_t stream);

}  // namespace xgemm::kernels
