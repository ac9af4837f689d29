/* A program that multiplies complex numbers alone. SPDX-License-Identifier: BSD-3-Clause */
void zgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);

int main(void) {
  const int one = 1;
  const double two[2] = {2, 0};
  double c[2] = {0, 0};
  zgemm_("N", "N", &one, &one, &one, two, two, &one, two, &one, two, c, &one);
  return c[0] == 8 ? 0 : 1;
}
