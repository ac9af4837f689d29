// A batch whose matrices are found by pointers on the GPU (core/pointer_batch.h).
#pragma once

#include "runtime/device_gemm.h"

namespace xgemm::runtime {

Status pointer_batch_gemm(const Problem& problem, const device::DeviceInfo& device, const LaunchSettings& settings);

}  // namespace xgemm::runtime
