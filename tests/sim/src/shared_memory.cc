// Shared memory of a CTA. SPDX-License-Identifier: BSD-3-Clause
#include "sim/shared_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <stdexcept>

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
  statics_.clear();
}

void* SharedMemory::static_object(const void* key, std::size_t bytes, std::size_t alignment) {
  for (const StaticObject& object : statics_)
    if (object.key == key) return base_ + object.offset;
  const std::size_t offset = (size_ + alignment - 1) / alignment * alignment;
  if (offset + bytes > kMaxSharedBytes) throw std::length_error("the CTA's shared memory exceeds 227 KiB");
  size_ = offset + bytes;
  std::memset(base_ + offset, kPoison, bytes);
  cells_.resize((size_ >> granule_shift_) + 1);
  statics_.push_back({key, offset});
  return base_ + offset;
}

}  // namespace xgemm::sim
