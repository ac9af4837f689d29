// The launch of split_sum.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include "core/dtype.h"
#include "kernels/common/split_sum_params.h"

namespace xgemm::kernels {

// type: of C. Enqueued right after the kernel whose sums it adds.
cudaError_t launch_split_sum(DType type_c, const SplitSumParams& params, cudaStream_t stream);

}  // namespace xgemm::kernels
