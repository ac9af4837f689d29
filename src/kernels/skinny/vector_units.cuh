// What CTAs of the kernels for vectors work on: a tile of rows of X, with X = op(A) where C has more rows than columns,
// else the transpose of op(B), and as many vectors as C has of the other extent. CTAs of a cluster may share its K.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/kernel.cuh"
#include "kernels/common/sm90/cluster.cuh"

namespace xgemm::kernels {

// Whether X is op(A), and rows of the product are C's.
XGEMM_DEVICE bool long_m(const GemmParams& p) {
  return p.m >= p.n;
}
XGEMM_DEVICE std::int64_t vectors_of(const GemmParams& p) {
  return long_m(p) ? p.n : p.m;
}

// CTAs share K in clusters of 1, 2, 4 or 8.
XGEMM_DEVICE int sharer_bits(const TileParams& p) {
  const int sharers = p.schedule.cluster.k;
  return sharers == 8 ? 3 : sharers / 2;
}

// What this CTA sums, of tiles of kRows along both axes. Most products have tiles along one axis: of one entry their
// numbers need no division, of more a single one.
template <int kRows, int kTileK>
XGEMM_DEVICE Unit vector_unit(const TileParams& p, unsigned index) {
  const Schedule& s = p.schedule;
  const bool along_m = s.tiles_n == 1;
  Unit unit = {index, 0, 0, 0, 0, p.k};
  if ((along_m || s.tiles_m == 1) && s.first_tile == 0 && s.split_tiles == 0) {
    unsigned tile = index;
    if (const auto tiles = static_cast<unsigned>(along_m ? s.tiles_m : s.tiles_n); tiles != s.units) {
      unit.batch = index / tiles;
      tile = index - static_cast<unsigned>(unit.batch) * tiles;
    }
    (along_m ? unit.row : unit.col) = std::int64_t{tile} * kRows;
  } else {
    unit = unit_at_32<kRows, kRows, kTileK>(p, index);
  }
  if (s.cluster.k == 1) return unit;
  const std::int64_t slices = (p.k + kTileK - 1) / kTileK, part = gpu::cluster_rank();
  const std::int64_t end = (slices * (part + 1) >> sharer_bits(p)) * kTileK;
  unit.k = (slices * part >> sharer_bits(p)) * kTileK;
  unit.depth = (end < p.k ? end : p.k) - unit.k;
  return unit;
}

}  // namespace xgemm::kernels
