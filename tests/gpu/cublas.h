// cuBLAS as a reference in tests, opened at run time: never linked, and where it is missing its tests skip.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "device_matrix.h"

namespace xgemm::gpu_test {

class Cublas {
 public:
  // On a stream; sums in fp32, and no split of the inner dimension is reduced in less.
  explicit Cublas(cudaStream_t stream);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // "" or why there is none.
  const std::string& why_not() const { return why_not_; }
  const std::string& version() const { return version_; }

  // A cublasStatus_t; kNotSupported for what cuBLAS does not serve.
  template <class T, class U>
  int multiply(const Product& product, const Operand<T>& a, const Operand<T>& b, const Operand<U>& c) const;

  static constexpr int kNotSupported = 15;

 private:
  struct Functions;

  std::string load(cudaStream_t stream);

  void* library_ = nullptr;
  const Functions* functions_ = nullptr;
  void* handle_ = nullptr;
  std::string why_not_, version_;
};

}  // namespace xgemm::gpu_test
