// From a problem and its schedule to the parameters of a wgmma_tma kernel. Pure host code without CUDA; the launcher
// encodes the boxes as tensor maps, the simulator takes them as they are.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/common/params.h"
#include "kernels/wgmma_tma/config.h"
#include "kernels/wgmma_tma/params.h"

namespace xgemm::kernels {

namespace wgmma_tma_detail {

// mn: the axis that the operand shares with C; k the other. Strides in elements.
struct Operand {
  const void* data;
  std::int64_t mn_extent, mn_stride, k_stride, batch_stride;
};

// box: rows of x at most; those that do not exist are not asked for. The planes of an entry of the batch lie one batch
// stride apart.
inline TensorBox operand_box(const Operand& o, const MmaPolicy& mma, gpu::Major major, std::int64_t k,
                             std::int64_t batch, int piece, int box) {
  const bool batched = batch > 1 && o.batch_stride != 0;
  const std::int64_t z = (batched ? batch : 1) * mma.planes;
  const int bytes = mma.element_bytes();
  if (major == gpu::Major::k) {
    const int rows = static_cast<int>(std::min<std::int64_t>(box, o.mn_extent));
    return {o.data, k, o.mn_extent, z, o.mn_stride, o.batch_stride, mma.slice_k(), rows, MmaPolicy::kRowBytes, bytes};
  }
  return {o.data, o.mn_extent, k, z, o.k_stride, o.batch_stride, piece, box, piece * bytes, bytes};
}

// The box of the last rows, where they do not fill a whole one.
inline TensorBox tail_box(const TensorBox& whole, gpu::Major major) {
  TensorBox tail = whole;
  if (major == gpu::Major::k && whole.extent_y % whole.box_y != 0) {
    tail.box_y = static_cast<int>(whole.extent_y % whole.box_y);
  }
  return tail;
}

}  // namespace wgmma_tma_detail

template <WgmmaTmaConfig kConfig>
BasicWgmmaTmaParams<TensorBox> wgmma_tma_arguments(const GemmParams& g, const Schedule& schedule, float* workspace) {
  using Shape = WgmmaTmaShape<kConfig>;
  using wgmma_tma_detail::Operand;
  const Operand a{g.a.data, g.m, g.a.row_stride, g.a.col_stride, g.a.batch_stride};
  const Operand b{g.b.data, g.n, g.b.col_stride, g.b.row_stride, g.b.batch_stride};
  const Operand& x = kConfig.transposed ? b : a;
  const Operand& y = kConfig.transposed ? a : b;

  BasicWgmmaTmaParams<TensorBox> p{};
  p.m = static_cast<int>(g.m);
  p.n = static_cast<int>(g.n);
  const bool has_product = g.k > 0 && (g.alpha != 0.0f || g.alpha_device != nullptr);
  p.k = has_product ? static_cast<int>(g.k) : 0;
  p.c_data = g.c.data;
  p.c_ld = g.c.col_stride;
  p.c_batch = g.c.batch_stride;
  static_cast<EpilogueArguments&>(p) = g;
  p.x_batch_step = x.batch_stride != 0 ? kConfig.planes : 0;
  p.y_batch_step = y.batch_stride != 0 ? kConfig.planes : 0;

  if constexpr (kConfig.c_through_shared()) {
    constexpr int kBytes = size_of(kConfig.type_c);
    p.c_whole_m = p.m / (16 / kBytes) * (16 / kBytes);
    p.c_old = {g.c.data,
               g.m,
               g.n,
               g.batch_count,
               g.c.col_stride,
               g.c.batch_stride,
               Shape::kChunkRowBytes / kBytes,
               kConfig.transposed ? 64 : Shape::kChunk,
               Shape::kSwizzleC,
               kBytes};
    p.c = p.c_old;
    if (p.c_whole_m != 0) p.c.extent_x = p.c_whole_m;  // otherwise it is not stored through
  }
  if (has_product) {
    constexpr MmaPolicy kMma = kConfig.mma();
    p.x = wgmma_tma_detail::operand_box(x, kMma, Shape::kMajorX, g.k, g.batch_count, Shape::kPieceX, Shape::kBoxX);
    p.y = wgmma_tma_detail::operand_box(y, kMma, Shape::kMajorY, g.k, g.batch_count, Shape::kPieceY, Shape::kBoxY);
    p.x_tail = wgmma_tma_detail::tail_box(p.x, Shape::kMajorX);
    p.y_tail = wgmma_tma_detail::tail_box(p.y, Shape::kMajorY);
  }

  p.schedule = schedule.as<unsigned>();
  p.partials = workspace;
  return p;
}

}  // namespace xgemm::kernels
