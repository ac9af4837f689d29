// The functions of the real cuBLAS that the process has loaded.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

#include "cublas/abi.h"

namespace xgemm::cublas {

enum class Library { cublas, cublas_lt };

// One of them, looked for at its first use. A static Original needs no guard.
class Original {
 public:
  // version: the major one of the node by which the caller asks, 12 or 13.
  constexpr Original(const char* name, Library library, int version)
      : name_(name), library_(library), version_(version) {}

  // Null where no version of the library is loaded, which is said once for each function.
  template <class Function>
  Function* get() {
    void* known = found_.load(std::memory_order_acquire);
    if (known == nullptr) [[unlikely]]
      known = find();
    return reinterpret_cast<Function*>(known);
  }

  template <class Function, class... Arguments>
  int call(Arguments... arguments) {
    Function* const function = get<Function>();
    return function != nullptr ? function(arguments...) : kNotInitialized;
  }

 private:
  void* find() noexcept;

  const char* name_;
  Library library_;
  int version_;
  std::atomic<void*> found_{nullptr};
  std::atomic<bool> complained_{false};
};

}  // namespace xgemm::cublas
