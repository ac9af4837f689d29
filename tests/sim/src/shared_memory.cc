// Shared memory of a CTA. SPDX-License-Identifier: BSD-3-Clause
#include "sim/shared_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace xgemm::sim {

void SharedMemory::Free::operator()(unsigned char* p) const {
  ::operator delete[](p, std::align_val_t{kSharedAlignment});
}

void SharedMemory::reset(std::size_t dynamic_bytes, int granule) {
  if (!storage_) {
    storage_.reset(static_cast<unsigned char*>(::operator new[](kMaxSharedBytes, std::align_val_t{kSharedAlignment})));
    base_ = storage_.get();
  }
  const std::size_t used = std::max(size_, dynamic_bytes);
  std::memset(base_, kPoison, used);
  size_ = dynamic_bytes;
  granule_shift_ = std::bit_width(static_cast<unsigned>(std::clamp(granule, 1, 16))) - 1;
  cells_.assign((size_ >> granule_shift_) + 1, Cell{});
}

}  // namespace xgemm::sim
