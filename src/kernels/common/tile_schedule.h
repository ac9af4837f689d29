// How kernels of a TileConfig share a product out: a CTA for each tile, or part of one. Host code, pure.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/common/schedule.h"
#include "kernels/common/split_sum_params.h"
#include "kernels/common/tile_config.h"

namespace xgemm::kernels {

// The tiles from whole_tiles on are computed in `parts` parts each; with one part, or where clusters share K, all are
// whole. sms: of the GPU.
inline Schedule tile_schedule(const TileConfig& c, std::int64_t m, std::int64_t n, std::int64_t batch_count,
                              const Sharing& sharing, int sms, Fill fill = Fill::full) {
  const TileGrid grid = tile_grid(fill, m, n, c.cta_m, c.cta_n);
  Schedule s;
  s.tiles_m = grid.m;
  s.tiles_n = grid.n;
  s.triangle = grid.triangle;
  const std::int64_t all = saturated_product(saturated_product(s.tiles_m, s.tiles_n), batch_count);
  share_out(sharing, all, std::int64_t{c.cta_m} * c.cta_n, size_of(sums_of(c.type)), sms, &s);
  s.set_raster(c.raster_group, false);
  s.clusters = static_cast<unsigned>(
      std::min<std::int64_t>(s.units, std::numeric_limits<std::int32_t>::max() / s.cluster.size()));
  return s;
}

// Where kernels with CTA tiles of C leave the sums of parts.
template <class Config>
SplitSumLayout tile_sum_layout(const Config& c, const Schedule& schedule) {
  return {.tiles = static_cast<int>(schedule.split_tiles), .rows = c.cta_m, .columns = c.cta_n};
}

}  // namespace xgemm::kernels
