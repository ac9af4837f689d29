// How kernels of a TileConfig share a product out: a CTA for each tile, or part of one. Host code, pure.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/common/schedule.h"
#include "kernels/common/tile_config.h"

namespace xgemm::kernels {

// As many tiles as no GPU has time for are told as the largest number.
inline std::int64_t saturated_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

inline Schedule tile_schedule(const TileConfig& c, std::int64_t m, std::int64_t n, std::int64_t batch_count) {
  const auto tiles = [](std::int64_t extent, int tile) { return extent / tile + (extent % tile != 0 ? 1 : 0); };
  Schedule s;
  s.tiles_m = tiles(m, c.cta_m);
  s.tiles_n = tiles(n, c.cta_n);
  s.whole_tiles = s.units = saturated_product(saturated_product(s.tiles_m, s.tiles_n), batch_count);
  s.raster_group = static_cast<unsigned>(std::min<std::int64_t>(c.raster_group, s.tiles_m));
  s.clusters = static_cast<unsigned>(std::min<std::int64_t>(s.units, std::numeric_limits<std::int32_t>::max()));
  return s;
}

}  // namespace xgemm::kernels
