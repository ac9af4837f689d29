// What a wgmma_tma kernel is told about a problem, and the order of its work.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/portability.h"
#include "kernels/common/params.h"
#include "kernels/common/sm90/tensor_map.h"

namespace xgemm::kernels {

// The units of work of a product. Tiles are those of clusters. Tile order: groups of raster_group tiles along one axis,
// walked along the other. The first whole_tiles tiles are a unit each; then come the first parts, along K, of all the
// others, their second parts and so on.
struct WgmmaTmaWork {
  unsigned tiles_rows;  // of D
  unsigned tiles_columns;
  unsigned tiles;         // of the whole batch
  unsigned raster_group;  // tiles along rows, or along columns, that are walked together
  bool raster_columns;
  unsigned whole_tiles;
  unsigned parts;  // of each of the other tiles
  unsigned units;

  struct Position {
    int row, column, batch;  // in tiles of clusters
  };

  XGEMM_HOST_DEVICE unsigned split_tiles() const { return tiles - whole_tiles; }
  // For unit >= whole_tiles.
  XGEMM_HOST_DEVICE unsigned part_of(unsigned unit) const { return (unit - whole_tiles) / split_tiles(); }
  XGEMM_HOST_DEVICE unsigned tile_of(unsigned unit) const {
    return unit < whole_tiles ? unit : whole_tiles + (unit - whole_tiles) % split_tiles();
  }

  XGEMM_HOST_DEVICE Position position(unsigned tile) const {
    const unsigned tiles_major = raster_columns ? tiles_columns : tiles_rows;
    const unsigned tiles_minor = raster_columns ? tiles_rows : tiles_columns;
    const unsigned per_batch = tiles_major * tiles_minor;
    const unsigned batch = tile / per_batch;
    const unsigned index = tile - batch * per_batch;
    const unsigned group_size = raster_group * tiles_minor;
    const unsigned group = index / group_size;
    const unsigned rest = index - group * group_size;
    const unsigned left = tiles_major - group * raster_group;
    const unsigned height = left < raster_group ? left : raster_group;
    const unsigned minor = rest / height;
    const unsigned major = group * raster_group + (rest - minor * height);
    return {static_cast<int>(raster_columns ? minor : major), static_cast<int>(raster_columns ? major : minor),
            static_cast<int>(batch)};
  }
};

struct WgmmaTmaScalars : EpilogueArguments {
  void* c_data;
  std::int64_t c_ld;  // elements
  std::int64_t c_batch;
  int m;
  int n;
  int c_whole_m;  // m, less the last m % 8: TMA stores clip the contiguous axis to 16 bytes, not to elements
  int k;
  int x_batch_step;  // 0 where all entries of the batch are the same matrix
  int y_batch_step;
  float* partials;  // sums of the parts of split tiles: a tile of fp32 for each CTA of each unit
  WgmmaTmaWork work;
};

// Map: TensorMap in the kernel, TensorBox before the maps are encoded.
template <class Map>
struct BasicWgmmaTmaParams : WgmmaTmaScalars {
  Map x;  // kBoxX
  Map y;
  Map x_tail;  // of a K-major operand: the last rows, where they do not fill a box of x; otherwise as x
  Map y_tail;
  Map c_old;  // where beta is not 0
  Map c;      // c_whole_m rows only
};
using WgmmaTmaParams = BasicWgmmaTmaParams<TensorMap>;

}  // namespace xgemm::kernels
