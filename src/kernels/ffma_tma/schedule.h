// How ffma_tma shares a product out: the order of tiles and the number of CTAs. Host code, pure.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/schedule.h"
#include "kernels/ffma_tma/config.h"

namespace xgemm::kernels {

// ctas: those that the GPU runs at the same time. sms: its SMs. Tiles whose K a cluster shares are not split, and each
// has a cluster.
inline Schedule ffma_tma_schedule(const FfmaTmaConfig& c, std::int64_t m, std::int64_t n, std::int64_t batch_count,
                                  const Sharing& sharing, int ctas, int sms, Fill fill = Fill::full) {
  const TileGrid grid = tile_grid(fill, m, n, c.cta_m, c.cta_n);
  Schedule s;
  s.tiles_m = grid.m;
  s.tiles_n = grid.n;
  s.triangle = grid.triangle;
  const std::int64_t all = s.tiles_m * s.tiles_n * batch_count;
  share_out(sharing, all, std::int64_t{c.cta_m} * c.cta_n, sizeof(float), sms, &s);
  s.clusters = static_cast<unsigned>(s.cluster.k > 1 ? s.units : std::min<std::int64_t>(s.units, ctas));
  // CTAs that run at the same time should cover a square of C: they then read the fewest different slices.
  const double together = static_cast<double>(std::min<std::int64_t>(all, s.clusters));
  const auto side = std::lround(std::sqrt(together * c.cta_n / c.cta_m));
  s.set_raster(side, false);
  return s;
}

}  // namespace xgemm::kernels
