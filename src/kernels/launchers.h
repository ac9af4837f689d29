// The host side of each instance: a function that enqueues it. CUDA builds only.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/common/params.h"
#include "kernels/instances.h"

namespace xgemm::kernels {

// A function per row of instances.def, defined in the .cu file of its family. Families that do not split K ignore
// `split`.
using Launcher = cudaError_t (*)(const GemmParams& params, const SplitK& split, cudaStream_t stream);
#define XGEMM_INSTANCE(family, name, ...) \
  cudaError_t launch_##name(const GemmParams& params, const SplitK& split, cudaStream_t stream);
#include "kernels/instances.def"

}  // namespace xgemm::kernels
