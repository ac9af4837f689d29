// How failures reach a C++ program: as an exception with the status and the message of the C call.
// C++17. SPDX-License-Identifier: BSD-3-Clause
#ifndef XGEMM_ERROR_HPP
#define XGEMM_ERROR_HPP

#include <stdexcept>
#include <string>

#include "xgemm.h"

namespace xgemm {

// What a call of xgemm.h returned when it did not return 0: -i for an illegal argument (enum xgemm_argument), else an
// enum xgemm_status.
class error : public std::runtime_error {
 public:
  error(int status, const std::string& message) : std::runtime_error("xgemm: " + message), status_(status) {}

  int status() const noexcept { return status_; }

 private:
  int status_;
};

namespace detail {

inline void throw_if_failed(int status) {
  if (status == XGEMM_SUCCESS) return;
  const char* message = xgemm_last_error();
  throw error(status, *message != '\0' ? message : xgemm_status_string(status));
}

}  // namespace detail

}  // namespace xgemm

#endif  // XGEMM_ERROR_HPP
