// Shared memory of a CTA. SPDX-License-Identifier: BSD-3-Clause
#include "sim/shared_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace xgemm::sim {

struct SharedMemory::Storage {
  alignas(kSharedAlignment) unsigned char bytes[kMaxSharedBytes];
  std::vector<Cell> cells;
};

// Megabytes with their shadow, and each launch has some: used again.
std::vector<std::unique_ptr<SharedMemory::Storage>>& SharedMemory::spare() {
  static thread_local std::vector<std::unique_ptr<Storage>> instance;
  return instance;
}

SharedMemory::SharedMemory() = default;

SharedMemory::~SharedMemory() {
  if (storage_) spare().push_back(std::move(storage_));
}

void SharedMemory::reset(std::size_t dynamic_bytes, int granule) {
  if (!storage_) {
    auto& all = spare();
    if (all.empty()) all.push_back(std::make_unique<Storage>());
    storage_ = std::move(all.back());
    all.pop_back();
    base_ = storage_->bytes;
    size_ = kMaxSharedBytes;
  }
  const std::size_t used = std::max(size_, dynamic_bytes);
  std::memset(base_, kPoison, used);
  size_ = dynamic_bytes;
  granule_shift_ = std::bit_width(static_cast<unsigned>(std::clamp(granule, 1, 16))) - 1;
  const std::size_t cells = (size_ >> granule_shift_) + 1;
  if (storage_->cells.size() < cells) storage_->cells.resize(cells);
  cells_ = storage_->cells.data();
  std::fill_n(cells_, cells, Cell{});
}

}  // namespace xgemm::sim
