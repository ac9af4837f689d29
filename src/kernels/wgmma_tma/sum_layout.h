// Where wgmma_tma leaves the sums of parts of tiles.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/split_sum_params.h"
#include "kernels/wgmma_tma/config.h"

namespace xgemm::kernels {

constexpr SplitSumLayout split_sum_layout(const WgmmaTmaConfig& c, const Schedule& schedule) {
  const int cluster_rows = c.transposed ? schedule.cluster.n : schedule.cluster.m;
  const int cluster_columns = c.transposed ? schedule.cluster.m : schedule.cluster.n;
  return {.tiles = static_cast<int>(schedule.split_tiles),
          .rows = c.tile_rows() * cluster_rows,
          .columns = c.tile_columns() * cluster_columns,
          .transposed = c.transposed,
          .by_columns = false,
          .ctas_rows = cluster_rows,
          .ctas_columns = cluster_columns,
          .groups_rows = c.groups_rows,
          .groups_columns = c.groups_columns,
          .slabs = c.tile_rows() / c.groups_rows / 64,
          .column_octets = c.tile_columns() / c.groups_columns / 8};
}

}  // namespace xgemm::kernels
