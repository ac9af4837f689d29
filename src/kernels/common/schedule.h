// How a launch shares a product out among CTAs: the tiles and their order, which of them are split along K, and how
// many CTAs walk them. The planner makes it, xgemm_explain prints it, every family's kernels follow it.
//
// Tiles are those of clusters: what the CTAs of a cluster compute together; of one CTA where there are no clusters.
// They are numbered in groups of raster_group along m (or n: raster_n), a group's column of tiles first, and entry
// after entry of the batch. CTAs that run at the same time then share few slices of A and B, which stay in L2:
//
//     raster_group = 2      0 2 4 6
//                           1 3 5 7
//                           8 ...
//
// Of a triangle of C, tiles come in square blocks, and the blocks that have a part in it are folded into a rectangle,
// which is walked as any other. Of an even number of blocks a side, the rectangle has a row more:
//
//     a                 a f
//     b d        as     b d
//     c e f             c e
//
// A unit of work is a tile, or a part of one along K: first come the whole tiles, then the first parts of all split
// tiles, their second parts and so on. Cluster c computes the units c, c + clusters, c + 2 clusters... Parts leave
// their sums in the workspace, and the reduction (common/split_sum.cuh) adds them in the order of K.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>

#include "core/fill.h"
#include "core/portability.h"

namespace xgemm::kernels {

// A triangle of C in square blocks of tiles.
struct Triangle {
  Fill fill = Fill::full;             // full: there is none
  unsigned block_m = 1, block_n = 1;  // tiles of a block

  constexpr bool operator==(const Triangle&) const = default;
};

// The tiles of a product: all of C, or the rectangle that a triangle is folded into.
struct TileGrid {
  std::int64_t m = 0, n = 0;
  Triangle triangle = {};
};
constexpr TileGrid tile_grid(Fill fill, std::int64_t m, std::int64_t n, int tile_m, int tile_n) {
  const auto tiles = [](std::int64_t extent, int tile) { return extent / tile + (extent % tile != 0 ? 1 : 0); };
  if (fill == Fill::full) return {tiles(m, tile_m), tiles(n, tile_n)};
  const int side = std::lcm(tile_m, tile_n);
  const int block_m = side / tile_m, block_n = side / tile_n;
  const std::int64_t blocks = tiles(n, side);
  return {(blocks + (blocks % 2 == 0 ? 1 : 0)) * block_m,
          (blocks + 1) / 2 * block_n,
          {fill, static_cast<unsigned>(block_m), static_cast<unsigned>(block_n)}};
}

// CTAs of a cluster. Along C they compute neighbouring tiles together, and share operands; along K each has a part of
// the same tile's, and they add their sums.
struct ClusterShape {
  int m = 1, n = 1, k = 1;

  constexpr bool operator==(const ClusterShape&) const = default;
  constexpr int size() const { return m * n * k; }
};

// "2x1", or "2x1x4" of CTAs that share K.
inline std::string to_string(const ClusterShape& c) {
  const std::string of_c = std::to_string(c.m) + "x" + std::to_string(c.n);
  return c.k == 1 ? of_c : of_c + "x" + std::to_string(c.k);
}

// As many tiles as no GPU has time for are told as the largest number.
inline std::int64_t saturated_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

// By what numbers below 2^31 are divided again and again, which takes a GPU some twenty instructions in a row: instead
// they are multiplied by ceil(2^(32 + shift) / divisor) and lose 32 + shift bits (Granlund and Montgomery, Division by
// invariant integers using multiplication, 1994).
struct Divisor {
  unsigned multiplier = 0;  // 0: of 1, and of what no such number is divided by
  unsigned shift = 0;

  static constexpr Divisor of(std::int64_t divisor) {
    if (divisor <= 1 || divisor >= std::int64_t{1} << 31) return {};
    const auto d = static_cast<std::uint64_t>(divisor);
    const auto shift = static_cast<unsigned>(std::bit_width(d - 1) - 1);
    return {static_cast<unsigned>(((std::uint64_t{1} << (32 + shift)) + d - 1) / d), shift};
  }
  constexpr bool operator==(const Divisor&) const = default;

