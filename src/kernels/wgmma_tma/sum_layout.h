// Where wgmma_tma leaves the sums of parts of tiles.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/split_sum_params.h"
#include "kernels/wgmma_tma/config.h"

namespace xgemm::kernels {

template <WgmmaTmaConfig kConfig>
SplitSumLayout split_sum_layout(unsigned split_tiles) {
  using Shape = WgmmaTmaShape<kConfig>;
  constexpr bool kPingPong = kConfig.ping_pong;
  return {.tiles = static_cast<int>(split_tiles),
          .rows = Shape::kTileRows * Shape::kClusterRows,
          .columns = Shape::kTileColumns * Shape::kClusterColumns,
          .transposed = kConfig.transposed,
          .by_columns = false,
          .ctas_rows = Shape::kClusterRows,
          .ctas_columns = Shape::kClusterColumns,
          .groups_rows = kPingPong ? 1 : kConfig.groups_rows,
          .groups_columns = kPingPong ? 1 : kConfig.groups_columns,
          .slabs = Shape::kGroupRows / 64,
          .column_octets = Shape::kGroupColumns / 8};
}

}  // namespace xgemm::kernels
