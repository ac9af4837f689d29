// The rates that this machine reaches in practice: the roof of the roofline. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "bench/device.h"
#include "bench/results.h"

namespace xgemm::perf {

/// Takes about a second. Rates that cannot be measured here stay 0.
Ceilings measure_ceilings(Device& device);

/// The parts. On a GPU they need the program to be built with CUDA.
Ceilings measure_host_ceilings(const Device& device);
Ceilings measure_cuda_ceilings(Device& device);

}  // namespace xgemm::perf
