// What is told of calls: a line for each, and tables at the end of the process.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cublas/request.h"

namespace xgemm::cublas {

struct Outcome {
  const char* why_cublas = nullptr;  // null where libxgemm served the call
  int status = kSuccess;
  double time_us = -1;  // below 0 where it was not taken
};

// The line of XGEMM_VERBOSE.
void print_call(const Call& call, const Outcome& outcome) noexcept;

// For the table of XGEMM_VERBOSE=summary: how much was served, and what was not.
void count_call(const Call& call, const Outcome& outcome) noexcept;

// For the table of XGEMM_CUBLAS=compare.
struct Comparison {
  double xgemm_us = 0, cublas_us = 0;
  double difference = 0;  // the largest of two elements, as a part of cuBLAS's largest element
};
bool wants_comparison(const Call& call) noexcept;  // false where the shape has been compared often enough
void count_comparison(const Call& call, const Comparison& comparison) noexcept;

}  // namespace xgemm::cublas
