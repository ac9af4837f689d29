// sgemm_, hgemm_, bgemm_, sbgemm_, sgemm_64_, sbgemm_64_: the Fortran interface of BLAS, and what it shares with CBLAS.
//
// The hidden arguments at the end (the lengths of transa and transb) are not declared: callers that pass them do no
// harm. xerbla_ is a weak reference: the program's own, or that of the BLAS that it is linked with, and null where
// there is none.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "api/blas.h"

#include <cstddef>
#include <initializer_list>
#include <utility>

#include "api/check.h"
#include "api/entry.h"
#include "core/environment.h"
#include "xgemm_blas.h"

extern "C" {
[[gnu::weak, gnu::visibility("default")]] void xerbla_(const char* name, const int* number, std::size_t name_length);
// In a BLAS of 64-bit integers with the suffix _64.
[[gnu::weak, gnu::visibility("default")]] void xerbla_64_(const char* name, const std::int64_t* number,
                                                          std::size_t name_length);
}

namespace xgemm::api {

int run_blas_call(const char* symbol, const xgemm_args& call) noexcept {
  // The reference turns a row-major call into the column-major one of the transposed matrices, and that one's order of
  // checks is the order in which errors are found.
  if (call.layout == XGEMM_ROW_MAJOR) {
    const int first = first_illegal_blas_argument(call.transb, call.transa, call.n, call.m, call.k, call.ldb, call.lda,
                                                  call.ldc, XGEMM_COL_MAJOR);
    const auto number = [&] {
      switch (first) {
        case XGEMM_ARG_TRANSA:
          return XGEMM_ARG_TRANSB;
        case XGEMM_ARG_TRANSB:
          return XGEMM_ARG_TRANSA;
        case XGEMM_ARG_M:
          return XGEMM_ARG_N;
        case XGEMM_ARG_N:
          return XGEMM_ARG_M;
        case XGEMM_ARG_LDA:
          return XGEMM_ARG_LDB;
        case XGEMM_ARG_LDB:
          return XGEMM_ARG_LDA;
        default:
          return static_cast<xgemm_argument>(first);
      }
    }();
    if (first != 0) {
      guarded([&] { return check(call, false); });  // for its message
      return number;
    }
  }

  const int code = guarded([&] { return gemm(nullptr, call); });
  if (code < 0) return -code;
  if (code > 0) {
    try {
      print_line(format("%s: %s: %s; C does not hold the product", symbol, xgemm_status_string(code), last_error()));
    } catch (...) {
      print_line(symbol);
    }
  }
  return 0;
}

int illegal_blas_argument(int number, const char* message) noexcept {
  return -guarded([&] { return illegal(static_cast<xgemm_argument>(number), message); });
}

void report_without_handler(const char* symbol, int number) noexcept {
  try {
    print_line(format("%s: argument %d is illegal: %s", symbol, number, last_error()));
  } catch (...) {
    print_line(symbol);
  }
}

namespace {

// What a Fortran name and its integers need.
struct Fortran32 {
  using Int = int;
  static bool has_handler() { return xerbla_ != nullptr; }
  static void call_handler(const char* name, int number) { xerbla_(name, &number, 6); }
};

struct Fortran64 {
  using Int = std::int64_t;
  static bool has_handler() { return xerbla_64_ != nullptr || xerbla_ != nullptr; }
  static void call_handler(const char* name, int number) {
    const std::int64_t wide = number;
    if (xerbla_64_ != nullptr)
      xerbla_64_(name, &wide, 6);
    else
      xerbla_(name, &number, 6);
  }
};

// name: as BLAS gives it to xerbla_, six characters.
template <class Fortran, class Types>
void fortran_gemm(const char* symbol, const char* name, const char* transa, const char* transb,
                  const typename Fortran::Int* m, const typename Fortran::Int* n, const typename Fortran::Int* k,
                  const typename Types::Scalar* alpha, const typename Types::Input* a, const typename Fortran::Int* lda,
                  const typename Types::Input* b, const typename Fortran::Int* ldb, const typename Types::Scalar* beta,
                  typename Types::Output* c, const typename Fortran::Int* ldc) {
  // A, B and C may be null where they take no part, which the checks of the call know.
  const auto null_argument = [&]() -> int {
    if (transa == nullptr) return XGEMM_ARG_TRANSA;
    if (transb == nullptr) return XGEMM_ARG_TRANSB;
    if (m == nullptr) return XGEMM_ARG_M;
    if (n == nullptr) return XGEMM_ARG_N;
    if (k == nullptr) return XGEMM_ARG_K;
    if (alpha == nullptr) return XGEMM_ARG_ALPHA;
    if (lda == nullptr) return XGEMM_ARG_LDA;
    if (ldb == nullptr) return XGEMM_ARG_LDB;
    if (beta == nullptr) return XGEMM_ARG_BETA;
    return ldc == nullptr ? XGEMM_ARG_LDC : 0;
  };
  int number = null_argument();
  if (number != 0)
    illegal_blas_argument(number, "a null pointer");
  else
    number = run_blas_call<Types>(symbol, XGEMM_COL_MAJOR, *transa, *transb, *m, *n, *k, *alpha, a, *lda, b, *ldb,
                                  *beta, c, *ldc);
  if (number == 0) return;
  if (Fortran::has_handler())
    Fortran::call_handler(name, number);
  else
    report_without_handler(symbol, number);
}

}  // namespace
}  // namespace xgemm::api

using namespace xgemm::api;

extern "C" {

void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc) {
  fortran_gemm<Fortran32, SgemmTypes>("sgemm_", "SGEMM ", transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void sgemm_64_(const char* transa, const char* transb, const int64_t* m, const int64_t* n, const int64_t* k,
               const float* alpha, const float* a, const int64_t* lda, const float* b, const int64_t* ldb,
               const float* beta, float* c, const int64_t* ldc) {
  fortran_gemm<Fortran64, SgemmTypes>("sgemm_64_", "SGEMM ", transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                      ldc);
}

void hgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const xgemm_half* alpha,
            const xgemm_half* a, const int* lda, const xgemm_half* b, const int* ldb, const xgemm_half* beta,
            xgemm_half* c, const int* ldc) {
  fortran_gemm<Fortran32, HgemmTypes>("hgemm_", "HGEMM ", transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void bgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const xgemm_bfloat16* alpha, const xgemm_bfloat16* a, const int* lda, const xgemm_bfloat16* b,
            const int* ldb, const xgemm_bfloat16* beta, xgemm_bfloat16* c, const int* ldc) {
  fortran_gemm<Fortran32, BgemmTypes>("bgemm_", "BGEMM ", transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void sbgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const float* alpha,
             const xgemm_bfloat16* a, const int* lda, const xgemm_bfloat16* b, const int* ldb, const float* beta,
             float* c, const int* ldc) {
  fortran_gemm<Fortran32, SbgemmTypes>("sbgemm_", "SBGEMM", transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                       ldc);
}

void sbgemm_64_(const char* transa, const char* transb, const int64_t* m, const int64_t* n, const int64_t* k,
                const float* alpha, const xgemm_bfloat16* a, const int64_t* lda, const xgemm_bfloat16* b,
                const int64_t* ldb, const float* beta, float* c, const int64_t* ldc) {
  fortran_gemm<Fortran64, SbgemmTypes>("sbgemm_64_", "SBGEMM", transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                       ldc);
}

}  // extern "C"
