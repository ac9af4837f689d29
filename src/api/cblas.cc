// cblas_sgemm, cblas_hgemm, cblas_bgemm, cblas_sbgemm, their 64-bit forms, and MKL's names of mixed products.
//
// How the reference reports errors, which its handlers rely on: a row-major call is the column-major call with A and B,
// m and n swapped, and cblas_xerbla is given the number that the argument has there; the handler itself swaps the
// numbers of m and n and of lda and ldb back when the variable RowMajorStrg says so. The variable belongs to the BLAS
// (or to the program that brings its own handler), so it is set where there is one.
//
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <elf.h>
#include <sys/auxv.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "api/blas.h"
#include "core/status.h"
#include "xgemm_blas.h"

extern "C" {
[[gnu::weak, gnu::visibility("default")]] void cblas_xerbla(int number, const char* routine, const char* form, ...);
// In a BLAS of 64-bit integers with the suffix _64.
[[gnu::weak, gnu::visibility("default")]] void cblas_xerbla_64(std::int64_t number, const char* routine,
                                                               const char* form, ...);
[[gnu::weak, gnu::visibility("default")]] void xerbla_(const char* name, const int* number, std::size_t name_length);
[[gnu::weak, gnu::visibility("default")]] extern int RowMajorStrg;
}

namespace xgemm::api {
namespace {

// Arguments of CBLAS that BLAS does not have or knows as characters.
constexpr int kLayout = 1, kTransA = 2, kTransB = 3;

struct Routine {
  const char* symbol;   // what our own messages call it
  const char* name;     // what cblas_xerbla is told
  const char* fortran;  // what xerbla_ is told
  bool wide;            // 64-bit integers
};

// Number of a CBLAS argument of a row-major call in the column-major call that the reference makes of it.
int swapped(int number) {
  switch (number) {
    case 4:
      return 5;  // m
    case 5:
      return 4;  // n
    case 9:
      return 11;  // lda
    case 11:
      return 9;  // ldb
    default:
      return number;
  }
}

const void* object_of(const void* address) {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

bool in_main_program(const void* address) {
  const void* program = object_of(reinterpret_cast<const void*>(getauxval(AT_PHDR)));
  return program != nullptr && object_of(address) == program;
}

// MKL's function of this name has other arguments.
using MklHandler = void (*)(const char* routine, int number);

bool is_mkl(const void* handler) {
  Dl_info info{};
  return dladdr(handler, &info) != 0 && info.dli_fname != nullptr && std::strstr(info.dli_fname, "libmkl") != nullptr;
}

// number: of the CBLAS argument as the caller counts.
void report(const Routine& routine, bool row_major, int number, const char* form, int value) {
  const int reference_number = row_major ? swapped(number) : number;
  const auto handler = reinterpret_cast<const void*>(&cblas_xerbla);
  const auto fortran_handler = reinterpret_cast<const void*>(&xerbla_);

  if (&RowMajorStrg != nullptr) RowMajorStrg = row_major;
  if (routine.wide && cblas_xerbla_64 != nullptr) {
    cblas_xerbla_64(reference_number, routine.name, form, value);
  } else if (number > kTransB && fortran_handler != nullptr && in_main_program(fortran_handler) &&
             !in_main_program(handler)) {
    // A program that brings its xerbla_ alone: in the reference the numeric checks are sgemm_'s, and end there.
    const int fortran_number = reference_number - 1;
    xerbla_(routine.fortran, &fortran_number, std::strlen(routine.fortran));
  } else if (handler != nullptr && is_mkl(handler)) {
    reinterpret_cast<MklHandler>(const_cast<void*>(handler))(routine.name, number);
  } else if (handler != nullptr) {
    cblas_xerbla(reference_number, routine.name, form, value);
  } else if (fortran_handler != nullptr) {
    const int fortran_number = reference_number - 1;
    xerbla_(routine.fortran, &fortran_number, std::strlen(routine.fortran));
  } else {
    report_without_handler(routine.symbol, number);
  }
  if (&RowMajorStrg != nullptr) RowMajorStrg = 0;
}

// 0 for a value that is none of CBLAS's.
char flag_of(int transpose) {
  switch (transpose) {
    case CblasNoTrans:
      return 'N';
    case CblasTrans:
      return 'T';
    case CblasConjTrans:
      return 'C';
    default:
      return 0;
  }
}

template <class Types>
void cblas_gemm(const Routine& routine, int layout, int transa, int transb, int64_t m, int64_t n, int64_t k,
                typename Types::Scalar alpha, const typename Types::Input* a, int64_t lda,
                const typename Types::Input* b, int64_t ldb, typename Types::Scalar beta, typename Types::Output* c,
                int64_t ldc) {
  const bool row_major = layout == CblasRowMajor;
  const auto reject = [&](int number, const char* message, const char* form, int value) {
    illegal_blas_argument(number, message);
    report(routine, row_major, number, form, value);
  };
  if (!row_major && layout != CblasColMajor)
    return reject(kLayout, "layout is not CblasRowMajor or CblasColMajor", "layout = %d is none of 101, 102\n", layout);
  if (flag_of(transa) == 0)
    return reject(kTransA, "transa is none of CblasNoTrans, CblasTrans, CblasConjTrans",
                  "transa = %d is none of 111, 112, 113\n", transa);
  if (flag_of(transb) == 0)
    return reject(kTransB, "transb is none of CblasNoTrans, CblasTrans, CblasConjTrans",
                  "transb = %d is none of 111, 112, 113\n", transb);

  const int number =
      run_blas_call<Types>(routine.symbol, row_major ? XGEMM_ROW_MAJOR : XGEMM_COL_MAJOR, flag_of(transa),
                           flag_of(transb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (number != 0) report(routine, row_major, number + 1, "", 0);
}

}  // namespace
}  // namespace xgemm::api

using namespace xgemm::api;

extern "C" {

void cblas_sgemm(int layout, int transa, int transb, int m, int n, int k, float alpha, const float* a, int lda,
                 const float* b, int ldb, float beta, float* c, int ldc) {
  cblas_gemm<SgemmTypes>({"cblas_sgemm", "cblas_sgemm", "SGEMM ", false}, layout, transa, transb, m, n, k, alpha, a,
                         lda, b, ldb, beta, c, ldc);
}

void cblas_sgemm_64(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                    int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  cblas_gemm<SgemmTypes>({"cblas_sgemm_64", "cblas_sgemm", "SGEMM ", true}, layout, transa, transb, m, n, k, alpha, a,
                         lda, b, ldb, beta, c, ldc);
}

void cblas_hgemm(int layout, int transa, int transb, int m, int n, int k, xgemm_half alpha, const xgemm_half* a,
                 int lda, const xgemm_half* b, int ldb, xgemm_half beta, xgemm_half* c, int ldc) {
  cblas_gemm<HgemmTypes>({"cblas_hgemm", "cblas_hgemm", "HGEMM ", false}, layout, transa, transb, m, n, k, alpha, a,
                         lda, b, ldb, beta, c, ldc);
}

void cblas_bgemm(int layout, int transa, int transb, int m, int n, int k, xgemm_bfloat16 alpha, const xgemm_bfloat16* a,
                 int lda, const xgemm_bfloat16* b, int ldb, xgemm_bfloat16 beta, xgemm_bfloat16* c, int ldc) {
  cblas_gemm<BgemmTypes>({"cblas_bgemm", "cblas_bgemm", "BGEMM ", false}, layout, transa, transb, m, n, k, alpha, a,
                         lda, b, ldb, beta, c, ldc);
}

void cblas_sbgemm(int layout, int transa, int transb, int m, int n, int k, float alpha, const xgemm_bfloat16* a,
                  int lda, const xgemm_bfloat16* b, int ldb, float beta, float* c, int ldc) {
  cblas_gemm<SbgemmTypes>({"cblas_sbgemm", "cblas_sbgemm", "SBGEMM", false}, layout, transa, transb, m, n, k, alpha, a,
                          lda, b, ldb, beta, c, ldc);
}

void cblas_sbgemm_64(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,
                     const xgemm_bfloat16* a, int64_t lda, const xgemm_bfloat16* b, int64_t ldb, float beta, float* c,
                     int64_t ldc) {
  cblas_gemm<SbgemmTypes>({"cblas_sbgemm_64", "cblas_sbgemm", "SBGEMM", true}, layout, transa, transb, m, n, k, alpha,
                          a, lda, b, ldb, beta, c, ldc);
}

void cblas_gemm_bf16bf16f32(int layout, int transa, int transb, int m, int n, int k, float alpha,
                            const xgemm_bfloat16* a, int lda, const xgemm_bfloat16* b, int ldb, float beta, float* c,
                            int ldc) {
  cblas_gemm<SbgemmTypes>({"cblas_gemm_bf16bf16f32", "cblas_gemm_bf16bf16f32", "GEMM_BF16BF16F32", false}, layout,
                          transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void cblas_gemm_f16f16f32(int layout, int transa, int transb, int m, int n, int k, float alpha, const xgemm_half* a,
                          int lda, const xgemm_half* b, int ldb, float beta, float* c, int ldc) {
  cblas_gemm<F16F16F32Types>({"cblas_gemm_f16f16f32", "cblas_gemm_f16f16f32", "GEMM_F16F16F32", false}, layout, transa,
                             transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // extern "C"
