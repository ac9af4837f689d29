// Vectors of 16 bytes of lines that start anywhere, out of the two that hold their elements.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/dtype.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

// The vector that begins at an element of the first of two, of 2, 4 or 8 bytes each.
template <class Whole>
XGEMM_DEVICE Whole cut_out(const Whole& low, const Whole& high, int first) {
  constexpr int kElementBytes = static_cast<int>(sizeof(low[0]));
  struct Words {
    std::uint32_t word[4];
  };
  const auto a = gpu::detail::bit_cast<Words>(low), b = gpu::detail::bit_cast<Words>(high);
  std::uint32_t words[] = {a.word[0], a.word[1], a.word[2], a.word[3], b.word[0], b.word[1], b.word[2], b.word[3]};
  const int bytes = first * kElementBytes;
  XGEMM_UNROLL
  for (int i = 0; i < 6; ++i) words[i] = (bytes & 8) != 0 ? words[i + 2] : words[i];
  if constexpr (kElementBytes <= 4) {
    XGEMM_UNROLL
    for (int i = 0; i < 5; ++i) words[i] = (bytes & 4) != 0 ? words[i + 1] : words[i];
  }
  if constexpr (kElementBytes == 2) {
    XGEMM_UNROLL
    for (int i = 0; i < 4; ++i) words[i] = (bytes & 2) != 0 ? words[i] >> 16 | words[i + 1] << 16 : words[i];
  }
  return gpu::detail::bit_cast<Whole>(Words{{words[0], words[1], words[2], words[3]}});
}

}  // namespace xgemm::kernels
