// The host side of each instance: a function that enqueues it. CUDA builds only.
#pragma once

#include <cuda_runtime_api.h>

#include "device/device_info.h"
#include "kernels/common/params.h"
#include "kernels/common/schedule.h"
#include "kernels/instances.h"

namespace xgemm::kernels {

// workspace: schedule.workspace_bytes.
using Launcher = cudaError_t (*)(const GemmParams& params, const Schedule& schedule, void* workspace,
                                 cudaStream_t stream);
Launcher launcher_of(const KernelId& id);

// Of the instances in one of a family's compilation units (unit.cu.in), which sets their places.
template <Family kFamily, int kPart>
void set_launchers(Launcher* of_family);

#if !defined(XGEMM_NO_SM90A)
// Asks the driver for DeviceInfo::resident_clusters, of the current device.
cudaError_t ask_resident_clusters(device::DeviceInfo& device);
#endif

}  // namespace xgemm::kernels
