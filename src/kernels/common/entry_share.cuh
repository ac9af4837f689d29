// Which entries of a batch of matrices that are found by pointers belong to a kernel, of two that share it (Condition).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/params.h"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

// Whether this kernel stores an entry; by all lanes of a warp, or by threads with an entry each. The kernel that comes
// first leaves word of those that are not its own. a, b, c: the arrays of pointers, null where matrices are not read.
// c_batch: the batch stride of C.
XGEMM_DEVICE bool stores_entry(const Condition& condition, const void* a, const void* b, const void* c,
                               std::int64_t c_batch, std::int64_t entry) {
  if (condition.word == nullptr) return true;
  std::uint64_t starts = 0;
  for (const void* const array : {a, b, c})
    if (array != nullptr) starts |= gpu::read<gpu::Space::global>(static_cast<const std::uint64_t*>(array) + entry);
  const bool on_vectors = starts % 16 == 0, first = c_batch == kStrideOnVectors;
  if (first && !on_vectors && gpu::lane_index() == 0) gpu::atomic_exchange(condition.word, condition.value);
  return on_vectors == first;
}

}  // namespace xgemm::kernels
