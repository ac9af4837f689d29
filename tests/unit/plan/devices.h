// GPUs that exist only here.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <vector>

#include "device/device_info.h"

namespace xgemm::test {

// code_architecture: of a library that was built for older GPUs, or 0 for none that runs here.
inline device::DeviceInfo fake_device(int compute_capability, int sm_count, int shared_kib_per_block,
                                      int code_architecture = -1) {
  device::DeviceInfo d;
  std::snprintf(d.name, sizeof d.name, "a GPU of sm_%d", compute_capability);
  d.compute_capability = compute_capability;
  d.code_architecture = code_architecture;
  d.sm_count = sm_count;
  d.max_shared_bytes_per_block = shared_kib_per_block * 1024;
  d.l2_bytes = std::size_t{40} << 20;
  d.memory_bytes = std::size_t{16} << 30;
  return d;
}

// Shared memory as the CUDA programming guide lists it for each architecture.
inline const std::vector<device::DeviceInfo>& fake_devices() {
  static const std::vector<device::DeviceInfo> devices = {
      fake_device(75, 40, 64),    fake_device(75, 14, 64),   fake_device(80, 108, 163), fake_device(86, 82, 99),
      fake_device(86, 20, 99),    fake_device(89, 142, 99),  fake_device(90, 132, 227), fake_device(90, 1, 227),
      fake_device(100, 148, 227), fake_device(120, 188, 99),
  };
  return devices;
}

// With a library that was built for older ones.
inline const std::vector<device::DeviceInfo>& fake_devices_of_older_builds() {
  static const std::vector<device::DeviceInfo> devices = {fake_device(80, 108, 163, 75), fake_device(90, 132, 227, 75),
                                                          fake_device(90, 132, 227, 80)};
  return devices;
}

}  // namespace xgemm::test
