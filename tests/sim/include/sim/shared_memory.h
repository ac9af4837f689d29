// Shared memory of one CTA, with its shadow. Starts as poison (NaN) that counts as uninitialised.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/clock.h"
#include "sim/shadow.h"

namespace xgemm::sim {

inline constexpr int kMaxSharedBytes = 227 * 1024;  // of a CTA, on sm_90
inline constexpr int kSharedAlignment = 1024;
inline constexpr unsigned char kPoison = 0xff;  // bytes of a NaN in fp32 and in fp16

class SharedMemory {
 public:
  struct Cell {
    ShadowCell shadow;
    std::uint32_t pending = 0;  // asynchronous copies under way into this granule: the number of the last; 0: none
    static constexpr std::uint32_t kOpaque = 0xffffffff;  // `pending` of what is no data: an mbarrier
  };

  SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  ~SharedMemory();

  // granule: the least bytes that threads write on their own, 1, 2, 4, 8 or 16; accesses that share one, at least one
  // of them a write, count as accesses of the same memory.
  void reset(std::size_t dynamic_bytes, int granule);

  unsigned char* base() { return base_; }
  std::size_t size() const { return size_; }
  bool contains(std::uintptr_t address, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(base_);
    return address >= begin && address - begin + bytes <= size_;
  }
  std::size_t offset(std::uintptr_t address) const { return address - reinterpret_cast<std::uintptr_t>(base_); }

  // The granules of an access.
  Cell* first_cell(std::size_t offset) { return cells_ + (offset >> granule_shift_); }
  Cell* end_cell(std::size_t offset, std::size_t bytes) {
    return cells_ + ((offset + bytes - 1) >> granule_shift_) + 1;
  }

 private:
  struct Storage;
  static std::vector<std::unique_ptr<Storage>>& spare();
  std::unique_ptr<Storage> storage_;
  unsigned char* base_ = nullptr;
  std::size_t size_ = 0;
  int granule_shift_ = 0;
  Cell* cells_ = nullptr;
};

}  // namespace xgemm::sim
