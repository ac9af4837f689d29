/* A library for XGEMM_CPU_BLAS that does what must not hurt: its sgemm_ calls the program's sgemm_, which is
 * libxgemm's. SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <dlfcn.h>

typedef void sgemm_function(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                            const int*, const float*, const int*, const float*, float*, const int*);

void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc) {
  void* found = dlsym(dlopen(0, RTLD_LAZY), "sgemm_"); /* RTLD_DEFAULT may find this library first */
  sgemm_function* programs_own;
  *(void**)&programs_own = found;
  programs_own(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
