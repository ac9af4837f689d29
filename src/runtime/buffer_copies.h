// Copies between matrices and buffers that kernels reach: what is read before a product, and C after it.
#pragma once

#include <cstdint>

#include "core/problem.h"
#include "kernels/pack/params.h"

namespace xgemm::runtime {

// The columns of one of the problem's matrices, as stored, to those of the buffer.
template <class Matrix>
kernels::PackJob gathering(const Problem& p, const Matrix& matrix, std::int64_t rows, std::int64_t columns,
                           const Matrix& buffer) {
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
          .pointers = p.by_pointers()};
}

// The elements of the problem's C that are computed, to the buffer. C is not found by pointers.
inline kernels::PackJob gathering_c(const Problem& p, const OutputMatrix& buffer) {
  if (p.fill == Fill::full) return gathering(p, p.c, p.m, p.n, buffer);
  return {.source = p.c.data,
          .destination = buffer.data,
          .length = p.m,
          .lines = p.n,
          .batch_count = p.batch_count,
          .step = 1,
          .line_stride = p.c.ld,
          .batch_stride = p.c.batch_stride,
          .ld = buffer.ld,
          .ld_batch = buffer.batch_stride,
          .scatters = true,
          .source_step = p.c.step,
          .fill = p.fill};
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
          .pointers = p.by_pointers(),
          .scatters = true,
          .fill = p.fill};
}

}  // namespace xgemm::runtime
