// What the finishing pass is told: a matrix of sums, or of what a product has left in C, and what becomes of it. Plain
// data and pure host code.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/finishing.h"
#include "core/problem.h"
#include "kernels/common/params.h"

namespace xgemm::kernels {

struct FinishParams : EpilogueArguments {
  static constexpr int kThreads = 256;  // of a CTA
  static constexpr std::int64_t kMostCtas = 1 << 20;
  // Of a thread: elements down a column, and columns.
  static constexpr int vector(int element_bytes) { return 16 / element_bytes; }
  static constexpr int columns(int element_bytes) { return element_bytes == 4 ? 4 : 2; }

  std::int64_t m, n, k, batch_count;  // k: 0 where there are no sums
  ConstMatrixArg sums;                // of the type of sums; row_stride 1, as in the others
  ConstMatrixArg old_c;               // not read where beta is 0
  MatrixArg c;
  MatrixArg aux;  // null data: none; strides of ReLU's are bytes
  Activation activation;
  Along bias_along;
  const void* bias;
  const void* row_scales;
  const void* column_scales;
  bool vectors;                          // columns start at multiples of a vector, everywhere,
  bool vectors_of_aux;                   // and so do those of aux, if it is of elements,
  bool vectors_of_rows;                  // and what is given for rows
  int width;                             // 2^width vectors of a column lie side by side in a CTA
  std::int64_t tiles_m, tiles_n, tiles;  // in all: of all entries
  unsigned ctas;                         // which walk them
};

// The pass after product_before(p, buffer).
inline FinishParams finish_params(const Problem& p, const void* buffer) {
  const auto factor = [&](const Scalar& x) {
    return p.sums() == DType::f64 ? Factor::of(x.value, x.device) : Factor::of(static_cast<float>(x.value), x.device);
  };
  const Epilogue& e = p.epilogue;
  const bool combined = combines_in_place(p);
  FinishParams f{};
  f.alpha = combined ? factor({1, nullptr}) : factor(p.alpha);
  f.beta = combined ? factor({0, nullptr}) : factor(p.beta);
  f.m = p.m, f.n = p.n, f.batch_count = p.batch_count;
  f.k = combined || p.reads_inputs() ? 1 : 0;
  f.c = {p.c.data, 1, p.c.ld, p.c.batch_stride};
  const ConstMatrixArg c = {p.c.data, 1, p.c.ld, p.c.batch_stride};
  f.sums = needs_buffer(p) ? ConstMatrixArg{buffer, 1, p.m, p.m * p.n} : c;
  f.old_c = e.old_c != nullptr ? ConstMatrixArg{e.old_c, 1, e.ld_old_c, e.stride_old_c} : c;
  const std::int64_t bits = e.aux_is_bits() ? 8 : 1;
  f.aux = {e.aux, 1, e.ld_aux / bits, e.stride_aux / bits};
  f.activation = e.activation;
  f.bias_along = e.bias_along;
  f.bias = e.bias;
  f.row_scales = e.row_scales;
  f.column_scales = e.column_scales;
  const int vector = FinishParams::vector(size_of(p.c.type));
  const auto starts = [&](const void* data, DType type) {
    return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(std::min(16, vector * size_of(type))) ==
           0;
  };
  const auto aligned = [&](const auto& x, DType type) {
    return starts(x.data, type) && x.col_stride % vector == 0 && x.batch_stride % vector == 0;
  };
  f.vectors = aligned(f.c, p.c.type) && (f.k == 0 || aligned(f.sums, p.sums())) &&
              (f.beta.device == nullptr && p.beta.is(0) ? true : combined || aligned(f.old_c, p.c.type));
  f.vectors_of_aux = aligned(f.aux, p.c.type);
  f.vectors_of_rows = (f.bias_along != Along::rows || starts(f.bias, p.c.type)) && starts(f.row_scales, p.sums());
  while (f.width < 5 && std::int64_t{vector} << f.width < p.m) ++f.width;
  const std::int64_t rows = std::int64_t{vector} << f.width;
  const std::int64_t columns =
      std::int64_t{FinishParams::kThreads >> f.width} * FinishParams::columns(size_of(p.c.type));
  f.tiles_m = (p.m + rows - 1) / rows;
  f.tiles_n = (p.n + columns - 1) / columns;
  f.tiles = f.tiles_m * f.tiles_n * p.batch_count;
  f.ctas = static_cast<unsigned>(std::min(f.tiles, FinishParams::kMostCtas));
  return f;
}

}  // namespace xgemm::kernels
