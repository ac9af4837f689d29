// A program linked with -lxgemm before -lblas: its GEMM is ours, everything else of BLAS is the other library's. It
// brings its own xerbla_ but no cblas_xerbla, as Fortran programs do.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "support/oracle.h"
#include "xgemm_blas.h"

namespace {
std::string reported_name;
int reported_number = 0;
}  // namespace

extern "C" {
void ssyr2k_(const char* uplo, const char* trans, const int* n, const int* k, const float* alpha, const float* a,
             const int* lda, const float* b, const int* ldb, const float* beta, float* c, const int* ldc, std::size_t,
             std::size_t);

__attribute__((visibility("default"))) void xerbla_(const char* name, const int* number, std::size_t) {
  reported_name.assign(name, 5);
  reported_number = *number;
}
}

namespace {

std::string file_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fname : "";
}

TEST(LinkOrder, GemmIsOursTheRestIsNot) {
  EXPECT_NE(file_of(reinterpret_cast<const void*>(&sgemm_)).find("libxgemm"), std::string::npos);
  EXPECT_NE(file_of(reinterpret_cast<const void*>(&cblas_sgemm)).find("libxgemm"), std::string::npos);
  EXPECT_EQ(file_of(reinterpret_cast<const void*>(&ssyr2k_)).find("libxgemm"), std::string::npos);
}

TEST(LinkOrder, BothLibrariesCompute) {
  xgemm::test::Case<float> c('N', 'T', 20, 20, 9, 1.5f, 0.5f);
  c.b = c.a;  // A A^T, which ssyr2k computes too, twice
  const int n = 20, k = 9, lda = static_cast<int>(c.a.ld()), ldc = static_cast<int>(c.c.ld());
  const float alpha = 1.5f, half = 0.75f, beta = 0.5f;
  auto by_syr2k = c.c;
  sgemm_("N", "T", &n, &n, &k, &alpha, c.a.data(), &lda, c.b.data(), &lda, &beta, c.c.data(), &ldc);
  ssyr2k_("L", "N", &n, &k, &half, c.a.data(), &lda, c.b.data(), &lda, &beta, by_syr2k.data(), &ldc, 1, 1);
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; ++i) EXPECT_NEAR(c.c(i, j), by_syr2k(i, j), 1e-5);
}

TEST(LinkOrder, TheProgramsHandlerRuns) {
  const int one = 1, minus = -1;
  const float x = 1;
  float c = 5;
  reported_number = 0;
  sgemm_("N", "N", &one, &minus, &one, &x, &x, &one, &x, &one, &x, &c, &one);
  EXPECT_EQ(reported_number, 4);
  EXPECT_EQ(reported_name, "SGEMM");
  // The reference's cblas_sgemm leaves these checks to sgemm_; the cblas_xerbla of a library would end the program.
  reported_number = 0;
  cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 1, 1, -1, 1, &x, 1, &x, 1, 0, &c, 1);
  EXPECT_EQ(reported_number, 5);
  reported_number = 0;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, -1, 1, 1, 1, &x, 1, &x, 1, 0, &c, 1);
  EXPECT_EQ(reported_number, 4);
  EXPECT_EQ(c, 5);
}

}  // namespace
