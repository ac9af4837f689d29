// Global memory: which addresses are elements. SPDX-License-Identifier: BSD-3-Clause
#include "sim/memory.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace xgemm::sim {
namespace {

// Spans up to this many elements are mapped element by element.
constexpr std::int64_t kMaxMapped = std::int64_t{1} << 24;

}  // namespace

void GlobalMemory::add(Region region) {
  if (region.rows <= 0 || region.cols <= 0 || region.batch <= 0 || region.data == nullptr) return;
  Mapped mapped;
  // Negative strides run downwards from `data`.
  const std::int64_t extents[3] = {region.rows, region.cols, region.batch};
  const std::int64_t strides[3] = {region.row_stride, region.col_stride, region.batch_stride};
  std::int64_t low = 0, high = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t reach = (extents[axis] - 1) * strides[axis];
    (reach < 0 ? low : high) += reach;
  }
  const auto origin = reinterpret_cast<std::uintptr_t>(region.data);
  mapped.begin = origin + static_cast<std::uintptr_t>(low * region.element_bytes);
  mapped.end = origin + static_cast<std::uintptr_t>((high + 1) * region.element_bytes);
  mapped.writable = may(region.access, Access::write);
  mapped.region = std::move(region);
  const std::int64_t span = high - low + 1;
  if (span <= kMaxMapped) {
    mapped.valid.assign(static_cast<std::size_t>(span), 0);
    for (std::int64_t b = 0; b < extents[2]; ++b)
      for (std::int64_t j = 0; j < extents[1]; ++j)
        for (std::int64_t i = 0; i < extents[0]; ++i)
          mapped.valid[static_cast<std::size_t>(i * strides[0] + j * strides[1] + b * strides[2] - low)] = 1;
    for (auto valid = mapped.valid.rbegin() + 1; valid < mapped.valid.rend(); ++valid)
      if (*valid != 0) *valid = std::min<std::uint16_t>(Mapped::kMostAtOnce, valid[-1] + 1);
    if (mapped.writable) mapped.cells.resize(static_cast<std::size_t>(span));
  }
  regions_.push_back(std::move(mapped));
}

bool GlobalMemory::Mapped::are_valid_far(std::int64_t first, std::int64_t count) const {
  // From the longest stride to the shortest; right for matrices whose lines do not interleave.
  std::pair<std::int64_t, std::int64_t> axes[3] = {{std::abs(region.row_stride), region.rows},
                                                   {std::abs(region.col_stride), region.cols},
                                                   {std::abs(region.batch_stride), region.batch}};
  std::sort(std::begin(axes), std::end(axes), std::greater<>());
  for (std::int64_t rest = first; rest < first + count; ++rest) {
    std::int64_t element = rest;
    for (const auto& [stride, extent] : axes) {
      if (extent == 1 || stride == 0) continue;
      const std::int64_t index = std::min(element / stride, extent - 1);
      element -= index * stride;
    }
    if (element != 0) return false;
  }
  return true;
}

void GlobalMemory::forget_accesses() {
  if (!std::exchange(launched_, true)) return;
  for (Mapped& region : regions_) {
    std::fill(region.cells.begin(), region.cells.end(), Mapped::Cell{});
    region.far_cells.clear();
  }
}

}  // namespace xgemm::sim
