// Copies between matrices and buffers that kernels reach: what is read before a product, and C after it.
#pragma once

#include <cstdint>

#include "core/problem.h"
#include "kernels/pack/params.h"

namespace xgemm::runtime {

// The columns of one of the problem's matrices, as stored, to those of the buffer; of C only what is computed.
template <class Matrix>
kernels::PackJob gathering(const Problem& p, const Matrix& matrix, std::int64_t rows, std::int64_t columns,
                           const Matrix& buffer, Fill fill = Fill::full) {
  return {.source = matrix.data,
          .destination = const_cast<void*>(buffer.data),
          .length = rows,
          .lines = columns,
          .batch_count = p.batch_count,
          .step = matrix.step,
          .line_stride = matrix.ld,
          .batch_stride = matrix.batch_stride,
          .ld = buffer.ld,
          .ld_batch = buffer.batch_stride,
          .pointers = p.batch_kind == BatchKind::pointers,
          .fill = fill};
}

// The elements of the problem's C that are computed, from the buffer.
inline kernels::PackJob scattering(const Problem& p, const OutputMatrix& buffer) {
  return {.source = buffer.data,
          .destination = p.c.data,
          .length = p.m,
          .lines = p.n,
          .batch_count = p.batch_count,
          .step = p.c.step,
          .line_stride = buffer.ld,
          .batch_stride = buffer.batch_stride,
          .ld = p.c.ld,
          .ld_batch = p.c.batch_stride,
          .pointers = p.batch_kind == BatchKind::pointers,
          .scatters = true,
          .fill = p.fill};
}

}  // namespace xgemm::runtime
