// How the threads of a CTA share out a tile so that every warp-wide load or store is coalesced.
//
// From the facts about an operand (contiguity along each axis, divisibility in bytes) follow, in this order:
//
//   order       the axes by falling contiguity; order[0] is walked fastest
//   per_thread  elements that one thread moves at once, along order[0]: the least of divisibility / element size,
//               contiguity, 128 bits / element size and tile elements / threads
//   lanes       threads of a warp along each axis; the fastest axis is filled first, the other takes the rest
//   warps       warps of the CTA along each axis, likewise
//
// All threads together cover a wave of per_thread * lanes * warps elements along each axis. The wave is repeated until
// the tile is covered:
//
//             |<------- wave: 16 lanes x 4 elements ------>|
//     warp 0  | t0       t1       t2      ...     t15      |       64 x 64 of 4 bytes, rows contiguous, 4 warps:
//             | t16      t17      t18     ...     t31      |       per_thread [1, 4], lanes [2, 16], warps [4, 1],
//     warp 1  | t32      ...                      t47      |       8 repetitions of this wave of 8 rows
//     ...
//
// A coordinate is that of a thread's first element; the rest follow along order[0]. per_thread divides the tile there,
// so a vector lies wholly inside the tile or wholly outside, where covers() is false and the thread has nothing to do:
// every element belongs to exactly one (thread, repetition).
//
// A structural type: a layout can be a template argument of a kernel, and all of it folds away at compile time.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "core/portability.h"
#include "layout/operand_facts.h"

namespace xgemm::layout {

inline constexpr int kWarpSize = 32;

// Bytes that memory moves at the least. A run of lanes shorter than this wastes some of what it fetches.
inline constexpr int kSectorBytes = 32;

struct Coordinate {
  int row = 0;
  int col = 0;

  constexpr bool operator==(const Coordinate&) const = default;
};

struct CoalescedLayout {
  // Indexed by axis: [0] rows, [1] columns.
  int tile[2] = {1, 1};
  int per_thread[2] = {1, 1};
  int lanes[2] = {kWarpSize, 1};
  int warps[2] = {1, 1};
  int order[2] = {0, 1};  // order[0]: the axis walked fastest
  int element_bytes = 4;

  constexpr bool operator==(const CoalescedLayout&) const = default;

  XGEMM_HOST_DEVICE constexpr int threads() const { return kWarpSize * warps[0] * warps[1]; }

  // Elements of one vector, and its size.
  XGEMM_HOST_DEVICE constexpr int vector_elements() const { return per_thread[0] * per_thread[1]; }
  XGEMM_HOST_DEVICE constexpr int vector_bytes() const { return vector_elements() * element_bytes; }

  // Elements along an axis that all threads cover at once.
  XGEMM_HOST_DEVICE constexpr int wave(int axis) const { return per_thread[axis] * lanes[axis] * warps[axis]; }

  // How often the wave is repeated along an axis, and over the whole tile.
  XGEMM_HOST_DEVICE constexpr int repetitions(int axis) const { return (tile[axis] + wave(axis) - 1) / wave(axis); }
  XGEMM_HOST_DEVICE constexpr int repetitions() const { return repetitions(0) * repetitions(1); }

  // Whether the waves cover the tile with nothing left over: then covers() is true everywhere and can be left out.
  XGEMM_HOST_DEVICE constexpr bool exact() const { return tile[0] % wave(0) == 0 && tile[1] % wave(1) == 0; }

  // The first element of a thread's vector in one repetition. For a fixed repetition it is an affine function of that
  // of repetition 0, so that a kernel computes the thread's part once and adds constants.
  XGEMM_HOST_DEVICE constexpr Coordinate coordinate(int thread, int repetition) const {
    const int fast = order[0], slow = order[1];
    // Unsigned, so that dividing by a power of two is a shift or a mask.
    const unsigned t = static_cast<unsigned>(thread), r = static_cast<unsigned>(repetition);
    const unsigned lane = t % kWarpSize, warp = t / kWarpSize;
    const unsigned fast_lanes = static_cast<unsigned>(lanes[fast]), fast_warps = static_cast<unsigned>(warps[fast]);
    const unsigned fast_repetitions = static_cast<unsigned>(repetitions(fast));
    int position[2] = {0, 0};
    position[fast] = static_cast<int>(warp % fast_warps * fast_lanes + lane % fast_lanes) * per_thread[fast] +
                     static_cast<int>(r % fast_repetitions) * wave(fast);
    position[slow] = static_cast<int>(warp / fast_warps) * lanes[slow] + static_cast<int>(lane / fast_lanes) +
                     static_cast<int>(r / fast_repetitions) * wave(slow);
    return {position[0], position[1]};
  }

