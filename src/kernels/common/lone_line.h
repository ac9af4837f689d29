// The stride across a matrix of one line.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace xgemm::kernels {

// Nothing lies there, but lanes that have other lines form their addresses, for copies of nothing: on vectors of any
// type, as those of whole lines are.
constexpr std::int64_t stride_of_lines(std::int64_t ld, std::int64_t lines) {
  constexpr std::int64_t kElements = 16;
  return lines > 1 ? ld : (ld + kElements - 1) / kElements * kElements;
}

}  // namespace xgemm::kernels
