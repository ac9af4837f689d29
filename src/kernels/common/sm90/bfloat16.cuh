// bfloat16 storage: the upper half of an fp32.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace xgemm::gpu {

struct bfloat16 {
  std::uint16_t bits;
};

}  // namespace xgemm::gpu
