// Row-major calls for libraries that know column-major ones alone. SPDX-License-Identifier: BSD-3-Clause
#include "bench/candidate.h"

namespace xgemm::perf {

ColumnMajorCall column_major(const Case& one, const OperandSet& operands) {
  if (!one.row_major)
    return {one.transa,   one.transb, one.m,   one.n,        one.k,      operands.a, one.lda,
            one.stride_a, operands.b, one.ldb, one.stride_b, operands.c, one.ldc,    one.stride_c};
  return {one.transb,   one.transa, one.n,   one.m,        one.k,      operands.b, one.ldb,
          one.stride_b, operands.a, one.lda, one.stride_a, operands.c, one.ldc,    one.stride_c};
}

}  // namespace xgemm::perf
