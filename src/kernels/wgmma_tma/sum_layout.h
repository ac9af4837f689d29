// Where wgmma_tma leaves the sums of parts of tiles.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/split_sum_params.h"
#include "kernels/wgmma_tma/config.h"

namespace xgemm::kernels {

constexpr SplitSumLayout split_sum_layout(const WgmmaTmaConfig& c, unsigned split_tiles) {
  return {.tiles = static_cast<int>(split_tiles),
          .rows = c.tile_rows() * c.cluster_rows(),
          .columns = c.tile_columns() * c.cluster_columns(),
          .transposed = c.transposed,
          .by_columns = false,
          .ctas_rows = c.cluster_rows(),
          .ctas_columns = c.cluster_columns(),
          .groups_rows = c.groups_rows,
          .groups_columns = c.groups_columns,
          .slabs = c.tile_rows() / c.groups_rows / 64,
          .column_octets = c.tile_columns() / c.groups_columns / 8};
}

}  // namespace xgemm::kernels
