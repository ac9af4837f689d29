// Words for a coalesced layout. The layout itself is constexpr and lives in the header.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "layout/coalesced_layout.h"

namespace xgemm::layout {
namespace {

std::string pair(const int (&values)[2]) {
  return std::string("[") + std::to_string(values[0]) + ", " + std::to_string(values[1]) + "]";
}

}  // namespace

std::string to_string(const CoalescedLayout& layout) {
  const int repetitions = layout.repetitions();
  return std::to_string(layout.tile[0]) + "x" + std::to_string(layout.tile[1]) + ": per thread " +
         pair(layout.per_thread) + ", lanes " + pair(layout.lanes) + ", warps " + pair(layout.warps) + ", " +
         std::to_string(repetitions) + (repetitions == 1 ? " repetition" : " repetitions");
}

}  // namespace xgemm::layout
