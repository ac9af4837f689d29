// What split_sum is told: where the parts' sums lie, and which elements of C they belong to.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/portability.h"
#include "kernels/common/params.h"
#include "kernels/common/schedule.h"

namespace xgemm::kernels {

// The sums of one part of all split tiles, as kernels leave them: vectors of 4 sums, tile after tile. A kernel may
// compute D, the transpose of C; rows and columns are those of D.
//
//   by_columns       column after column of a tile; a vector is 4 rows of a column
//   otherwise        in the order in which wgmma holds them:
//                      tile of the cluster | CTA of the cluster | consumer | slab of 64 rows | 8 columns | thread
//                    a vector is two columns in two rows, 8 apart (common/sm90/wgmma.cuh); the 128 threads of a
//                    warpgroup lie side by side
//
// Either way, the loads of neighbouring threads are neighbours.
struct SplitSumLayout {
  int tiles;          // split tiles
  int rows, columns;  // extents of a tile of D; of a cluster's, where CTAs form clusters
  bool transposed = false;
  bool by_columns = true;
  int ctas_rows = 1, ctas_columns = 1;      // of a cluster
  int groups_rows = 1, groups_columns = 1;  // consumers of a CTA
  int slabs = 1, column_octets = 1;         // of a consumer

  static constexpr int kGroupThreads = 128;

  struct Position {
    int tile;         // from the first split one on
    int row, column;  // of the vector's first element, in the tile of D
  };

  XGEMM_HOST_DEVICE std::int64_t vectors() const { return std::int64_t{tiles} * (rows * columns / 4); }

  // Where element e of a vector lies, from its first.
  XGEMM_HOST_DEVICE int row_of(int e) const { return by_columns ? e : e / 2 * 8; }
  XGEMM_HOST_DEVICE int column_of(int e) const { return by_columns ? 0 : e % 2; }

  XGEMM_HOST_DEVICE Position position(std::int64_t index) const {
    const auto number = static_cast<unsigned>(index);  // fewer than 2^32: the workspace is
    if (by_columns) {
      const unsigned column_vectors = static_cast<unsigned>(rows) / 4;
      const unsigned column = number / column_vectors;
      const unsigned tile = column / static_cast<unsigned>(columns);
      return {static_cast<int>(tile), static_cast<int>(4 * (number - column * column_vectors)),
              static_cast<int>(column - tile * static_cast<unsigned>(columns))};
    }
    const int thread = static_cast<int>(number % kGroupThreads);
    int rest = static_cast<int>(number / kGroupThreads);
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

struct SplitSumParams : EpilogueArguments {
  static constexpr int kThreads = 256;

  void* c_data;
  std::int64_t c_ld;     // elements
  std::int64_t c_batch;  // as batch_stride of a MatrixArg
  int m, n;
  int k;  // whether there is a product: as much as the second stage has to know of any K
  const void* partials;
  BasicSchedule<unsigned> schedule;
  SplitSumLayout layout;
  Condition condition;
  Finishing finishing;

  XGEMM_HOST_DEVICE int parts() const { return static_cast<int>(schedule.parts); }
  XGEMM_HOST_DEVICE int lanes() const { return static_cast<int>(schedule.sum_lanes); }
  // CTAs of a launch.
  std::int64_t ctas() const {
    const std::int64_t vectors = kThreads / lanes();
    return (layout.vectors() + vectors - 1) / vectors;
  }
};

inline SplitSumParams split_sum_params(const GemmParams& g, const Schedule& schedule, const void* partials,
                                       const SplitSumLayout& layout) {
  return {g,
          g.c.data,
          g.c.col_stride,
          g.c.batch_stride,
          static_cast<int>(g.m),
          static_cast<int>(g.n),
          g.k > 0 ? 1 : 0,
          partials,
          schedule.as<unsigned>(),
          layout,
          g.condition,
          g.finishing};
}

}  // namespace xgemm::kernels
