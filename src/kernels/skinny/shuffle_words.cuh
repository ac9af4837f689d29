// Shuffles of sums of any type, by their words.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/target.cuh"

namespace xgemm::kernels {

// shuffle(word): what a lane gets for one of its words.
template <class Sum, class Shuffle>
XGEMM_DEVICE Sum shuffle_words(Sum x, const Shuffle& shuffle) {
  struct Words {
    std::uint32_t word[sizeof(Sum) / 4];
  };
  auto words = gpu::detail::bit_cast<Words>(x);
  for (std::uint32_t& word : words.word) word = shuffle(word);
  return gpu::detail::bit_cast<Sum>(words);
}

// x of the lane whose number differs by this one's exclusive or with `distance`.
template <class Sum>
XGEMM_DEVICE Sum across_lanes(Sum x, int distance) {
  return shuffle_words(x, [&](auto word) { return gpu::shuffle_xor(word, distance); });
}

}  // namespace xgemm::kernels
