// A product with host operands on the GPU; on the CPU where the GPU cannot do it and the CPU can.
#pragma once

#include <string>

#include "core/problem.h"
#include "core/status.h"
#include "device/device_info.h"
#include "runtime/pointer_location.h"
#include "transfer/staging.h"

namespace xgemm::dispatch {

// When all operands are the host's, lack of memory and failing CUDA calls cost time and not the product: the CPU
// computes what the GPU has left of C, and *gpu_failure says why. It stays empty when the GPU did all.
Status staged_or_cpu(transfer::StagerHandle& stager, const Problem& problem, const runtime::Placement& placement,
                     const device::DeviceInfo& device, void* stream, std::string* gpu_failure);

}  // namespace xgemm::dispatch
