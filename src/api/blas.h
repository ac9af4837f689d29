// What the BLAS symbols share: the types of their arguments, and a call in the caller's own terms.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include "api/check.h"
#include "api/entry.h"
#include "dispatch/short_way.h"
#include "xgemm.h"
#include "xgemm/float16.hpp"

namespace xgemm::api {

// The types in a BLAS name's interface: of the elements of A and B, of C, and of alpha and beta, which to_sums() brings
// into the type in which sums are kept. fp16 and bf16 are both uint16_t there.
struct SgemmTypes {
  using Input = float;
  using Output = float;
  using Scalar = float;
  static constexpr xgemm_type kType = XGEMM_F32;
  static constexpr xgemm_type_c kTypeC = XGEMM_C_SAME;
  static float to_sums(Scalar value) { return value; }
};
struct DgemmTypes {
  using Input = double;
  using Output = double;
  using Scalar = double;
  static constexpr xgemm_type kType = XGEMM_F64;
  static constexpr xgemm_type_c kTypeC = XGEMM_C_SAME;
  static double to_sums(Scalar value) { return value; }
};
struct HgemmTypes {
  using Input = xgemm_half;
  using Output = xgemm_half;
  using Scalar = xgemm_half;
  static constexpr xgemm_type kType = XGEMM_F16;
  static constexpr xgemm_type_c kTypeC = XGEMM_C_SAME;
  static float to_sums(Scalar value) { return half_to_float(value); }
};
struct BgemmTypes {
  using Input = xgemm_bfloat16;
  using Output = xgemm_bfloat16;
  using Scalar = xgemm_bfloat16;
  static constexpr xgemm_type kType = XGEMM_BF16;
  static constexpr xgemm_type_c kTypeC = XGEMM_C_SAME;
  static float to_sums(Scalar value) { return bfloat16_to_float(value); }
};
// 16-bit A and B, C in fp32.
struct F16F16F32Types : SgemmTypes {
  using Input = xgemm_half;
  static constexpr xgemm_type kType = XGEMM_F16;
  static constexpr xgemm_type_c kTypeC = XGEMM_C_F32;
};
struct SbgemmTypes : SgemmTypes {
  using Input = xgemm_bfloat16;
  static constexpr xgemm_type kType = XGEMM_BF16;
  static constexpr xgemm_type_c kTypeC = XGEMM_C_F32;
};

// Checks and runs. 0, or the number of the first illegal argument in the reference BLAS's order, with a message that
// names it as this thread's last error. A failure at run time, for which BLAS has no way back to the caller, is
// reported on stderr under the symbol's name.
int run_blas_call(const char* symbol, const xgemm_args& call) noexcept;

// The checks alone.
int illegal_argument_of(const xgemm_args& call) noexcept;

// Products of a batch; one by default.
struct Batch {
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0, count = 1;
};

// The place of an xgemm_argument of the product that a rank-k update is, among the update's own.
int position_in_syrk(int argument);

// N for T and C, T for N; what is neither stays, to be found illegal.
constexpr char opposite(char trans) {
  switch (trans) {
    case 'N':
    case 'n':
      return 'T';
    case 'T':
    case 't':
    case 'C':
    case 'c':
      return 'N';
    default:
      return trans;
  }
}

// body(xgemm_args) of the call.
template <class Types, class Body>
int with_args(xgemm_layout layout, char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k,
              typename Types::Scalar alpha, const typename Types::Input* a, std::int64_t lda,
              const typename Types::Input* b, std::int64_t ldb, typename Types::Scalar beta, typename Types::Output* c,
              std::int64_t ldc, const Batch& batch, const Body& body) noexcept {
  const auto alpha_value = Types::to_sums(alpha), beta_value = Types::to_sums(beta);
  xgemm_args call = XGEMM_ARGS_INIT;
  call.type = Types::kType;
  call.type_c = Types::kTypeC;
  call.layout = layout;
  call.transa = transa;
  call.transb = transb;
  call.m = m;
  call.n = n;
  call.k = k;
  call.alpha = &alpha_value;
  call.a = a;
  call.lda = lda;
  call.b = b;
  call.ldb = ldb;
  call.beta = &beta_value;
  call.c = c;
  call.ldc = ldc;
  call.stride_a = batch.stride_a;
  call.stride_b = batch.stride_b;
  call.stride_c = batch.stride_c;
  call.batch_count = batch.count;
  return body(call);
}

template <class Types>
int run_blas_call(const char* symbol, xgemm_layout layout, char transa, char transb, std::int64_t m, std::int64_t n,
                  std::int64_t k, typename Types::Scalar alpha, const typename Types::Input* a, std::int64_t lda,
                  const typename Types::Input* b, std::int64_t ldb, typename Types::Scalar beta,
                  typename Types::Output* c, std::int64_t ldc, const Batch& batch = {}) noexcept {
  if constexpr (std::is_same_v<Types, SgemmTypes> || std::is_same_v<Types, DgemmTypes>) {
    using T = typename Types::Input;
    // A row-major product is the column-major product of the transposed matrices.
    const bool plain = layout == XGEMM_COL_MAJOR;
    if (batch.count == 1 &&
        (plain ? dispatch::take_short_way<T>(transa, transb,
                                             {Op::none, Op::none, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc})
               : dispatch::take_short_way<T>(transb, transa,
                                             {Op::none, Op::none, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc})))
      return 0;
  }
  return with_args<Types>(layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch,
                          [&](const xgemm_args& call) { return run_blas_call(symbol, call); });
}

// C := alpha * op(A) * op(A)^T + beta * C for a triangle of C, as the product that it is; Types: SgemmTypes or
// DgemmTypes. 0, minus an xgemm_argument of the product, or a status.
template <class Types>
int syrk(xgemm_layout layout, char uplo, char trans, std::int64_t n, std::int64_t k, typename Types::Scalar alpha,
         const typename Types::Input* a, std::int64_t lda, typename Types::Scalar beta, typename Types::Output* c,
         std::int64_t ldc) noexcept {
  const xgemm_fill fill = fill_of_uplo(uplo);
  // In row major, the column-major update of the transposed A, and of the other triangle.
  const bool plain = layout == XGEMM_COL_MAJOR;
  const char other = opposite(trans);
  if (fill != XGEMM_FILL_FULL && dispatch::take_short_way<typename Types::Input>(
                                     plain ? trans : other, plain ? other : trans,
                                     {Op::none, Op::none, n, n, k, alpha, a, lda, a, lda, beta, c, ldc,
                                      plain == (fill == XGEMM_FILL_LOWER) ? Fill::lower : Fill::upper}))
    return 0;
  xgemm_args call = XGEMM_ARGS_INIT;
  call.type = Types::kType;
  call.layout = layout;
  call.transa = trans;
  call.transb = other;
  call.m = call.n = n;
  call.k = k;
  call.alpha = &alpha;
  call.a = call.b = a;
  call.lda = call.ldb = lda;
  call.beta = &beta;
  call.c = c;
  call.ldc = ldc;
  call.fill = fill;
  return guarded([&]() -> Status {
    XGEMM_RETURN_IF_FAILED(check_syrk(uplo, trans, n, k, lda, ldc, layout));
    return gemm(nullptr, call);
  });
}

}  // namespace xgemm::api
