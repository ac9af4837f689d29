// What a result depends on besides the code: the machine, the drivers, the libraries, the settings.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "bench/clock_monitor.h"
#include "bench/device.h"
#include "bench/options.h"
#include "bench/results.h"

namespace xgemm::perf {

Facts describe_environment(const Device& device, const GpuFacts& gpu, const Options& options);
Facts describe_settings(const Device& device, const Options& options);
/// Now, in UTC, ISO 8601.
std::string utc_now();

}  // namespace xgemm::perf
