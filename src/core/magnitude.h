// |x| as an unsigned number, which says that of the least integer as well.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/portability.h"

namespace xgemm {

XGEMM_HOST_DEVICE constexpr std::uint64_t magnitude(std::int64_t x) {
  return x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
}

}  // namespace xgemm
