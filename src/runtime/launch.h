// From a Plan to work on a stream.
#pragma once

#include "core/problem.h"
#include "core/status.h"
#include "device/device_info.h"
#include "plan/plan.h"
#include "runtime/device_gemm.h"

namespace xgemm::runtime {

// The device with what can only be asked in a context on it, once: the planner wants it.
const device::DeviceInfo& completed(const device::DeviceInfo& device);

// Enqueues the plan's kernel and returns. The plan is legal for the problem and the device.
Status launch(const plan::Plan& plan, const Problem& problem, const device::DeviceInfo& device,
              const LaunchSettings& settings);

}  // namespace xgemm::runtime
