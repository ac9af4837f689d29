// The launch of the packing pass.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/pack/params.h"

namespace xgemm::kernels {

cudaError_t launch_pack(const PackParams& params, cudaStream_t stream);

}  // namespace xgemm::kernels
