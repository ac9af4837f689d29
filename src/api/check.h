// The checks of every entry point, once and at the top: all that arguments alone allow. Below them calls are refused
// for where their pointers lead alone.
#pragma once

#include "core/prepared.h"
#include "core/status.h"
#include "xgemm.h"

namespace xgemm::api {

// Types, modes and layout, then arguments in the reference BLAS's order (flags, sizes, leading dimensions), then
// strides, batch, epilogue, overflow, pointers and handles. On failure the negative number of the first illegal
// argument, with a message that names it, its value and the rule. scalars_on_device: alpha and beta are not read.
Status check(const xgemm_args& args, bool scalars_on_device);

// The part of it that the reference BLAS makes: number (enum xgemm_argument) of the first illegal one among flags,
// sizes and leading dimensions, 0 when all are legal.
int first_illegal_blas_argument(char transa, char transb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                                int64_t ldc, xgemm_layout layout);

// The failure of one of these, with its message. The layout is legal.
Status illegal_blas_argument(int number, const xgemm_args& args);

// XGEMM_FILL_LOWER or XGEMM_FILL_UPPER; XGEMM_FILL_FULL for what is neither U nor L.
constexpr xgemm_fill fill_of_uplo(char uplo) {
  if (uplo == 'L' || uplo == 'l') return XGEMM_FILL_LOWER;
  return uplo == 'U' || uplo == 'u' ? XGEMM_FILL_UPPER : XGEMM_FILL_FULL;
}

// The same of a rank-k update, by its own names: uplo (XGEMM_ARG_FILL), trans (XGEMM_ARG_TRANSA), n, k, lda, ldc. What
// these allow is legal in the product that it is.
Status check_syrk(char uplo, char trans, std::int64_t n, std::int64_t k, std::int64_t lda, std::int64_t ldc,
                  xgemm_layout layout);

// Of A (XGEMM_ARG_A) or B (XGEMM_ARG_B).
OperandLines operand_lines(const xgemm_args& args, xgemm_argument operand);

}  // namespace xgemm::api
