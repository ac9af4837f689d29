/* The shortest use: C := A * B with matrices in ordinary memory. Column-major, as BLAS.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <xgemm.h>

int main(void) {
  /* A is 2 x 3, B is 3 x 2, each written column by column. */
  const float a[] = {1, 4, 2, 5, 3, 6}; /* 1 2 3 / 4 5 6 */
  const float b[] = {1, 0, 1, 0, 1, 1}; /* 1 0 / 0 1 / 1 1 */
  float c[4];
  int status;

  status = xsgemm('N', 'N', 2, 2, 3, 1.0f, a, 2, b, 3, 0.0f, c, 2);
  if (status != 0) {
    fprintf(stderr, "xsgemm: %s: %s\n", xgemm_status_string(status), xgemm_last_error());
    return 1;
  }
  printf("libxgemm %s\n%4g %4g\n%4g %4g\n", xgemm_version_string(), c[0], c[2], c[1], c[3]);
  if (c[0] != 4 || c[1] != 10 || c[2] != 5 || c[3] != 11) return 1;

  /* A mistake is named, and nothing is written: lda = 1 is too small for two rows. */
  status = xsgemm('N', 'N', 2, 2, 3, 1.0f, a, 1, b, 3, 0.0f, c, 2);
  printf("with lda = 1: %d (%s)\n", status, xgemm_last_error());
  return status == -XGEMM_ARG_LDA ? 0 : 1;
}
