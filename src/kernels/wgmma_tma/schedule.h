// How wgmma_tma shares a product out: the order of tiles and the number of clusters. Host code, pure.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/schedule.h"
#include "kernels/wgmma_tma/config.h"

namespace xgemm::kernels {

// CTAs that share an SM: as many as it has tiles for, but each with so many slots of the ring that those of a tile and
// the first of the next one fit.
class WgmmaTmaCtasPerSm {
 public:
  constexpr explicit WgmmaTmaCtasPerSm(const WgmmaTmaConfig& c) : most_(c.most_ctas_per_sm()) {
    if (most_ > 1) old_c_slots_ = c.old_c_slots();
    for (int ctas = 2; ctas <= most_; ++ctas) slots_[ctas - 1] = c.slots(ctas);
  }

  constexpr int of(double tiles, std::int64_t slices, bool reads_c, int sms) const {
    const std::int64_t slots = slices + (reads_c ? old_c_slots_ : 0);
    int ctas = 1;
    while (ctas < most_ && tiles > double(ctas) * sms && slots_[ctas] > slots) ++ctas;
    return ctas;
  }

 private:
  int most_, old_c_slots_ = 0;
  int slots_[WgmmaTmaConfig::kMostCtasPerSm] = {};
};

// resident_clusters: those that the GPU runs at the same time, of one CTA on an SM. sms: its SMs. Tiles whose K a
// cluster shares are not split.
inline Schedule wgmma_tma_schedule(const WgmmaTmaConfig& c, std::int64_t m, std::int64_t n, std::int64_t batch_count,
                                   const Sharing& sharing, int resident_clusters, int sms, int ctas_per_sm = 1) {
  const auto tiles = [](std::int64_t extent, int tile) { return (extent + tile - 1) / tile; };
  Schedule s;
  const ClusterShape& cluster = sharing.cluster;
  s.tiles_m = tiles(m, c.cta_m * cluster.m);
  s.tiles_n = tiles(n, c.cta_n * cluster.n);
  const std::int64_t all = s.tiles_m * s.tiles_n * batch_count;
  share_out(sharing, all, std::int64_t{c.cta_m} * c.cta_n * cluster.size(), sizeof(float), sms, &s);
  s.ctas_per_sm = static_cast<std::uint8_t>(ctas_per_sm);
  s.clusters = static_cast<unsigned>(std::min<std::int64_t>(s.units, resident_clusters * std::int64_t{ctas_per_sm}));

  // CTAs that run at the same time should cover a square of C: they then read the fewest different slices. Clusters
  // that follow each other share the operand that is not multicast, or the wider one: measured, up to a fifth faster.
  const int height = c.cta_m * cluster.m, width = c.cta_n * cluster.n;
  const bool along_n = cluster.m != cluster.n ? cluster.m > cluster.n : c.cta_m > c.cta_n;
  const double together = static_cast<double>(std::min<std::int64_t>(all, s.clusters));
  const auto side = std::lround(std::sqrt(along_n ? together * height / width : together * width / height));
  s.set_raster(side, along_n);
  return s;
}

// Of a product whose tiles are all whole, the same for a block of it.
inline Schedule wgmma_tma_block_schedule(const WgmmaTmaConfig& c, Schedule s, std::int64_t m, std::int64_t n,
                                         std::int64_t batch_count) {
  const auto tiles = [](std::int64_t extent, int tile) { return (extent + tile - 1) / tile; };
  s.tiles_m = tiles(m, c.cta_m * s.cluster.m);
  s.tiles_n = tiles(n, c.cta_n * s.cluster.n);
  s.set_raster(s.raster_group, s.raster_n);
  s.whole_tiles = s.units = s.tiles_m * s.tiles_n * batch_count;
  s.clusters = static_cast<unsigned>(std::min<std::int64_t>(s.units, s.clusters));
  return s;
}

}  // namespace xgemm::kernels
