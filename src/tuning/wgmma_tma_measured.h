// How far the cost model of wgmma_tma (kernels/wgmma_tma/cost.h) was off on measured problems, and what this says
// about a problem that was not measured.
//
// wgmma_tma_measured.inc holds, for some 1400 problems and the tiles that were tried on them, the ratio of measured to
// modelled time, relative to that of the problem's other tiles; it is written by perf/tune/fit.py from tables of
// xgemm-tune. Where xgemm-bench has shown what is good, tiles that were not tried have their mean and 5 % more. A new
// problem is compared with the nearest ones by the logarithms of its extents, flags and alignment; their ratios,
// weighted by distance, correct the model.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace xgemm::tuning {

// What sets problems apart.
struct MeasuredShape {
  std::int64_t m, n, k, batch_count;
  bool a_transposed, b_transposed;
  bool lines;  // the rows of A and B start on 128-byte lines
  bool reads_c;
};

class WgmmaTmaCorrections {
 public:
  explicit WgmmaTmaCorrections(const MeasuredShape& shape);

  // By what the estimate of a tile is to be multiplied. `tile` is from tile_index().
  double whole(int tile) const { return tile < 0 ? 1 : factors_[2 * tile]; }
  double split(int tile) const { return tile < 0 ? 1 : factors_[2 * tile + 1]; }

  // The column of an instance's tile in the table, by the instance's name; -1 for one that was not measured.
  static int tile_index(std::string_view instance);

 private:
  static constexpr int kMaxTiles = 80;
  std::array<double, 2 * kMaxTiles> factors_;
};

}  // namespace xgemm::tuning
