// From a problem and its schedule to the parameters of a dmma_tma kernel. Pure host code without CUDA; the launcher
// encodes the boxes as tensor maps, the simulator takes them as they are.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/params.h"
#include "kernels/common/sm90/tensor_map.h"
#include "kernels/common/tile_config.h"

namespace xgemm::kernels {

// A panel of an operand: what one row of 128 bytes of the copy engine's swizzle holds.
inline constexpr int kDmmaPanel = 16;  // doubles
inline constexpr int kDmmaProducerThreads = 128;

// Map: TensorMap in the kernel, TensorBox before the maps are encoded.
template <class Map>
struct BasicDmmaTmaParams : TileParams {
  Map a_map, b_map;     // where TMA brings the operand
  bool a_bulk, b_bulk;  // whether it does; otherwise by words
};
using DmmaTmaParams = BasicDmmaTmaParams<TensorMap>;

namespace dmma_tma_detail {

constexpr std::int64_t kMaxBulkExtent = (std::int64_t{1} << 31) - 4096;  // m, n and k are below it: family.cc
constexpr std::int64_t kMaxBulkStride = std::int64_t{1} << 37;           // elements

struct Operand {
  const ConstMatrixArg& x;
  bool along_k;  // how its lines run; otherwise along mn, the axis that it shares with C
  std::int64_t mn, mn_stride, k, k_stride, batch_count;

  std::int64_t lines() const { return along_k ? mn : k; }
  std::int64_t line_stride() const { return along_k ? mn_stride : k_stride; }

  bool bulk() const {
    const auto on_vector = [](std::int64_t stride) { return stride % 2 == 0 && stride < kMaxBulkStride; };
    return reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 && (lines() <= 1 || on_vector(line_stride())) &&
           (batch_count <= 1 || on_vector(x.batch_stride)) && batch_count <= kMaxBulkExtent;
  }

  // Lines along mn: panels of 16 columns, a box each. Lines along k: one box, a line for each row of the tile.
  TensorBox box(int tile_mn, int tile_k) const {
    return {x.data,
            along_k ? k : mn,
            lines(),
            x.batch_stride != 0 ? batch_count : 1,
            line_stride(),
            x.batch_stride,
            kDmmaPanel,
            along_k ? tile_mn : tile_k,
            kDmmaPanel * int{sizeof(double)},
            int{sizeof(double)}};
  }
};

}  // namespace dmma_tma_detail

inline BasicDmmaTmaParams<TensorBox> dmma_tma_arguments(const TileConfig& c, const GemmParams& g,
                                                        const Schedule& schedule, void* workspace) {
  using dmma_tma_detail::Operand;
  const Operand a{g.a, c.a_contiguous == Axis::col, g.m, g.a.row_stride, g.k, g.a.col_stride, g.batch_count};
  const Operand b{g.b, c.b_contiguous == Axis::row, g.n, g.b.col_stride, g.k, g.b.row_stride, g.batch_count};
  const bool has_product = g.k > 0 && !g.alpha.is_zero<double>();
  BasicDmmaTmaParams<TensorBox> p{};
  static_cast<TileParams&>(p) = {g, schedule, workspace};
  p.a_bulk = has_product && a.bulk();
  p.b_bulk = has_product && b.bulk();
  if (p.a_bulk) p.a_map = a.box(c.cta_m, c.cta_k);
  if (p.b_bulk) p.b_map = b.box(c.cta_n, c.cta_k);
  return p;
}

}  // namespace xgemm::kernels