  XGEMM_HOST_DEVICE unsigned divide(unsigned number) const {
    return multiplier == 0 ? number : static_cast<unsigned>(std::uint64_t{number} * multiplier >> 32) >> shift;
  }
};

// Index: std::int64_t, or unsigned for kernels that count fewer than 2^31 tiles.
template <class Index>
struct BasicSchedule {
  Index tiles_m = 1, tiles_n = 1;  // of one product; of a triangle, folded
  Index first_tile = 0;            // this launch computes the tiles from here on,
  Index whole_tiles = 1;           // so many as they are,
  Index split_tiles = 0;           // and so many in parts
  Index units = 1;                 // whole_tiles + split_tiles * parts
  unsigned parts = 1;              // of a split tile
  unsigned raster_group = 1;       // tiles that are walked together
  bool raster_n = false;           // they lie along n, not m
  std::uint8_t ctas_per_sm = 1;    // where a kernel leaves it to the schedule (wgmma_tma)
  unsigned clusters = 1;           // to launch
  // For kernels that count in 32 bits: the tiles of a product, of a group of them, of a group's column, of one of the
  // last group. set_raster() knows them.
  Divisor by_product = {}, by_group = {}, by_height = {}, by_last_height = {};
  ClusterShape cluster = {};  // CTAs that a tile of the schedule is made of
  unsigned sum_lanes = 1;     // threads that share the parts of an element in the reduction; sets the order of sums
  std::size_t workspace_bytes = 0;
  Triangle triangle = {};
  unsigned shared_bytes = 0;  // that a CTA gets of shared memory at least (bytes_of_even_share())

  struct Position {
    Index m, n, batch;  // in tiles
  };

  constexpr bool operator==(const BasicSchedule&) const = default;

  // Sets the order of tiles, once it is known how many there are along m and n: in groups of so many, or of all.
  void set_raster(std::int64_t group, bool along_n) {
    const std::int64_t major = along_n ? tiles_n : tiles_m, minor = along_n ? tiles_m : tiles_n;
    group = std::max<std::int64_t>(1, std::min({group, major, std::int64_t{0x7fffffff}}));
    raster_group = static_cast<unsigned>(group);
    raster_n = along_n;
    by_product = Divisor::of(saturated_product(major, minor));
    by_group = Divisor::of(saturated_product(group, minor));
    by_height = Divisor::of(group);
    by_last_height = Divisor::of(major % group);
  }

  XGEMM_HOST_DEVICE bool is_partial(Index unit) const { return unit >= whole_tiles; }
  // Of partial units. They are numbered from 0 on in the workspace.
  XGEMM_HOST_DEVICE Index partial_index(Index unit) const { return unit - whole_tiles; }
  XGEMM_HOST_DEVICE Index part_of(Index unit) const { return partial_index(unit) / split_tiles; }
  XGEMM_HOST_DEVICE Index tile_of(Index unit) const {
    return first_tile + (unit < whole_tiles ? unit : whole_tiles + (unit - whole_tiles) % split_tiles);
  }

  XGEMM_HOST_DEVICE Position position(Index tile) const {
    const Position at = folded_position(tile);
    return triangle.fill == Fill::full ? at : unfolded(at);
  }

  // In the rectangle of tiles.
  XGEMM_HOST_DEVICE Position folded_position(Index tile) const {
    const auto divided = [](Index number, [[maybe_unused]] Index by, [[maybe_unused]] const Divisor& divisor) {
      if constexpr (std::is_same_v<Index, unsigned>) {
        return divisor.divide(number);
      } else {
        return number / by;
      }
    };
    const Index tiles_major = raster_n ? tiles_n : tiles_m;
    const Index tiles_minor = raster_n ? tiles_m : tiles_n;
    const Index per_product = tiles_major * tiles_minor;
    if (per_product == 1) return {0, 0, tile};
    const Index batch = divided(tile, per_product, by_product);
    const Index index = tile - batch * per_product;
    const Index group_size = raster_group * tiles_minor;
    const Index group = divided(index, group_size, by_group);
    const Index rest = index - group * group_size;
    const Index left = tiles_major - group * raster_group;
    const Index height = left < raster_group ? left : raster_group;
    // By values: a choice of one of two structures in registers would have to put them into memory.
    const Divisor by = {left < raster_group ? by_last_height.multiplier : by_height.multiplier,
                        left < raster_group ? by_last_height.shift : by_height.shift};
    const Index minor = divided(rest, height, by);
    const Index major = group * raster_group + (rest - minor * height);
    return {raster_n ? minor : major, raster_n ? major : minor, batch};
  }

