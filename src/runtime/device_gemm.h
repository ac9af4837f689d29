// A product whose operands a kernel can reach: facts, plan, launch. Enqueues and returns.
#pragma once

#include <cstddef>
#include <string>

#include "core/problem.h"
#include "core/status.h"
#include "device/device_info.h"
#include "plan/plan.h"

namespace xgemm::runtime {

struct LaunchSettings {
  void* stream = nullptr;  // cudaStream_t
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

Status device_gemm(const Problem& problem, const device::DeviceInfo& device, const LaunchSettings& settings);

// Gathers the facts and asks the planner, with the kernel that the environment forces, if any. Of a product that is
// computed in blocks (plan/blocks.h) the plan is that of the first one.
Status make_plan(const Problem& problem, const device::DeviceInfo& device, plan::Plan* chosen);

// Appends the chosen plan, the facts and the candidates that were weighed, a line each.
Status explain_plan(const Problem& problem, const device::DeviceInfo& device, std::string* text);

}  // namespace xgemm::runtime
