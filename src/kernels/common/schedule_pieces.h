// A schedule in several launches, for where the workspace cannot hold the sums of all split tiles at once. The order of
// sums, and so every bit of the result, stays as it is: each tile is computed in the same parts, which are added in the
// same order. Host code, pure.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/common/schedule.h"

namespace xgemm::kernels {

// Bytes of the sums of one split tile, or all that a schedule without any needs: less is of no use.
inline std::size_t least_workspace(const Schedule& schedule) {
  return schedule.split_tiles == 0 ? schedule.workspace_bytes
                                   : schedule.workspace_bytes / static_cast<std::size_t>(schedule.split_tiles);
}

// The whole schedule where its workspace fits; otherwise first the whole tiles, then as many split tiles at a time as
// fit. room: bytes, at least least_workspace().
class SchedulePieces {
 public:
  SchedulePieces(const Schedule& all, std::size_t room) : all_(all), room_(room) {}

  // False after the last piece.
  bool next(Schedule* piece) {
    const std::int64_t tiles = all_.whole_tiles + all_.split_tiles;
    if (done_ == tiles) return false;
    *piece = all_;
    if (all_.workspace_bytes > room_) {
      const std::size_t tile_bytes = least_workspace(all_);
      piece->first_tile = all_.first_tile + done_;
      piece->whole_tiles = std::max<std::int64_t>(0, all_.whole_tiles - done_);
      piece->split_tiles = 0;
      if (piece->whole_tiles == 0)
        piece->split_tiles = std::min(tiles - done_, static_cast<std::int64_t>(room_ / tile_bytes));
      piece->units = piece->whole_tiles + piece->split_tiles * piece->parts;
      piece->clusters = static_cast<unsigned>(std::min<std::int64_t>(piece->units, all_.clusters));
      piece->workspace_bytes = static_cast<std::size_t>(piece->split_tiles) * tile_bytes;
    }
    done_ += piece->whole_tiles + piece->split_tiles;
    return true;
  }

 private:
  Schedule all_;
  std::size_t room_;
  std::int64_t done_ = 0;  // tiles
};

}  // namespace xgemm::kernels
