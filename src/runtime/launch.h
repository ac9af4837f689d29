// From a Plan to work on a stream.
#pragma once

#include "core/problem.h"
#include "core/status.h"
#include "plan/plan.h"
#include "runtime/device_gemm.h"
#include "runtime/device_info.h"

namespace xgemm::runtime {

// Enqueues the plan's kernel and returns. The plan is legal for the problem and the device.
Status launch(const plan::Plan& plan, const Problem& problem, const DeviceInfo& device, const LaunchSettings& settings);

}  // namespace xgemm::runtime
