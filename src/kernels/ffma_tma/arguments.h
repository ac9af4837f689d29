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

// Whether TMA reaches all matrices of a batch.
template <class Arg>
bool reaches_batch(const Arg& x, std::int64_t batch_count) {
  return batch_count <= kMaxBulkExtent && (x.by_pointers() || batch_count <= 1 || x.batch_stride < kMaxBulkStride);
}

// mn: the axis that the operand shares with C.
struct Operand {
  const ConstMatrixArg& x;
  std::int64_t mn_extent, mn_stride, k_extent, k_stride, batch_count;

  PanelLoad load() const {
    const auto on_vector = [](std::int64_t stride) { return stride % 4 == 0 && stride < kMaxBulkStride; };
    const bool by_tma = x.may_start_on_vectors(sizeof(float), batch_count) && reaches_batch(x, batch_count);
    const bool along_mn = mn_stride == 1 || mn_extent <= 1;
    if (by_tma && along_mn && (k_extent <= 1 || (on_vector(k_stride) && k_stride >= mn_extent))) return PanelLoad::bulk;
    if (by_tma && k_stride == 1 && (mn_extent <= 1 || (on_vector(mn_stride) && mn_stride >= k_extent)))
      return PanelLoad::turned;
    return along_mn ? PanelLoad::words_mn : PanelLoad::words_k;
  }

  // slice: the extent of a slot's slice along mn.
  TensorBox box(const FfmaTmaConfig& config, PanelLoad load, int slice) const {
    const bool along_k = load == PanelLoad::turned;
    const int block_k = FfmaTmaConfig::block_k(config.cta_k());
    return {.data = x.data,
            .extent_x = along_k ? k_extent : mn_extent,
            .extent_y = along_k ? mn_extent : k_extent,
            .extent_z = x.batch_stride != 0 ? batch_count : 1,
            .stride_y = along_k ? mn_stride : k_stride,
            .stride_z = x.batch_stride,
            .box_x = along_k ? block_k : FfmaTmaConfig::kPanel,
            .box_y = !along_k                    ? config.cta_k()
                     : config.cta_k() == block_k ? slice
                                                 : FfmaTmaConfig::kPanel,
            .swizzle_bytes = along_k ? 4 * block_k : FfmaTmaConfig::kRowBytes,
            .element_bytes = 4,
            .anywhere = x.by_pointers()};
  }
};

// What a warp stores.
inline TensorBox box_of_c(const FfmaTmaConfig& config, const GemmParams& g) {
  return {.data = g.c.data,
          .extent_x = g.m,
          .extent_y = g.n,
          .extent_z = g.c.batch_stride != 0 ? g.batch_count : 1,
          .stride_y = g.c.col_stride,
          .stride_z = g.c.batch_stride,
          .box_x = config.warp_m(),
          .box_y = config.warp_n(),
          .swizzle_bytes = FfmaTmaConfig::kRowBytes,
          .element_bytes = 4,
          .anywhere = g.c.by_pointers()};
}

}  // namespace ffma_tma_detail

inline BasicFfmaTmaParams<TensorBox> ffma_tma_arguments(const FfmaTmaConfig& config, const GemmParams& g,
                                                        const Schedule& schedule, void* workspace) {
  using ffma_tma_detail::Operand;
  const Operand a{g.a, g.m, g.a.row_stride, g.k, g.a.col_stride, g.batch_count};
  const Operand b{g.b, g.n, g.b.col_stride, g.k, g.b.row_stride, g.batch_count};
  const bool has_product = g.k > 0 && !g.alpha.is_zero<float>();
  BasicFfmaTmaParams<TensorBox> p{};
  static_cast<TileParams&>(p) = {g, schedule, workspace};
  p.a_load = has_product ? a.load() : PanelLoad::words_mn;
  p.b_load = has_product ? b.load() : PanelLoad::words_mn;
  // Producers turn, or bring words.
  if (by_words(p.a_load) && p.b_load == PanelLoad::turned) p.b_load = PanelLoad::words_k;
  if (by_words(p.b_load) && p.a_load == PanelLoad::turned) p.a_load = PanelLoad::words_k;
  if (by_tma(p.a_load)) p.a_map = a.box(config, p.a_load, config.slot_m());
  if (by_tma(p.b_load)) p.b_map = b.box(config, p.b_load, config.slot_n());
  const auto on_vector = [](std::int64_t stride) { return stride % 4 == 0; };
  p.c_vectors = g.c.may_start_on_vectors(sizeof(float), g.batch_count) && on_vector(g.m) &&
                (g.n <= 1 || on_vector(g.c.col_stride));
  if (config.stages_c()) {
    p.c_vectors = p.c_vectors && g.c.col_stride < ffma_tma_detail::kMaxBulkStride &&
                  ffma_tma_detail::reaches_batch(g.c, g.batch_count);
    if (p.c_vectors) p.c_map = ffma_tma_detail::box_of_c(config, g);
  }
  return p;
}

}  // namespace xgemm::kernels
