// Building xgemm_args in tests of the checks and of what follows them.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "support/matrix.h"
#include "xgemm.h"

namespace xgemm::test {

// A pointer that must never be followed: a page that no process has.
inline void* nowhere(std::uintptr_t address = 64) {
  return reinterpret_cast<void*>(address);
}

// A legal call on pointers that lead nowhere: the checks and the planner look at their values alone.
inline xgemm_args legal_args(std::int64_t m = 5, std::int64_t n = 7, std::int64_t k = 9) {
  xgemm_args args = XGEMM_ARGS_INIT;
  args.m = m;
  args.n = n;
  args.k = k;
  args.a = nowhere(0x1000);
  args.b = nowhere(0x2000);
  args.c = nowhere(0x3000);
  args.lda = args.ldb = args.ldc = 16;
  return args;
}

template <class T, std::size_t kCount>
T pick(Random& random, const T (&values)[kCount]) {
  return values[random.integer(0, static_cast<std::int64_t>(kCount) - 1)];
}

}  // namespace xgemm::test
