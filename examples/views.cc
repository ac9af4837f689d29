// C++: matrices as views. Storage orders, transposes and sub-matrices are read off the strides; nothing is copied.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <vector>
#include <xgemm.hpp>

int main() {
  constexpr int n = 6, k = 4;
  std::vector<float> a(n * k), gram(n * n), half_of(n * n, -1.0f);
  for (int i = 0; i < n * k; ++i) a[i] = static_cast<float>(i % 5 - 2);

  try {
    // G := A A^T, with A stored row by row and G column by column.
    const auto A = xgemm::row_major(a.data(), n, k);
    const auto G = xgemm::col_major(gram.data(), n, n);
    xgemm::gemm(1.0f, A, A.transposed(), 0.0f, G);

    // The products of every other row of A with all of them, into the even rows of another matrix.
    const auto even = A.submatrix(0, 0, n / 2, k, 2);
    const auto H = xgemm::row_major(half_of.data(), n, n).submatrix(0, 0, n / 2, n, 2);
    xgemm::gemm(1.0f, even, A.transposed(), 0.0f, H);

    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) std::printf("%4g%s", G(i, j), j + 1 < n ? "" : "\n");
    }
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        if (G(i, j) != G(j, i)) return 1;
        if (half_of[i * n + j] != (i % 2 == 0 ? G(i, j) : -1.0f)) return 1;  // odd rows are untouched
      }
    }

    // fp16, and shapes that do not fit together.
    const std::vector<xgemm::half> x(n * k, 0.5f);
    std::vector<xgemm::half> y(n * n);
    const auto X = xgemm::row_major(x.data(), n, k);
    xgemm::gemm(1.0f, X, X.transposed(), 0.0f, xgemm::row_major(y.data(), n, n));
    if (y[0] != 0.25f * k) return 1;
    xgemm::gemm(1.0f, X, X, 0.0f, xgemm::row_major(y.data(), n, n));
  } catch (const xgemm::error& e) {
    std::printf("%s\n", e.what());
    return e.status() == -XGEMM_ARG_N ? 0 : 1;
  }
  return 1;
}
