// From the linear index of a CTA to its tile of C.
//
// Order: tiles are walked in groups of kGroup tile rows, down a group's column of tiles first. CTAs that run at the
// same time then share few slices of A and B, which stay in L2:
//
//     kGroup = 2      0 2 4 6
//                     1 3 5 7
//                     8 ...
//
// A grid has at most 2^31 - 1 CTAs in x and 65535 in z (the batch). for_each_tile loops over what the grid does not
// cover, so any grid computes all tiles; the loop runs once for every size that occurs in practice.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/params.h"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

struct TileCoord {
  std::int64_t m;  // in tiles
  std::int64_t n;
};

XGEMM_HOST_DEVICE constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// The grid that gives each tile a CTA of its own, as far as CUDA's limits allow. Host and device.
template <int kTileM, int kTileN>
XGEMM_HOST_DEVICE constexpr GridDim tile_grid(const GemmParams& p) {
  const std::int64_t tiles = ceil_div(p.m, kTileM) * ceil_div(p.n, kTileN);
  constexpr std::int64_t kMaxX = 0x7fffffff;
  constexpr std::int64_t kMaxZ = 0xffff;
  return {tiles < kMaxX ? tiles : kMaxX, 1, p.batch_count < kMaxZ ? p.batch_count : kMaxZ};
}

template <int kGroup>
XGEMM_HOST_DEVICE constexpr TileCoord tile_coord(std::int64_t tile, std::int64_t tiles_m, std::int64_t tiles_n) {
  static_assert(kGroup >= 1);
  // 64-bit division is a function call of about a hundred instructions on a GPU; nearly every grid fits 32 bits.
  if (tiles_m * tiles_n <= 0x7fffffff / kGroup) {
    const unsigned group_size = kGroup * static_cast<unsigned>(tiles_n);
    const unsigned group = static_cast<unsigned>(tile) / group_size;
    const unsigned rest = static_cast<unsigned>(tile) - group * group_size;
    const unsigned left = static_cast<unsigned>(tiles_m) - group * kGroup;
    const unsigned height = left < kGroup ? left : kGroup;
    const unsigned n = rest / height;
    return {static_cast<std::int64_t>(group * kGroup + rest - n * height), static_cast<std::int64_t>(n)};
  }
  const std::int64_t group_size = kGroup * tiles_n;
  const std::int64_t group = tile / group_size;
  const std::int64_t rest = tile - group * group_size;
  const std::int64_t left = tiles_m - group * kGroup;
  const std::int64_t height = left < kGroup ? left : kGroup;
  const std::int64_t n = rest / height;
  return {group * kGroup + rest - n * height, n};
}

// Calls body(batch, tile row, tile column) for every tile of this CTA; all threads of a CTA see the same tiles.
// A body that uses shared memory must leave it unused by all threads on return (end on a barrier, or not touch it
// after).
template <int kTileM, int kTileN, int kGroup, class Body>
XGEMM_DEVICE void for_each_tile(const GemmParams& p, const Body& body) {
  const std::int64_t tiles_m = ceil_div(p.m, kTileM);
  const std::int64_t tiles_n = ceil_div(p.n, kTileN);
  XGEMM_NO_UNROLL
  for (std::int64_t batch = gpu::block_z(); batch < p.batch_count; batch += gpu::grid_z()) {
    XGEMM_NO_UNROLL
    for (std::int64_t tile = gpu::block_x(); tile < tiles_m * tiles_n; tile += gpu::grid_x()) {
      const TileCoord at = tile_coord<kGroup>(tile, tiles_m, tiles_n);
      body(batch, at.m, at.n);
    }
  }
}

}  // namespace xgemm::kernels
