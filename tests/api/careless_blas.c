// A BLAS that breaks two promises, as old ones do: it reads C where beta = 0, and skips zeros of B, which hides a NaN
// beside them.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <stddef.h>
#define GEMM(name, T)                                                                                         \
  void name(const char* transa, const char* transb, const int* m, const int* n, const int* k, const T* alpha, \
            const T* a, const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc) {    \
    for (ptrdiff_t j = 0; j < *n; ++j)                                                                        \
      for (ptrdiff_t i = 0; i < *m; ++i) {                                                                    \
        T sum = 0;                                                                                            \
        for (ptrdiff_t l = 0; l < *k; ++l) {                                                                  \
          const T x = *transa == 'N' ? a[i + l * *lda] : a[l + i * *lda];                                     \
          const T y = *transb == 'N' ? b[l + j * *ldb] : b[j + l * *ldb];                                     \
          if (y != 0) sum += x * y;                                                                           \
        }                                                                                                     \
        c[i + j * *ldc] = *alpha * sum + *beta * c[i + j * *ldc];                                             \
      }                                                                                                       \
  }
GEMM(sgemm_, float)
GEMM(dgemm_, double)
