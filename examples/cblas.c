/* A program written for CBLAS: the same call, answered by libxgemm. Only the library that it is linked with differs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <xgemm_blas.h> /* or any cblas.h */

int main(void) {
  const float a[] = {1, 2, 3, 4, 5, 6}; /* 2 x 3, row by row */
  const float b[] = {1, 0, 0, 1, 1, 1}; /* 3 x 2 */
  float c[] = {100, 100, 100, 100};     /* 2 x 2 */
  const float expected[] = {104, 105, 110, 111};
  int i;

  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 3, 1.0f, a, 3, b, 2, 1.0f, c, 2);
  printf("%g %g\n%g %g\n", c[0], c[1], c[2], c[3]);
  for (i = 0; i < 4; ++i)
    if (c[i] != expected[i]) return 1;
  return 0;
}
