// Whether libxgemm or cuBLAS computes a call.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cublas/request.h"

namespace xgemm::cublas {

// The call of the real function with the caller's own arguments.
class Forward {
 public:
  template <class Function>
  explicit Forward(const Function& function)
      : function_(&function), call_([](const void* f) { return (*static_cast<const Function*>(f))(); }) {}

  int operator()() const { return call_(function_); }

 private:
  const void* function_;
  int (*call_)(const void*);
};

// False where calls go to cuBLAS unseen: those that it makes itself while it serves one, and all where nothing is
// served or watched.
bool looks_at_calls() noexcept;

// By libxgemm if it can and should, else by cuBLAS. The status that the caller gets, in cuBLAS's numbers.
int serve_or_forward(const Request& request, const Forward& forward) noexcept;

}  // namespace xgemm::cublas
