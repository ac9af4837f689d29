// Contexts that are destroyed by themselves.
// C++17. SPDX-License-Identifier: BSD-3-Clause
#ifndef XGEMM_CONTEXT_HPP
#define XGEMM_CONTEXT_HPP

#include <cstddef>
#include <utility>

#include "xgemm.h"
#include "xgemm/error.hpp"

namespace xgemm {

// Owns an xgemm_context: a stream, a workspace and a math mode. Movable; serves one thread at a time. One that was
// moved from stands for the thread's default context.
class context {
 public:
  context() { detail::throw_if_failed(xgemm_create(&handle_)); }
  explicit context(void* cuda_stream) : context() { set_stream(cuda_stream); }
  ~context() { xgemm_destroy(handle_); }

  context(context&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  context& operator=(context&& other) noexcept {
    context taken(std::move(other));
    std::swap(handle_, taken.handle_);
    return *this;
  }
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  context& set_stream(void* cuda_stream) {
    detail::throw_if_failed(xgemm_set_stream(handle_, cuda_stream));
    return *this;
  }
  context& set_workspace(void* device_memory, std::size_t bytes) {
    detail::throw_if_failed(xgemm_set_workspace(handle_, device_memory, bytes));
    return *this;
  }
  context& set_math_mode(xgemm_math_mode mode) {
    detail::throw_if_failed(xgemm_set_math_mode(handle_, mode));
    return *this;
  }

  xgemm_context* get() const noexcept { return handle_; }

 private:
  xgemm_context* handle_ = nullptr;
};

}  // namespace xgemm

#endif  // XGEMM_CONTEXT_HPP