  // Whether that vector lies in the tile. Where it does not, the thread is redundant: the tile is smaller than a wave,
  // or no multiple of it.
  XGEMM_HOST_DEVICE constexpr bool covers(int thread, int repetition) const {
    const Coordinate first = coordinate(thread, repetition);
    return first.row < tile[0] && first.col < tile[1];
  }
};

namespace detail {

// The largest power of two in [1, limit] that divides x.
XGEMM_HOST_DEVICE constexpr int dividing_power_of_two(int x, int limit) {
  int p = 1;
  while (2 * p <= limit && x % (2 * p) == 0) p *= 2;
  return p;
}

}  // namespace detail

// tile_rows, tile_cols, element_bytes, num_warps: positive; element_bytes a power of two.
// contiguity: of the operand along rows and columns; equal values prefer `tie`.
XGEMM_HOST_DEVICE constexpr CoalescedLayout make_coalesced_layout(int tile_rows, int tile_cols, int element_bytes,
                                                                  std::int64_t row_contiguity,
                                                                  std::int64_t col_contiguity, int divisibility,
                                                                  int num_warps, Axis tie = Axis::row) {
  CoalescedLayout result;
  result.tile[0] = tile_rows;
  result.tile[1] = tile_cols;
  result.element_bytes = element_bytes;
  const bool rows_first = row_contiguity != col_contiguity ? row_contiguity > col_contiguity : tie == Axis::row;
  const int fast = rows_first ? 0 : 1;
  const int slow = 1 - fast;
  result.order[0] = fast;
  result.order[1] = slow;

  // No wider than leaves work for every thread, and no vector across the end of a tile's line.
  const std::int64_t elements_per_thread = std::int64_t{tile_rows} * tile_cols / (kWarpSize * num_warps);
  const std::int64_t contiguity = rows_first ? row_contiguity : col_contiguity;
  const int width =
      vector_width(divisibility, contiguity < elements_per_thread ? contiguity : elements_per_thread, element_bytes);
  const int vector = detail::dividing_power_of_two(result.tile[fast], width);
  const int vectors = result.tile[fast] / vector;  // along one line
  result.per_thread[fast] = vector;
  result.per_thread[slow] = 1;

  // As many lanes along a line as it has vectors. Where that is no power of two, fewer that divide it leave no lane
  // idle at its end; they are taken if they still move whole sectors.
  const int limit = vectors < kWarpSize ? vectors : kWarpSize;
  const int dividing = detail::dividing_power_of_two(vectors, limit);
  const bool whole_sectors = dividing * vector * element_bytes >= kSectorBytes;
  const int lanes = whole_sectors ? dividing : static_cast<int>(detail::floor_power_of_two(limit));
  result.lanes[fast] = lanes;
  result.lanes[slow] = kWarpSize / lanes;

  // Then as many warps as the rest of the line has room for, by the same rule. The warps along both axes multiply to
  // num_warps, which need not be a power of two.
  const int room = vectors / lanes;
  int warps = 1;
  for (int w = 2; w <= num_warps && w <= room; ++w) {
    const bool idle_free = vectors % (w * lanes) == 0 || vectors % lanes != 0;
    if (num_warps % w == 0 && idle_free) warps = w;
  }
  result.warps[fast] = warps;
  result.warps[slow] = num_warps / warps;
  return result;
}

// The layout for an operand with these facts. Its contiguous axis comes first even where nothing is contiguous.
XGEMM_HOST_DEVICE constexpr CoalescedLayout make_coalesced_layout(int tile_rows, int tile_cols,
                                                                  const OperandFacts& facts, int num_warps) {
  return make_coalesced_layout(tile_rows, tile_cols, facts.element_bytes, facts.contiguity[0], facts.contiguity[1],
                               facts.divisibility, num_warps, facts.contiguous);
}

// The layout of a kernel instance, which is compiled for one axis and one vector width (a power of two): it serves
// every operand that is contiguous along that axis, with a max_vector_width() of at least this.
XGEMM_HOST_DEVICE constexpr CoalescedLayout make_coalesced_layout(int tile_rows, int tile_cols, int element_bytes,
                                                                  Axis contiguous, int vector_width, int num_warps) {
  return make_coalesced_layout(tile_rows, tile_cols, element_bytes, contiguous == Axis::row ? vector_width : 1,
                               contiguous == Axis::col ? vector_width : 1, vector_width * element_bytes, num_warps,
                               contiguous);
}

// "64x64: per thread [1, 4], lanes [2, 16], warps [4, 1], 8 repetitions".
std::string to_string(const CoalescedLayout& layout);

}  // namespace xgemm::layout
