// What the check of a batch's pointers is told. Plain data.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace xgemm::kernels {

struct AlignmentParams {
  static constexpr int kThreads = 1024;
  static constexpr int kMaxArrays = 3;

  const std::uint64_t* arrays[kMaxArrays] = {};  // of pointers, in device memory
  int count = 0;
  std::int64_t entries = 0;         // of each
  unsigned* off_vectors = nullptr;  // becomes 1 where any pointer is no multiple of 16 bytes, else 0

  void add(const void* array) {
    if (array != nullptr) arrays[count++] = static_cast<const std::uint64_t*>(array);
  }
};

}  // namespace xgemm::kernels
