// Global memory: the matrices that a kernel was given, and nothing else. Their elements are the memory of the test;
// what lies between them (rows from m to the leading dimension, guard bands) is out of bounds.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/clock.h"
#include "sim/shadow.h"

namespace xgemm::sim {

enum class Access : std::uint8_t { none = 0, read = 1, write = 2, read_write = 3 };
constexpr bool may(Access have, Access want) {
  return (static_cast<int>(have) & static_cast<int>(want)) != 0;
}

// A strided matrix, or a batch of them. Strides in elements.
struct Region {
  std::string name;
  const void* data = nullptr;
  int element_bytes = 4;
  std::int64_t rows = 0, cols = 0, batch = 1;
  std::int64_t row_stride = 1, col_stride = 0, batch_stride = 0;
  Access access = Access::read;
};

class GlobalMemory {
 public:
  // Empty matrices may be added: they have no valid address.
  void add(Region region);

  struct Mapped {
    Region region;
    std::uintptr_t begin = 0;  // of the span from the first to the last element
    std::uintptr_t end = 0;
    // How many elements from each one of the span on are valid, as far as that can be counted; empty: computed, for
    // spans that are too long.
    std::vector<std::uint16_t> valid;
    bool writable = false;

    struct Cell {
      ShadowCell shadow;
      std::int32_t write_cta = 0;
      std::int32_t read_cta[2] = {0, 0};
    };
    std::vector<Cell> cells;                           // of writable regions with a short span
    std::unordered_map<std::int64_t, Cell> far_cells;  // of those with a long one

    // Of one to kMostAtOnce elements that begin in the span, whether all are elements of the matrix.
    static constexpr std::int64_t kMostAtOnce = 256;
    bool are_valid(std::int64_t first, std::int64_t count) const {
      return valid.empty() ? are_valid_far(first, count) : valid[static_cast<std::size_t>(first)] >= count;
    }
    Cell& cell(std::int64_t element) {
      return cells.empty() ? far_cells[element] : cells[static_cast<std::size_t>(element)];
    }

   private:
    bool are_valid_far(std::int64_t first, std::int64_t count) const;
  };

  // The region whose span contains the address, or null.
  Mapped* find(std::uintptr_t address) {
    if (last_ < regions_.size() && contains(regions_[last_], address)) return &regions_[last_];
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      if (contains(regions_[i], address)) {
        last_ = i;
        return &regions_[i];
      }
    }
    return nullptr;
  }

  // Whether a matrix starts between this multiple of 16 bytes and the next one.
  bool starts_behind(std::uintptr_t address) const {
    return std::ranges::any_of(regions_, [=](const Mapped& x) { return x.begin > address && x.begin < address + 16; });
  }

  // Before each launch.
  void forget_accesses();

 private:
  static bool contains(const Mapped& region, std::uintptr_t address) {
    return address >= region.begin && address < region.end;
  }

  std::vector<Mapped> regions_;
  std::size_t last_ = 0;
  bool launched_ = false;
};

}  // namespace xgemm::sim
