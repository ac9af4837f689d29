/* One product through sgemm_ and one through xsgemm, and where such calls run: for tests that vary the surroundings.
 * Plain C99; prints the text of xgemm_explain and returns 0 when both products are right.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "xgemm.h"
#include "xgemm_blas.h"

enum { M = 5, N = 4, K = 3 };

static int wrong(const float* a, const float* b, const float* c) {
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < M; ++i) {
      float sum = 0;
      for (int l = 0; l < K; ++l) sum += a[i + l * M] * b[l + j * K];
      if (!(c[i + j * M] == sum)) return 1;
    }
  return 0;
}

int main(void) {
  const int m = M, n = N, k = K;
  const float one = 1, zero = 0;
  float a[M * K], b[K * N], c[M * N];
  for (int i = 0; i < M * K; ++i) a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < K * N; ++i) b[i] = (float)(i % 5 - 2);

  sgemm_("N", "N", &m, &n, &k, &one, a, &m, b, &k, &zero, c, &m);
  if (wrong(a, b, c)) return 2;
  for (int i = 0; i < M * N; ++i) c[i] = -1;
  if (xsgemm('N', 'N', M, N, K, 1, a, M, b, K, 0, c, M) != 0 || wrong(a, b, c)) return 3;

  xgemm_args args = XGEMM_ARGS_INIT;
  char text[4096];
  args.m = M, args.n = N, args.k = K;
  args.a = a, args.lda = M;
  args.b = b, args.ldb = K;
  args.c = c, args.ldc = M;
  if (xgemm_explain(NULL, &args, text, sizeof text) != 0) return 4;
  puts(text);
  return 0;
}
