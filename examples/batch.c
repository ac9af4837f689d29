/* The general call: a batch of row-major products that share B, on a context of one's own; and how to ask what will
 * run. SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <xgemm.h>

enum { kBatch = 4, kRows = 3, kCols = 5, kInner = 7 };

static void must(int status, const char* what) {
  if (status == 0) return;
  fprintf(stderr, "%s: %s: %s\n", what, xgemm_status_string(status), xgemm_last_error());
  exit(1);
}

int main(void) {
  static float a[kBatch][kRows][kInner], b[kInner][kCols], c[kBatch][kRows][kCols];
  const float alpha = 0.5f;
  xgemm_context* ctx = NULL;
  xgemm_args args = XGEMM_ARGS_INIT;
  char text[2048];
  int i, j, l, p;

  for (p = 0; p < kBatch; ++p)
    for (i = 0; i < kRows; ++i)
      for (l = 0; l < kInner; ++l) a[p][i][l] = (float)(p + i - l);
  for (l = 0; l < kInner; ++l)
    for (j = 0; j < kCols; ++j) b[l][j] = (float)(l + 2 * j);

  must(xgemm_create(&ctx), "xgemm_create");
  args.layout = XGEMM_ROW_MAJOR;
  args.m = kRows;
  args.n = kCols;
  args.k = kInner;
  args.alpha = &alpha; /* beta stays NULL: 0 */
  args.a = a;
  args.lda = kInner;
  args.b = b;
  args.ldb = kCols;
  args.c = c;
  args.ldc = kCols;
  args.batch_count = kBatch;
  args.stride_a = kRows * kInner;
  args.stride_b = 0; /* the same B for all */
  args.stride_c = kRows * kCols;

  must(xgemm_explain(ctx, &args, text, sizeof text), "xgemm_explain");
  printf("%s\n", text);
  must(xgemm_gemm(ctx, &args), "xgemm_gemm");
  must(xgemm_destroy(ctx), "xgemm_destroy");

  for (p = 0; p < kBatch; ++p)
    for (i = 0; i < kRows; ++i)
      for (j = 0; j < kCols; ++j) {
        float sum = 0; /* small integers: exact in any order */
        for (l = 0; l < kInner; ++l) sum += a[p][i][l] * b[l][j];
        if (c[p][i][j] != alpha * sum) return 1;
      }
  printf("%d products of %d x %d x %d are right.\n", kBatch, kRows, kCols, kInner);
  return 0;
}
