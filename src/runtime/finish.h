// Products with an epilogue that no kernel applies: a product without one and a pass over C (core/finishing.h).
#pragma once

#include "runtime/device_gemm.h"

namespace xgemm::runtime {

Status finished_gemm(const Problem& problem, const device::DeviceInfo& device, const LaunchSettings& settings);

}  // namespace xgemm::runtime
