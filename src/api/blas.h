// What the BLAS symbols share: a call in the caller's own terms, how it runs, and how errors reach the program's
// handler.
//
// Numbers of arguments are those of sgemm_ (enum xgemm_argument); CBLAS counts one more.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "xgemm.h"
#include "xgemm_float16.hpp"

namespace xgemm::api {

// The C type of elements and scalars in a BLAS name's interface. fp16 and bf16 are both uint16_t there, so that it does
// not tell them apart: templates go by the xgemm_type.
template <xgemm_type kType>
struct BlasElement;
template <>
struct BlasElement<XGEMM_F32> {
  using Type = float;
  static float to_float(Type value) { return value; }
};
template <>
struct BlasElement<XGEMM_F16> {
  using Type = xgemm_half;
  static float to_float(Type value) { return half_to_float(value); }
};
template <>
struct BlasElement<XGEMM_BF16> {
  using Type = xgemm_bfloat16;
  static float to_float(Type value) { return bfloat16_to_float(value); }
};

// Checks and runs. 0, or the number of the first illegal argument in the reference BLAS's order, with a message that
// names it as this thread's last error. A failure at run time, for which BLAS has no way back to the caller, is
// reported on stderr under the symbol's name; C is as it was.
int run_blas_call(const char* symbol, const xgemm_args& call) noexcept;

// For an argument that no check of xgemm_args knows: records the message, returns the number.
int illegal_blas_argument(int number, const char* message) noexcept;

// The handler is missing: one line on stderr with the last error.
void report_without_handler(const char* symbol, int number) noexcept;

}  // namespace xgemm::api
