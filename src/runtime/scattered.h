// Products whose C is not plain: computed in a buffer, whose elements are then scattered (core/scattering.h).
#pragma once

#include "runtime/device_gemm.h"

namespace xgemm::runtime {

Status scattered_gemm(const Problem& problem, const device::DeviceInfo& device, const LaunchSettings& settings);

}  // namespace xgemm::runtime
