// What split_sum is told: where the parts' sums lie, and which elements of C they belong to.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/portability.h"
#include "kernels/wgmma_tma/config.h"
#include "kernels/wgmma_tma/params.h"

namespace xgemm::kernels {

// The sums of one part of all split tiles, as wgmma_tma leaves them: vectors of 4 floats, ordered by
//   tile of the cluster | CTA of the cluster | consumer | slab of 64 rows | 8 columns | thread of the warpgroup
struct SplitSumLayout {
  int tiles;                          // split tiles
  int cluster_rows, cluster_columns;  // extents of a cluster's tile of D
  int ctas_rows, ctas_columns;        // of a cluster
  int groups_rows, groups_columns;    // consumers of a CTA
  int slabs, column_octets;           // of a consumer
  bool transposed;                    // D is the transpose of C

  static constexpr int kGroupThreads = 128;

  struct Position {
    int tile;         // from the first split one on
    int row, column;  // of the vector's first element, in the tile of D
  };

  XGEMM_HOST_DEVICE int group_vectors() const { return slabs * column_octets * kGroupThreads; }
  XGEMM_HOST_DEVICE std::int64_t vectors() const {
    return std::int64_t{tiles} * (ctas_rows * ctas_columns * groups_rows * groups_columns) * group_vectors();
  }
  XGEMM_HOST_DEVICE Position position(std::int64_t index) const {
    const int thread = static_cast<int>(index % kGroupThreads);
    int rest = static_cast<int>(index / kGroupThreads);  // fewer than 2^31: the workspace is
    const auto take = [&](int extent) {
      const int x = rest % extent;
      rest /= extent;
      return x;
    };
    const int octet = take(column_octets);
    const int slab = take(slabs);
    const int group_column = take(groups_columns);
    const int group_row = take(groups_rows);
    const int cta_row = take(ctas_rows);
    const int cta_column = take(ctas_columns);
    const int warp = thread / 32;
    const int lane = thread % 32;
    return {rest, ((cta_row * groups_rows + group_row) * slabs + slab) * 64 + 16 * warp + lane / 4,
            ((cta_column * groups_columns + group_column) * column_octets + octet) * 8 + 2 * (lane % 4)};
  }
};

template <WgmmaTmaConfig kConfig>
SplitSumLayout split_sum_layout(unsigned split_tiles) {
  using Shape = WgmmaTmaShape<kConfig>;
  constexpr bool kPingPong = kConfig.ping_pong;
  return {.tiles = static_cast<int>(split_tiles),
          .cluster_rows = Shape::kTileRows * Shape::kClusterRows,
          .cluster_columns = Shape::kTileColumns * Shape::kClusterColumns,
          .ctas_rows = Shape::kClusterRows,
          .ctas_columns = Shape::kClusterColumns,
          .groups_rows = kPingPong ? 1 : kConfig.groups_rows,
          .groups_columns = kPingPong ? 1 : kConfig.groups_columns,
          .slabs = Shape::kGroupRows / 64,
          .column_octets = Shape::kGroupColumns / 8,
          .transposed = kConfig.transposed};
}

struct SplitSumParams : WgmmaTmaScalars {
  static constexpr int kThreads = 256;

  SplitSumLayout layout;

  XGEMM_HOST_DEVICE int parts() const { return static_cast<int>(schedule.parts); }
  XGEMM_HOST_DEVICE int lanes() const { return static_cast<int>(schedule.sum_lanes); }
  // CTAs of a launch.
  std::int64_t ctas() const {
    const std::int64_t vectors = kThreads / lanes();
    return (layout.vectors() + vectors - 1) / vectors;
  }
};

}  // namespace xgemm::kernels
