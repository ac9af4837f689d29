// The tiles of mma_lines, along lines first: the short operand stays. (BasicSchedule::position with a raster_group of 1
// across the lines.)
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/mma_lines/instances.h"

namespace xgemm::kernels {

XGEMM_DEVICE unsigned tiles_of_entry(const TileParams& p) {
  return static_cast<unsigned>(p.schedule.tiles_m * p.schedule.tiles_n);
}

template <TileConfig kConfig>
XGEMM_DEVICE Unit line_unit(const TileParams& p, unsigned index, bool streams_b) {
  const auto m = static_cast<unsigned>(p.schedule.tiles_m), n = static_cast<unsigned>(p.schedule.tiles_n);
  const unsigned along = streams_b ? n : m, across = streams_b ? m : n;
  unsigned at = index, column = 0, entry = 0;
  if (index >= along) {
    column = index / along;
    at -= column * along;
    if (column >= across) {
      entry = column / across;
      column -= entry * across;
    }
  }
  return {index,
          entry,
          (streams_b ? column : at) * std::int64_t{kConfig.cta_m},
          (streams_b ? at : column) * std::int64_t{kConfig.cta_n},
          0,
          p.k};
}

}  // namespace xgemm::kernels
