// Devices through the CUDA runtime. CUDA builds only; no_cuda.cc stands in elsewhere.
#include "device/device_info.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/environment.h"
#include "core/loader.h"
#include "core/once.h"
#include "device/code_architecture.h"
#include "device/cuda_status.h"

namespace xgemm::device {
namespace {

struct Devices {
  std::vector<DeviceInfo> infos;
  std::string reason;                // why there is none
  std::uint32_t found_in = forks();  // the process that asked
};

// CUDA does not work in the child of a process that has used it, and asking the driver there may hang.
Devices none_after_fork() {
  Devices none;
  none.reason = "no GPU: this process was forked from one that uses CUDA";
  if (environment().verbose > 0) print_line(none.reason + "; the CPU computes");
  return none;
}

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  cudaDeviceGetAttribute(&value, which, ordinal);
  return value;
}

// From the driver's summary; does not create a context on the device.
DeviceInfo read_info(int ordinal) {
  DeviceInfo d;
  d.ordinal = ordinal;
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, ordinal) == cudaSuccess) {
    std::copy_n(properties.name, sizeof(d.name) - 1, d.name);  // the last character stays zero
    d.memory_bytes = properties.totalGlobalMem;
  }
  d.compute_capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor, ordinal) +
                         attribute(cudaDevAttrComputeCapabilityMinor, ordinal);
  if (const int built = code_architecture(d.compute_capability); built < d.compute_capability)
    d.code_architecture = built;
  d.sm_count = attribute(cudaDevAttrMultiProcessorCount, ordinal);
  d.max_shared_bytes_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal);
  d.has_memory_pools = attribute(cudaDevAttrMemoryPoolsSupported, ordinal) != 0;
  d.l2_bytes = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, ordinal));
  // Clocks in kHz; two transfers a clock, over a bus of so many bits.
  const double sm_ghz = 1e-6 * attribute(cudaDevAttrClockRate, ordinal);
  const double memory_tbs = 2e-12 * 1e3 * attribute(cudaDevAttrMemoryClockRate, ordinal) / 8 *
                            attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal);
  d.rates = rates_of({d.name, d.compute_capability, d.sm_count, sm_ghz, memory_tbs}, own_gpu_rows());
  return d;
}

Devices find_devices() {
  if (forked_while_loading()) return none_after_fork();
  Devices devices;
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    // The runtime reports a missing driver as one that is too old.
    devices.reason = error == cudaErrorInsufficientDriver
                         ? std::string("no GPU: no NVIDIA driver, or one too old for this build")
                         : std::string("no GPU: ") + cudaGetErrorString(error);
    forget_last_error();
    if (error == cudaErrorInitializationError && forks() > 0) return none_after_fork();
    return devices;
  }
  for (int i = 0; i < count; ++i) devices.infos.push_back(read_info(i));
  if (count == 0) devices.reason = "no GPU: the driver reports none";
  return devices;
}

const Devices& devices() {
  static Loaded<Devices> found;  // CUDA loads its driver
  static Once<Devices> after_fork;
  const Devices& first = found.get(find_devices);
  return first.infos.empty() || first.found_in == forks() ? first : after_fork.get(none_after_fork);
}

}  // namespace

int device_count() {
  return static_cast<int>(devices().infos.size());
}

const DeviceInfo* device_info(int ordinal) {
  return ordinal >= 0 && ordinal < device_count() ? &devices().infos[static_cast<std::size_t>(ordinal)] : nullptr;
}

int current_device() {
  int ordinal = 0;
  return device_count() > 0 && cudaGetDevice(&ordinal) == cudaSuccess ? ordinal : 0;
}

const std::string& no_device_reason() {
  return devices().reason;
}

bool synchronize(const DeviceInfo& device, void* stream) {
  const DeviceGuard guard(device.ordinal);
  const auto s = static_cast<cudaStream_t>(stream);
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  const bool idle = cudaStreamIsCapturing(s, &capture) == cudaSuccess && capture == cudaStreamCaptureStatusNone &&
                    cudaStreamSynchronize(s) == cudaSuccess;
  forget_last_error();  // what failed is found by the program's own calls
  return idle;
}

}  // namespace xgemm::device
