// Choosing a CPU BLAS: names, files, what is refused and what the user is told.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/cpu_blas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "support/oracle.h"

namespace {

using namespace xgemm;
using host::CpuBlas;
using std::int64_t;

// Libraries made up for the test: correct but for what their name says.
template <bool kReadsC, bool kSkipsZeros, bool kWrong>
void made_up_sgemm(const char* transa, const char* transb, const int64_t* m, const int64_t* n, const int64_t* k,
                   const float* alpha, const float* a, const int64_t* lda, const float* b, const int64_t* ldb,
                   const float* beta, float* c, const int64_t* ldc, std::size_t, std::size_t) {
  for (int64_t j = 0; j < *n; ++j)
    for (int64_t i = 0; i < *m; ++i) {
      float sum = kWrong ? 1.0f : 0.0f;
      for (int64_t l = 0; l < *k; ++l) {
        const float x = *transa == 'N' ? a[i + l * *lda] : a[l + i * *lda];
        const float y = *transb == 'N' ? b[l + j * *ldb] : b[j + l * *ldb];
        if (!kSkipsZeros || y != 0.0f) sum += x * y;
      }
      float& out = c[i + j * *ldc];
      out = *alpha * sum + (!kReadsC && *beta == 0.0f ? 0.0f : *beta * out);
    }
}

TEST(CpuBlas, ConductIsFoundOut) {
  const auto conduct = [](CpuBlas::Function sgemm) {
    const CpuBlas::Conduct c = host::conduct_of(sgemm);
    return std::array{c.right, c.spares_c, c.keeps_nan};
  };
  EXPECT_EQ(conduct(made_up_sgemm<false, false, false>), (std::array{true, true, true}));
  EXPECT_EQ(conduct(made_up_sgemm<true, false, false>), (std::array{true, false, true}));
  EXPECT_EQ(conduct(made_up_sgemm<false, true, false>), (std::array{true, true, false}));
  EXPECT_EQ(conduct(made_up_sgemm<true, true, false>), (std::array{true, false, false}));
  EXPECT_FALSE(conduct(made_up_sgemm<false, false, true>)[0]);
}

TEST(CpuBlas, LargeExtentsAreSplit) {
  CpuBlas blas;
  blas.sgemm = made_up_sgemm<false, false, false>;
  for (const char transa : {'N', 'T'})
    for (const char transb : {'N', 'T'})
      for (const float beta : {0.0f, 0.5f}) {
        test::Case<float> c(transa, transb, 23, 17, 29, -1.5f, beta);
        const auto& p = c.product;
        const auto op = [](char flag) { return flag == 'N' ? Op::none : Op::transpose; };
        blas.run({op(transa), op(transb), p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, c.c.data(), p.ldc},
                 8);
        const test::Verdict verdict = c.check();
        EXPECT_TRUE(verdict.ok) << verdict.message;
      }
}

TEST(CpuBlas, BuiltinByName) {
  std::string complaint;
  const CpuBlas blas = host::open_cpu_blas("builtin", &complaint);
  EXPECT_EQ(blas.name, "builtin");
  EXPECT_EQ(blas.sgemm, nullptr);
  EXPECT_EQ(complaint, "");
}

TEST(CpuBlas, NothingNamedFindsSomethingWithoutComplaint) {
  std::string complaint = "left over";
  const CpuBlas blas = host::open_cpu_blas("", &complaint);
  EXPECT_EQ(complaint, "");
  EXPECT_EQ(blas.sgemm == nullptr, blas.name == "builtin");
  EXPECT_FALSE(blas.reason.empty());
}

TEST(CpuBlas, WhatCannotBeHadIsSaidOnceAndReplaced) {
  std::string nothing, complaint;
  const CpuBlas usual = host::open_cpu_blas("", &nothing);
  for (const std::string wanted : {"nonsense", "/no/such/libblas.so", "libnosuch.so.7"}) {
    const CpuBlas blas = host::open_cpu_blas(wanted, &complaint);
    EXPECT_EQ(blas.name, usual.name);
    EXPECT_NE(complaint.find("XGEMM_CPU_BLAS=" + wanted), std::string::npos) << complaint;
    for (const char* allowed : {"openblas", "blis", "mkl", "blas", "builtin"})
      EXPECT_NE(complaint.find(allowed), std::string::npos) << complaint;
    EXPECT_EQ(std::count(complaint.begin(), complaint.end(), '\n'), 0) << complaint;
  }
  // A library without sgemm_.
  EXPECT_EQ(host::open_cpu_blas("libm.so.6", &complaint).name, usual.name);
  EXPECT_NE(complaint.find("has no sgemm_"), std::string::npos) << complaint;
}

TEST(CpuBlas, EveryLibraryOfThisMachineServesByNameAndByFile) {
  for (const std::string name : {"openblas", "blis", "mkl", "blas"}) {
    std::string complaint;
    const CpuBlas named = host::open_cpu_blas(name, &complaint);
    if (!complaint.empty()) {  // not installed
      EXPECT_NE(named.name, name);
      continue;
    }
    EXPECT_EQ(named.name, name);
    EXPECT_EQ(named.reason, "XGEMM_CPU_BLAS");
    const CpuBlas by_file = host::open_cpu_blas(named.file, &complaint);
    EXPECT_EQ(complaint, "");
    EXPECT_EQ(by_file.name, named.file);
    EXPECT_EQ(by_file.sgemm, named.sgemm);
  }
}

}  // namespace
