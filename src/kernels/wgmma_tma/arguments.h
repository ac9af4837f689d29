// From a problem and its schedule to the parameters of a wgmma_tma kernel. Pure host code without CUDA; the launcher
// encodes the boxes as tensor maps, the simulator takes them as they are.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/common/lone_line.h"
#include "kernels/common/params.h"
#include "kernels/wgmma_tma/config.h"
#include "kernels/wgmma_tma/params.h"

namespace xgemm::kernels {

namespace wgmma_tma_detail {

// mn: the axis that the operand shares with C; k the other. Strides in elements.
struct Operand {
  const void* data;
  std::int64_t mn_extent, mn_stride, k_stride, batch_stride;
  const float* factors;

  bool by_pointers() const { return is_of_pointers(batch_stride); }
};

// box: rows of x at most; those that do not exist are not asked for. Planes lie one after another, and the
// entries of a batch likewise, without gaps.
inline TensorBox operand_box(const Operand& o, const MmaPolicy& mma, gpu::Major major, std::int64_t k,
                             std::int64_t batch, int piece, int box) {
  const bool batched = batch > 1 && o.batch_stride != 0;
  const std::int64_t z = (batched ? batch : 1) * mma.planes;
  const std::int64_t plane = major == gpu::Major::k ? o.mn_extent * o.mn_stride : k * o.k_stride;
  const std::int64_t z_stride = mma.planes > 1 ? plane : o.batch_stride;
  const int bytes = mma.element_bytes();
  const bool tf32 = mma.element == DType::f32;
  if (major == gpu::Major::k) {
    const int rows = static_cast<int>(std::min<std::int64_t>(box, o.mn_extent));
    return {o.data,        k,    o.mn_extent,          z,     o.mn_stride, z_stride,
            mma.slice_k(), rows, MmaPolicy::kRowBytes, bytes, tf32,        o.by_pointers()};
  }
  return {o.data, o.mn_extent, k, z, o.k_stride, z_stride, piece, box, piece * bytes, bytes, tf32, o.by_pointers()};
}

// The box of the last rows, where they do not fill a whole one.
inline TensorBox tail_box(const TensorBox& whole, gpu::Major major) {
  TensorBox tail = whole;
  if (major == gpu::Major::k && whole.extent_y % whole.box_y != 0) {
    tail.box_y = static_cast<int>(whole.extent_y % whole.box_y);
  }
  return tail;
}

// extent: of the tile along mn; piece: width of its pieces, where it is MN-major.
constexpr OperandShare operand_share(gpu::Major major, int extent, int piece, int slice_k, int peers) {
  constexpr int kAtom = 8;  // lines of a swizzle atom
  const auto parts_of = [&](int lines) {
    int parts = peers;
    while (lines % (parts * kAtom) != 0) parts /= 2;
    return parts;
  };
  if (major == gpu::Major::k) {
    const int rows = extent / parts_of(extent);
    return {.lines = rows, .pieces = 1, .step_mn = rows, .step_k = 0};
  }
  const int pieces = extent / piece;
  if (pieces % peers == 0) return {.lines = slice_k, .pieces = pieces / peers, .step_mn = pieces / peers, .step_k = 0};
  const int lines = slice_k / parts_of(slice_k);
  return {.lines = lines, .pieces = pieces, .step_mn = 0, .step_k = lines};
}

}  // namespace wgmma_tma_detail

// What of an instance the parameters depend on: worked out once for each, by the compiler.
struct WgmmaTmaBoxes {
  int absent_slots[WgmmaTmaConfig::kMostCtasPerSm];  // by the CTAs that share an SM
  bool transposed;
  Copy copy;
  bool bulk_y;
  MmaPolicy mma;
  gpu::Major major_x, major_y;
  int piece_x, piece_y;
  int extent_x, extent_y;  // of the tile in shared memory, along mn
  bool c_through_shared;
  int c_bytes;                       // of an element
  int c_rows, c_columns, c_swizzle;  // of a box of C, and of old C
};

constexpr WgmmaTmaBoxes wgmma_tma_boxes(const WgmmaTmaConfig& c) {
  const auto absent = [&](int ctas_per_sm) { return c.stages - c.slots(ctas_per_sm); };
  return {.absent_slots = {absent(1), absent(2), absent(3), absent(4)},
          .transposed = c.transposed,
          .copy = c.copy,
          .bulk_y = c.copy == Copy::bulk || c.by_lines(),
          .mma = c.mma(),
          .major_x = c.major_x(),
          .major_y = c.major_y(),
          .piece_x = c.widest_piece(),
          .piece_y = c.y_piece(),
          .extent_x = c.tile_rows(),
          .extent_y = c.y_columns(),
          .c_through_shared = c.c_through_shared(),
          .c_bytes = size_of(c.type_c),
          .c_rows = c.c_row(),
          .c_columns = c.transposed ? 64 : c.chunk(),
          .c_swizzle = c.c_swizzle()};
}

inline BasicWgmmaTmaParams<TensorBox> wgmma_tma_arguments(const WgmmaTmaBoxes& boxes, const GemmParams& g,
                                                          const Schedule& schedule, void* workspace) {
  using wgmma_tma_detail::Operand;
  const Operand a{g.a.data, g.m, g.a.row_stride, g.a.col_stride, g.a.batch_stride, g.factors_a};
  const Operand b{g.b.data, g.n, g.b.col_stride, g.b.row_stride, g.b.batch_stride, g.factors_b};
  const Operand& x = boxes.transposed ? b : a;
  const Operand& y = boxes.transposed ? a : b;

  const auto bits_of = [](int power_of_two) { return std::countr_zero(static_cast<unsigned>(power_of_two)); };
  const ClusterShape cluster = schedule.cluster;
  const int cluster_rows = boxes.transposed ? cluster.n : cluster.m;
  const int cluster_columns = boxes.transposed ? cluster.m : cluster.n;

  BasicWgmmaTmaParams<TensorBox> p{};
  p.m = static_cast<int>(g.m);
  p.n = static_cast<int>(g.n);
  const bool has_product = g.k > 0 && !g.alpha.is_zero<float>();
  p.k = has_product ? static_cast<int>(g.k) : 0;
  p.bf16 = boxes.mma.element == DType::bf16;
  p.c_data = g.c.data;
  p.c_ld = g.c.col_stride;
  p.c_batch = g.c.batch_stride;
  static_cast<EpilogueArguments&>(p) = g;
  const auto batch_step = [&](const Operand& o) {
    return g.c.by_pointers() ? -1 : o.batch_stride != 0 ? boxes.mma.planes : 0;
  };
  p.x_batch_step = batch_step(x);
  p.y_batch_step = batch_step(y);

  const auto box = [&](const auto& c, std::int64_t rows) {
    return TensorBox{c.data,          rows,           g.n,          g.batch_count,
                     c.col_stride,    c.batch_stride, boxes.c_rows, boxes.c_columns,
                     boxes.c_swizzle, boxes.c_bytes,  false,        c.by_pointers()};
  };
  const auto by_tma = [&](const auto& c) {
    constexpr double kReach = 0x1p40;  // of the copy engine's strides, in bytes
    const auto reaches = [&](std::int64_t stride) { return double(stride) * boxes.c_bytes < kReach; };
    return c.may_start_on_vectors(boxes.c_bytes, g.batch_count) &&
           (g.n <= 1 || (c.col_stride * boxes.c_bytes % 16 == 0 && reaches(c.col_stride))) &&
           (g.batch_count <= 1 || reaches(c.batch_stride));
  };
  const int whole = 16 / boxes.c_bytes;
  // Of fp32 where there is no old C.
  if (boxes.c_through_shared && (boxes.c_bytes == 2 || g.beta.is_zero<float>()) && by_tma(g.c))
    p.c_whole_m = p.m / whole * whole;
  if (p.c_whole_m != 0) p.c = box(g.c, p.c_whole_m);
  if (!g.beta.is_zero<float>() && boxes.copy == Copy::bulk) {
    const auto old_c = [&](const auto& c) {
      // By pointers, of fp32, each may lie as it likes: threads bring them all.
      p.c_old_by_tma = by_tma(c) && (boxes.c_bytes == 2 || !c.by_pointers());
      if (p.c_old_by_tma) p.c_old = box(c, g.m);
    };
    g.c_copy.data != nullptr ? old_c(g.c_copy) : old_c(g.c);
  }
  if (boxes.copy != Copy::bulk || g.c.by_pointers()) {
    const auto lines = [&](const Operand& o, gpu::Major major) {
      const bool along_k = major == gpu::Major::k;
      return WordLines{o.data, stride_of_lines(along_k ? o.mn_stride : o.k_stride, along_k ? o.mn_extent : g.k),
                       o.batch_stride};
    };
    const auto old_c = [](const auto& c) { return WordLines{c.data, c.col_stride, c.batch_stride}; };
    p.x_lines = lines(x, boxes.major_x);
    p.y_lines = lines(y, boxes.major_y);
    p.c_lines = g.c_copy.data != nullptr ? old_c(g.c_copy) : old_c(g.c);
  }
  using namespace wgmma_tma_detail;
  const int slice_k = boxes.mma.slice_k();
  if (has_product && boxes.copy == Copy::bulk) {
    p.x_share = operand_share(boxes.major_x, boxes.extent_x, boxes.piece_x, slice_k, cluster_columns);
    p.x = operand_box(x, boxes.mma, boxes.major_x, g.k, g.batch_count, boxes.piece_x, p.x_share.lines);
    p.x_tail = tail_box(p.x, boxes.major_x);
  }
  if (has_product && boxes.bulk_y) {
    p.y_share = operand_share(boxes.major_y, boxes.extent_y, boxes.piece_y, slice_k, cluster_rows);
    p.y = operand_box(y, boxes.mma, boxes.major_y, g.k, g.batch_count, boxes.piece_y, p.y_share.lines);
    p.y_tail = tail_box(p.y, boxes.major_y);
  }

  p.finishing = g.finishing;
  p.condition = g.condition;
  p.factors_x = x.factors, p.factors_x_step = x.batch_stride != 0 ? factors_of_entry(x.mn_extent) : 0;
  p.factors_y = y.factors, p.factors_y_step = y.batch_stride != 0 ? factors_of_entry(y.mn_extent) : 0;
  p.row_bits = bits_of(cluster_rows);
  p.column_bits = bits_of(cluster_columns);
  p.split_bits = bits_of(cluster.k);
  p.sharers = cluster.m * cluster.n;
  for (int column = 0; column < cluster_columns; ++column) p.row_mask |= 1 << column * cluster_rows;
  p.column_mask = (1 << cluster_rows) - 1;
  p.absent_slots = boxes.absent_slots[schedule.ctas_per_sm - 1];
  p.schedule = schedule.as<unsigned>();
  p.partials = static_cast<float*>(workspace);
  return p;
}

// The same for kernels whose X has lines that start anywhere. A class of lines has a matrix of its own, which begins at
// the vector that the first of them begins in, with what of it lies before the line.
inline BasicWgmmaTmaLineParams<TensorBox> wgmma_tma_line_arguments(const WgmmaTmaBoxes& boxes, const GemmParams& g,
                                                                   const Schedule& schedule, void* workspace) {
  constexpr int kVector = 16, kRowVectors = MmaPolicy::kRowBytes / kVector;
  BasicWgmmaTmaLineParams<TensorBox> p{};
  static_cast<BasicWgmmaTmaParams<TensorBox>&>(p) = wgmma_tma_arguments(boxes, g, schedule, workspace);
  if (p.k == 0) return p;
  const std::int64_t mn = boxes.transposed ? g.n : g.m;
  const bool along_k = boxes.major_x == gpu::Major::k;
  const std::int64_t length = along_k ? g.k : mn, lines = along_k ? mn : g.k;
  const int bytes = boxes.mma.element_bytes();
  const bool batched = g.batch_count > 1 && p.x_lines.batch_stride != 0;
  p.classes = static_cast<int>(std::min<std::int64_t>(p.kClasses, lines));
  for (int i = 0; i < p.classes; ++i) {
    const auto line =
        reinterpret_cast<std::uintptr_t>(p.x_lines.data) + static_cast<std::uintptr_t>(i * p.x_lines.stride * bytes);
    const std::uintptr_t before = line % kVector;
    const int elements = static_cast<int>(before) / bytes;
    p.x_classes[i] = {reinterpret_cast<const void*>(line - before),
                      elements + length,
                      (lines - i + p.kClasses - 1) / p.kClasses,
                      batched ? g.batch_count : 1,
                      p.x_lines.stride * p.kClasses,
                      p.x_lines.batch_stride,
                      (kRowVectors + 1) * kVector / bytes,
                      boxes.extent_x / p.kClasses,
                      0,
                      bytes};
    p.x_classes[i].before = elements;
  }
  return p;
}

}  // namespace xgemm::kernels
