// A shared library opened at run time: cuBLAS, the CPU BLAS, NVML and other builds of libxgemm are all optional.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace xgemm::perf {

class DynamicLibrary {
 public:
  DynamicLibrary() = default;
  /// Keeps the first of `names` that opens; error() says why none did. Its symbols stay private and it prefers its own,
  /// so that a BLAS never calls the sgemm_ of libxgemm, nor one build of libxgemm another's.
  explicit DynamicLibrary(const std::vector<std::string>& names);
  /// Libraries stay loaded: BLAS and CUDA libraries leave threads and exit handlers behind.
  ~DynamicLibrary() = default;

  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }
  /// The file that was found.
  std::string path() const;

  void* symbol(const char* name) const;

  template <class Function>
  bool load(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;
  std::string error_;
};

/// The file that holds the code or data at `address`; empty if none does.
std::string file_of_address(const void* address);

/// The last part of a path: what result files say of a library, so that they hold no folders of one machine.
std::string file_name(const std::string& path);

}  // namespace xgemm::perf
