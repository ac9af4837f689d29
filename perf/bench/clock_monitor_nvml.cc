// Implementation of clock_monitor.h on NVML's C interface, whose declarations are small and stable enough to be written
// down here: the program must build without NVIDIA's headers. SPDX-License-Identifier: BSD-3-Clause
#include "bench/clock_monitor.h"
#include "bench/dynamic_library.h"

namespace xgemm::perf {
namespace {

using NvmlDevice = struct nvmlDevice_st*;
constexpr int kSuccess = 0;
constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMemory = 2;
// Bits of the clock event (formerly: throttle) reasons.
constexpr unsigned long long kSoftwarePowerCap = 0x4;
constexpr unsigned long long kHardwareSlowdown = 0x8;
constexpr unsigned long long kSoftwareThermal = 0x20;
constexpr unsigned long long kHardwareThermal = 0x40;
constexpr unsigned long long kHardwarePowerBrake = 0x80;

struct Nvml {
  int (*init)() = nullptr;
  int (*device_by_bus_id)(const char*, NvmlDevice*) = nullptr;
  int (*clock)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*max_clock)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*power)(NvmlDevice, unsigned*) = nullptr;
  int (*power_limit)(NvmlDevice, unsigned*) = nullptr;
  int (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
};

bool load(const DynamicLibrary& library, Nvml& nvml) {
  // Optional: a missing one leaves its value at zero.
  library.load(nvml.max_clock, "nvmlDeviceGetMaxClockInfo");
  library.load(nvml.power, "nvmlDeviceGetPowerUsage");
  library.load(nvml.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  library.load(nvml.driver_version, "nvmlSystemGetDriverVersion");
  if (!library.load(nvml.reasons, "nvmlDeviceGetCurrentClocksEventReasons"))
    library.load(nvml.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  return library.load(nvml.init, "nvmlInit_v2") && library.load(nvml.clock, "nvmlDeviceGetClockInfo") &&
         library.load(nvml.device_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
}

class NvmlMonitor final : public ClockMonitor {
 public:
  NvmlMonitor(const Nvml& nvml, NvmlDevice device) : nvml_(nvml), device_(device) {}

  GpuFacts facts() const override {
    GpuFacts facts;
    char text[96] = "";
    if (nvml_.driver_version != nullptr && nvml_.driver_version(text, sizeof(text)) == kSuccess) facts.driver = text;
    facts.max_sm_mhz = read(nvml_.max_clock, kClockSm);
    facts.max_memory_mhz = read(nvml_.max_clock, kClockMemory);
    facts.power_limit_w = read(nvml_.power_limit) * 1e-3;
    return facts;
  }

  ClockSample sample() override {
    ClockSample now;
    now.sm_mhz = read(nvml_.clock, kClockSm);
    now.power_w = read(nvml_.power) * 1e-3;
    unsigned long long reasons = 0;
    if (nvml_.reasons != nullptr && nvml_.reasons(device_, &reasons) == kSuccess) {
      now.power_capped = (reasons & kSoftwarePowerCap) != 0;
      now.thermal = (reasons & (kHardwareSlowdown | kSoftwareThermal | kHardwareThermal | kHardwarePowerBrake)) != 0;
    }
    return now;
  }

 private:
  double read(int (*function)(NvmlDevice, unsigned*)) const {
    unsigned value = 0;
    return function != nullptr && function(device_, &value) == kSuccess ? value : 0;
  }
  double read(int (*function)(NvmlDevice, unsigned, unsigned*), unsigned which) const {
    unsigned value = 0;
    return function != nullptr && function(device_, which, &value) == kSuccess ? value : 0;
  }

  Nvml nvml_;
  NvmlDevice device_;
};

}  // namespace

std::unique_ptr<ClockMonitor> make_nvml_monitor(const std::string& pci_bus_id, std::string& why) {
  const DynamicLibrary library({"libnvidia-ml.so.1", "libnvidia-ml.so"});
  Nvml nvml;
  if (!library || !load(library, nvml)) {
    why = library ? "libnvidia-ml lacks functions" : library.error();
    return nullptr;
  }
  NvmlDevice device = nullptr;
  if (nvml.init() != kSuccess || nvml.device_by_bus_id(pci_bus_id.c_str(), &device) != kSuccess) {
    why = "NVML does not know this GPU";
    return nullptr;
  }
  return std::make_unique<NvmlMonitor>(nvml, device);
}

}  // namespace xgemm::perf
