// Prepared operands that are released by themselves.
// C++17. SPDX-License-Identifier: BSD-3-Clause
#ifndef XGEMM_PREPARED_HPP
#define XGEMM_PREPARED_HPP

#include <utility>

#include "xgemm.h"
#include "xgemm/error.hpp"

namespace xgemm {

// Owns what xgemm_prepare() made of an operand of several products, for xgemm_args::prepared_a or prepared_b. Movable.
class prepared {
 public:
  // operand: XGEMM_ARG_A or XGEMM_ARG_B.
  prepared(const xgemm_args& args, xgemm_argument operand, xgemm_context* ctx = nullptr) {
    detail::throw_if_failed(xgemm_prepare(ctx, &args, operand, &handle_));
  }
  ~prepared() { xgemm_release(handle_); }

  prepared(prepared&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  prepared& operator=(prepared&& other) noexcept {
    prepared taken(std::move(other));
    std::swap(handle_, taken.handle_);
    return *this;
  }
  prepared(const prepared&) = delete;
  prepared& operator=(const prepared&) = delete;

  const xgemm_prepared* get() const noexcept { return handle_; }

 private:
  xgemm_prepared* handle_ = nullptr;
};

}  // namespace xgemm

#endif  // XGEMM_PREPARED_HPP
