/* A program that multiplies in double precision alone. SPDX-License-Identifier: BSD-3-Clause */
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);

int main(void) {
  const int one = 1;
  const double two = 2;
  double c = 0;
  dgemm_("N", "N", &one, &one, &one, &two, &two, &one, &two, &one, &two, &c, &one);
  return c == 8 ? 0 : 1;
}
