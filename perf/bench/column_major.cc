// Row-major calls for libraries that know column-major ones alone. SPDX-License-Identifier: BSD-3-Clause
#include "bench/candidate.h"

namespace xgemm::perf {

ColumnMajorCall column_major(const Case& one, const OperandSet& x) {
  if (!one.row_major)
    return {one.transa, one.transb,   one.m, one.n,   one.k,        x.a,          one.lda,      one.stride_a, x.b,
            one.ldb,    one.stride_b, x.c,   one.ldc, one.stride_c, x.a_pointers, x.b_pointers, x.c_pointers};
  return {one.transb, one.transa,   one.n, one.m,   one.k,        x.b,          one.ldb,      one.stride_b, x.a,
          one.lda,    one.stride_a, x.c,   one.ldc, one.stride_c, x.b_pointers, x.a_pointers, x.c_pointers};
}

}  // namespace xgemm::perf
