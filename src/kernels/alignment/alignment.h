// The launch of the check of a batch's pointers.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/alignment/params.h"

namespace xgemm::kernels {

cudaError_t launch_alignment(const AlignmentParams& params, cudaStream_t stream);

}  // namespace xgemm::kernels
