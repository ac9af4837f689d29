// From a problem and its schedule to the parameters of an ffma_tma kernel. Pure host code without CUDA; the launcher
// encodes the boxes as tensor maps, the simulator takes them as they are.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/common/params.h"
#include "kernels/ffma_tma/config.h"
#include "kernels/ffma_tma/params.h"

namespace xgemm::kernels {

namespace ffma_tma_detail {

constexpr std::int64_t kMaxBulkExtent = (std::int64_t{1} << 31) - 4096;  // m, n and k are below it: family.cc
constexpr std::int64_t kMaxBulkStride = std::int64_t{1} << 38;           // elements

// mn: the axis that the operand shares with C.
struct Operand {
  const ConstMatrixArg& x;
  std::int64_t mn_extent, mn_stride, k_extent, k_stride, batch_count;

  PanelLoad load(bool vectors_along_k) const {
    const auto on_vector = [](std::int64_t stride) { return stride % 4 == 0 && stride < kMaxBulkStride; };
    const bool starts_on_vector =
        reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 && (batch_count <= 1 || on_vector(x.batch_stride));
    if (mn_stride != 1 && mn_extent > 1) {
      const bool in_vectors = starts_on_vector && on_vector(mn_stride) && k_stride == 1 && k_extent % 4 == 0;
      return vectors_along_k && in_vectors ? PanelLoad::vectors_k : PanelLoad::words_k;
    }
    const bool aligned = starts_on_vector && (k_extent <= 1 || (on_vector(k_stride) && k_stride >= mn_extent));
    return aligned && batch_count <= kMaxBulkExtent ? PanelLoad::bulk : PanelLoad::words_mn;
  }

  TensorBox box(int tile_k) const {
    return {x.data,
            mn_extent,
            k_extent,
            x.batch_stride != 0 ? batch_count : 1,
            k_stride,
            x.batch_stride,
            FfmaTmaConfig::kPanel,
            tile_k,
            FfmaTmaConfig::kRowBytes,
            4};
  }
};

}  // namespace ffma_tma_detail

inline BasicFfmaTmaParams<TensorBox> ffma_tma_arguments(const FfmaTmaConfig& config, const GemmParams& g,
                                                        const Schedule& schedule, void* workspace) {
  using ffma_tma_detail::Operand;
  const Operand a{g.a, g.m, g.a.row_stride, g.k, g.a.col_stride, g.batch_count};
  const Operand b{g.b, g.n, g.b.col_stride, g.k, g.b.row_stride, g.batch_count};
  const bool has_product = g.k > 0 && !g.alpha.is_zero<float>();
  BasicFfmaTmaParams<TensorBox> p{};
  static_cast<TileParams&>(p) = {g, schedule, workspace};
  p.a_load = has_product ? a.load(config.vectors_along_k()) : PanelLoad::words_mn;
  p.b_load = has_product ? b.load(config.vectors_along_k()) : PanelLoad::words_mn;
  // Producers wait for both operands, or for none.
  if (by_words(p.a_load) && p.b_load == PanelLoad::vectors_k) p.b_load = PanelLoad::words_k;
  if (by_words(p.b_load) && p.a_load == PanelLoad::vectors_k) p.a_load = PanelLoad::words_k;
  if (p.a_load == PanelLoad::bulk) p.a_map = a.box(config.cta_k());
  if (p.b_load == PanelLoad::bulk) p.b_map = b.box(config.cta_k());
  const auto on_vector = [](std::int64_t stride) { return stride % 4 == 0; };
  p.c_vectors = reinterpret_cast<std::uintptr_t>(g.c.data) % 16 == 0 && on_vector(g.m) &&
                (g.n <= 1 || on_vector(g.c.col_stride)) && (g.batch_count <= 1 || on_vector(g.c.batch_stride));
  return p;
}

}  // namespace xgemm::kernels
