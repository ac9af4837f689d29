// The GPU in cost models of tiles.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "device/device_info.h"
#include "device/rates.h"

namespace xgemm::kernels {

// What a GPU has, as cost models see it.
struct CostDevice {
  device::Rates rates;
  int sms = 132;
  int clusters[4] = {132, 66, 30, 15};  // of 1, 2, 4 and 8 CTAs that run at the same time
  double l2_bytes = 50e6;

  static CostDevice of(const device::DeviceInfo& device) {
    CostDevice d = {.rates = device.rates, .sms = device.sm_count, .l2_bytes = static_cast<double>(device.l2_bytes)};
    for (int i = 0; i < 4; ++i) d.clusters[i] = device.clusters_of(1 << i);
    return d;
  }

  int clusters_of(int size) const { return std::max(1, clusters[size >= 8 ? 3 : size >= 4 ? 2 : size - 1]); }
};

}  // namespace xgemm::kernels
