// The BLAS symbols in a program with no xerbla_ anywhere: an illegal argument is one line on stderr, and the call
// returns.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "xgemm.h"
#include "xgemm_blas.h"

namespace {

TEST(NoHandler, IllegalArgumentsAreOneLineEach) {
  ASSERT_EQ(dlsym(RTLD_DEFAULT, "xerbla_"), nullptr) << "this test is to run without a BLAS";
  ASSERT_EQ(dlsym(RTLD_DEFAULT, "cblas_xerbla"), nullptr);

  const int one = 1, two = 2, minus = -1;
  const std::int64_t wide_one = 1, wide_minus = -1;
  const float x = 3;
  const xgemm_half h = 0x3c00;
  float c[4] = {7, 7, 7, 7};
  xgemm_half hc[4] = {7, 7, 7, 7};

  struct Case {
    std::function<void()> call;
    std::string symbol, number, words;  // parts of the line
  };
  const Case cases[] = {
      {[&] { sgemm_("N", "N", &minus, &one, &one, &x, &x, &one, &x, &one, &x, c, &one); }, "sgemm_:", "argument 3 ",
       "m = -1"},
      {[&] { sgemm_("Q", "N", &one, &one, &one, &x, &x, &one, &x, &one, &x, c, &one); }, "sgemm_:", "argument 1 ",
       "'Q'"},
      {[&] { sgemm_("N", "N", &one, &one, &one, &x, nullptr, &one, &x, &one, &x, c, &one); }, "sgemm_:", "argument 7 ",
       "NULL"},
      {[&] {
         sgemm_64_("N", "N", &wide_one, &wide_minus, &wide_one, &x, &x, &wide_one, &x, &wide_one, &x, c, &wide_one);
       },
       "sgemm_64_:", "argument 4 ", "n = -1"},
      {[&] { hgemm_("N", "T", &two, &one, &one, &h, &h, &one, &h, &one, &h, hc, &two); }, "hgemm_:", "argument 8 ",
       "lda = 1"},
      {[&] { cblas_sgemm(7, CblasTrans, CblasTrans, 1, 1, 1, 1, &x, 1, &x, 1, 0, c, 1); },
       "cblas_sgemm:", "argument 1 ", "layout"},
      {[&] { cblas_sgemm(CblasColMajor, CblasTrans, 9, 1, 1, 1, 1, &x, 1, &x, 1, 0, c, 1); },
       "cblas_sgemm:", "argument 3 ", "transb"},
      // In the caller's own terms where no handler of the reference swaps them back.
      {[&] { cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, -1, 1, 1, 1, &x, 1, &x, 1, 0, c, 1); },
       "cblas_sgemm:", "argument 4 ", "m = -1"},
      {[&] { cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 2, 1, &x, 1, &x, 1, 0, c, 1); },
       "cblas_sgemm:", "argument 9 ", "lda = 1"},
      {[&] { cblas_sgemm_64(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 2, 1, 1, &x, 1, &x, 1, 0, c, 2); },
       "cblas_sgemm_64:", "argument 11 ", "ldb = 1"},
      {[&] { cblas_hgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 2, 1, 1, h, &h, 2, &h, 1, 0, hc, 1); },
       "cblas_hgemm:", "argument 14 ", "ldc = 1"},
      {[&] { bgemm_("N", "T", &one, &two, &one, &h, &h, &one, &h, &one, &h, hc, &one); }, "bgemm_:", "argument 10 ",
       "ldb = 1"},
      {[&] { cblas_bgemm(CblasColMajor, CblasNoTrans, 9, 1, 1, 1, h, &h, 1, &h, 1, 0, hc, 1); },
       "cblas_bgemm:", "argument 3 ", "transb"},
  };
  for (const Case& each : cases) {
    testing::internal::CaptureStderr();
    each.call();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_EQ(said.find("xgemm: " + each.symbol), 0u) << said;
    EXPECT_NE(said.find(each.number), std::string::npos) << said;
    EXPECT_NE(said.find(each.words), std::string::npos) << said;
  }
  for (const float value : c) EXPECT_EQ(value, 7);
  for (const xgemm_half value : hc) EXPECT_EQ(value, 7);
}

TEST(NoHandler, LegalCallsSayNothing) {
  const int one = 1;
  const float x = 3, zero = 0;
  float c = 0;
  testing::internal::CaptureStderr();
  sgemm_("N", "N", &one, &one, &one, &x, &x, &one, &x, &one, &zero, &c, &one);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(c, 27);
}

}  // namespace
