// What it takes to store a C whose columns start within sectors of 32 bytes of the L2.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "device/rates.h"

namespace xgemm::kernels {

// us, of so many elements, stored (and read) by runs of `rows` rows of a column, of m. A run asks for a sector more
// than it has bytes for, and the L2 takes as long for a part of a sector as for all of it: kernels with runs of 8 to
// 128 rows of fp32 and of 64 of fp16 came to 0.24 to 0.34 sectors for each cycle of an SM, on an H100 and an H200.
inline double misaligned_c_us(double elements, int element_bytes, double rows, double m, const device::Rates& rates,
                              int sms) {
  constexpr double kSectorsPerCycle = 0.33, kSectorBytes = 32;
  const double run = std::max(1.0, std::min(rows, m));
  const double sectors = elements * (element_bytes / kSectorBytes + 1 / run);
  return sectors * 1e-3 / (kSectorsPerCycle * sms * rates.sm_ghz);
}

}  // namespace xgemm::kernels
