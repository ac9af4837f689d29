// Products of operands on several GPUs. Enqueues and returns, like a product on one.
#pragma once

#include "core/problem.h"
#include "core/status.h"
#include "device/device_info.h"
#include "runtime/device_gemm.h"
#include "runtime/pointer_location.h"

namespace xgemm::transfer {

// On the device, which has C. Operands on other GPUs are copied to it in the order of the stream.
Status peer_gemm(const Problem& problem, const runtime::Placement& placement, const device::DeviceInfo& device,
                 const runtime::LaunchSettings& settings);

}  // namespace xgemm::transfer
