// The host side of each instance: a function that enqueues it. CUDA builds only.
#pragma once

#include <cuda_runtime_api.h>

#include "device/device_info.h"
#include "kernels/common/params.h"
#include "kernels/common/schedule.h"
#include "kernels/instances.h"

namespace xgemm::kernels {

// A function per row of instances.def, defined in a .cu file of its family. workspace: schedule.workspace_bytes.
using Launcher = cudaError_t (*)(const GemmParams& params, const Schedule& schedule, float* workspace,
                                 cudaStream_t stream);
#define XGEMM_INSTANCE(family, name, ...) \
  cudaError_t launch_##name(const GemmParams& params, const Schedule& schedule, float* workspace, cudaStream_t stream);
#include "kernels/instances.def"

#if !defined(XGEMM_NO_SM90A)
// Asks the driver for DeviceInfo::resident_clusters, of the current device.
cudaError_t ask_resident_clusters(device::DeviceInfo& device);
#endif

}  // namespace xgemm::kernels
