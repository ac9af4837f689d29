// Choosing a CPU BLAS: names, files, what is refused and what the user is told.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "host/cpu_blas.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "support/oracle.h"

namespace {

using namespace xgemm;
using host::BlasRoutine;
using host::CpuBlas;
using std::int64_t;

// Libraries made up for the test: correct but for what their name says.
template <class T, bool kReadsC, bool kSkipsZeros, bool kWrong>
void made_up_gemm(const char* transa, const char* transb, const int64_t* m, const int64_t* n, const int64_t* k,
                  const T* alpha, const T* a, const int64_t* lda, const T* b, const int64_t* ldb, const T* beta, T* c,
                  const int64_t* ldc, std::size_t, std::size_t) {
  for (int64_t j = 0; j < *n; ++j)
    for (int64_t i = 0; i < *m; ++i) {
      T sum = kWrong ? 1 : 0;
      for (int64_t l = 0; l < *k; ++l) {
        const T x = *transa == 'N' ? a[i + l * *lda] : a[l + i * *lda];
        const T y = *transb == 'N' ? b[l + j * *ldb] : b[j + l * *ldb];
        if (!kSkipsZeros || y != 0) sum += x * y;
      }
      T& out = c[i + j * *ldc];
      out = *alpha * sum + (!kReadsC && *beta == 0 ? 0 : *beta * out);
    }
}

template <class T>
class CpuBlasRoutine : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CpuBlasRoutine, Types);

TYPED_TEST(CpuBlasRoutine, ConductIsFoundOut) {
  using T = TypeParam;
  const auto conduct = [](typename BlasRoutine<T>::Function gemm) {
    BlasRoutine<T> routine;
    routine.function = gemm;
    routine.try_out();
    const auto& c = routine.conduct;
    return std::array{c.right, c.spares_c, c.keeps_nan};
  };
  EXPECT_EQ(conduct(made_up_gemm<T, false, false, false>), (std::array{true, true, true}));
  EXPECT_EQ(conduct(made_up_gemm<T, true, false, false>), (std::array{true, false, true}));
  EXPECT_EQ(conduct(made_up_gemm<T, false, true, false>), (std::array{true, true, false}));
  EXPECT_EQ(conduct(made_up_gemm<T, true, true, false>), (std::array{true, false, false}));
  EXPECT_FALSE(conduct(made_up_gemm<T, false, false, true>)[0]);
}

TYPED_TEST(CpuBlasRoutine, LargeExtentsAreSplit) {
  using T = TypeParam;
  BlasRoutine<T> blas;
  blas.function = made_up_gemm<T, false, false, false>;
  for (const char transa : {'N', 'T'})
    for (const char transb : {'N', 'T'})
      for (const T beta : {0.0, 0.5}) {
        test::Case<T> c(transa, transb, 23, 17, 29, T(-1.5), beta);
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
  EXPECT_EQ(blas.sgemm.function, nullptr);
  EXPECT_EQ(blas.dgemm.function, nullptr);
  EXPECT_EQ(complaint, "");
}

TEST(CpuBlas, NothingNamedFindsSomethingWithoutComplaint) {
  std::string complaint = "left over";
  const CpuBlas blas = host::open_cpu_blas("", &complaint);
  EXPECT_EQ(complaint, "");
  EXPECT_EQ(blas.sgemm.function == nullptr, blas.name == "builtin");
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

// As many as the program has told the library to use.
TEST(CpuBlas, OpenBlasSaysHowManyThreadsItHas) {
  std::string complaint;
  const CpuBlas blas = host::open_cpu_blas("openblas", &complaint);
  if (blas.name != "openblas") GTEST_SKIP() << complaint;
  ASSERT_NE(blas.threads, nullptr);
  void* const library = dlopen(blas.file.c_str(), RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  const auto set = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  ASSERT_NE(set, nullptr);
  const int before = blas.threads();
  set(1);
  EXPECT_EQ(blas.threads(), 1);
  set(before);
  EXPECT_EQ(blas.threads(), before);
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
    EXPECT_EQ(by_file.sgemm.function, named.sgemm.function);
    EXPECT_EQ(by_file.dgemm.function, named.dgemm.function);
    EXPECT_NE(named.dgemm.function, nullptr);
  }
}

}  // namespace
