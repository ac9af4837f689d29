// Clock, power and throttling of the GPU while it is being timed, through NVML opened at run time.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace xgemm::perf {

/// One look at the GPU. Zero where the GPU does not tell.
struct ClockSample {
  double sm_mhz = 0;
  double power_w = 0;
  bool thermal = false;       // slowed down for heat or by the board: times taken now are not the GPU's own
  bool power_capped = false;  // at the power limit: normal for large products, and part of what a GPU can do
};

/// What does not change during a run.
struct GpuFacts {
  std::string driver;
  double max_sm_mhz = 0;
  double max_memory_mhz = 0;
  double power_limit_w = 0;
};

class ClockMonitor {
 public:
  virtual ~ClockMonitor() = default;
  virtual GpuFacts facts() const { return {}; }
  virtual ClockSample sample() { return {}; }
};

/// Null when NVML or the device is not there; `why` says which.
std::unique_ptr<ClockMonitor> make_nvml_monitor(const std::string& pci_bus_id, std::string& why);

}  // namespace xgemm::perf
