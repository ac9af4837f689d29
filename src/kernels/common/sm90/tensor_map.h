// Tensor maps: what the copy engine (TMA) is told about a matrix. Made on the host for every call, since a map holds
// the pointer, the extents, the strides and the box; passed to the kernel as a __grid_constant__ parameter.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#if defined(XGEMM_HAVE_CUDA) && !defined(XGEMM_SIM)
#include <cuda.h>
#include <cuda_runtime_api.h>
#endif

#include <cstdint>

#include "kernels/common/sm90/tensor_box.h"

namespace xgemm::kernels {

#if defined(XGEMM_SIM) || !defined(XGEMM_HAVE_CUDA)

using TensorMap = TensorBox;  // the simulator's copy engine reads the plain description; other builds make none

#else

using TensorMap = CUtensorMap;

// The driver is looked up at run time, so that the library loads where there is none.
cudaError_t encode_tensor_map(TensorMap& map, const TensorBox& box);

#endif

}  // namespace xgemm::kernels