  // Of the tile in C that stands there in the rectangle.
  XGEMM_HOST_DEVICE Position unfolded(const Position& at) const {
    const Index rows = tiles_m / triangle.block_m, columns = tiles_n / triangle.block_n;
    const Index more = rows > 2 * columns ? 1 : 0;
    const Index r = at.m / triangle.block_m, c = at.n / triangle.block_n;
    const bool left = r >= c + more;  // of the triangle's first columns
    const Index row = left ? r - more : rows - more - 1 - r;
    const Index column = left ? c : rows - 2 * more - c;
    const bool lower = triangle.fill == Fill::lower;
    return {(lower ? row : column) * triangle.block_m + (at.m - r * triangle.block_m),
            (lower ? column : row) * triangle.block_n + (at.n - c * triangle.block_n), at.batch};
  }

  template <class Other>
  XGEMM_HOST_DEVICE constexpr BasicSchedule<Other> as() const {
    return {static_cast<Other>(tiles_m),
            static_cast<Other>(tiles_n),
            static_cast<Other>(first_tile),
            static_cast<Other>(whole_tiles),
            static_cast<Other>(split_tiles),
            static_cast<Other>(units),
            parts,
            raster_group,
            raster_n,
            ctas_per_sm,
            clusters,
            by_product,
            by_group,
            by_height,
            by_last_height,
            cluster,
            sum_lanes,
            workspace_bytes,
            triangle,
            shared_bytes};
  }
};
using Schedule = BasicSchedule<std::int64_t>;

// What of a schedule is weighed: the rest follows from it.
struct Sharing {
  std::int64_t whole_tiles = 0;  // where K is split: the tiles that are not
  int parts = 1;                 // of the others; 1: nothing is split
  ClusterShape cluster = {};
};

// Threads share the parts of an element where there are many parts and few elements. vectors: of 4 sums, in one part of
// all split tiles.
constexpr unsigned sum_lanes(std::int64_t vectors, unsigned parts, int sms) {
  constexpr int kThreads = 256;  // of a CTA of the reduction
  unsigned lanes = 1;
  const auto ctas = [&] { return (vectors + kThreads / lanes - 1) / (kThreads / lanes); };
  while (lanes < 32 && parts >= 8 * lanes && ctas() < sms) lanes *= 2;
  return lanes;
}

// Shares out `tiles` of s, each of so many sums: those from sharing.whole_tiles on in parts of K, whose sums take
// workspace; but where clusters share K, all are whole. sms: of the GPU.
inline void share_out(const Sharing& sharing, std::int64_t tiles, std::int64_t tile_sums, int sum_bytes, int sms,
                      Schedule* s) {
  s->cluster = sharing.cluster;
  s->parts = static_cast<unsigned>(sharing.cluster.k > 1 ? 1 : sharing.parts);
  s->whole_tiles = s->parts == 1 ? tiles : std::min(sharing.whole_tiles, tiles);
  s->split_tiles = tiles - s->whole_tiles;
  s->units = s->whole_tiles + s->split_tiles * s->parts;
  if (s->split_tiles == 0) return;
  const std::int64_t sums = s->split_tiles * tile_sums;
  s->sum_lanes = sum_lanes(sums / 4, s->parts, sms);
  s->workspace_bytes = static_cast<std::size_t>(sums * sum_bytes) * s->parts;
}

// Shared memory is given to CTAs in such steps.
inline constexpr int kSharedGranularity = 128;

// The most shared memory that each of so many CTAs of an SM can have. most_bytes: that a single one can have.
constexpr int share_of_sm(int ctas, int most_bytes) {
  constexpr int kReserved = 1024;  // of each CTA
  return (most_bytes + kReserved) / ctas / kSharedGranularity * kSharedGranularity - kReserved;
}

// A kernel that starts early shares SMs with the one before it, whose CTAs end one by one. New ones go where there is
// room, and some SMs get more of them than others, which then take longer. So each asks for as much shared memory as
// leaves room for an even share of them alone, used or not: a CTA starts where one has ended. 0: no more than it uses.
// Of clusters, sms are as many as have an SM for each CTA.
inline unsigned bytes_of_even_share(std::int64_t ctas, int sms, int most_bytes) {
  constexpr int kMostShare = 16;
  const std::int64_t share = (ctas + sms - 1) / sms;
  if (share > kMostShare) return 0;
  return static_cast<unsigned>(share_of_sm(static_cast<int>(share) + 1, most_bytes) + kSharedGranularity);
}

}  // namespace xgemm::kernels
