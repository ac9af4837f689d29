// How failures travel: a code (the return value of the C ABI) and a message kept per thread for xgemm_last_error().
#pragma once

#include <string>

#include "xgemm.h"

namespace xgemm {

// 0, the negative number of an illegal argument, or an xgemm_status. Its message, if any, is this thread's last error.
struct [[nodiscard]] Status {
  int code = XGEMM_SUCCESS;
  bool ok() const { return code == XGEMM_SUCCESS; }
};

inline constexpr Status kOk{};

// printf into a std::string. Used for messages and verbose lines only, never on the path of a call that succeeds but
// for what is made once in a process.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// Records the message as this thread's last error and returns the code with it.
Status fail(int code, std::string message);

// The same for an argument: "lda = 3, but lda >= max(1, m) = 7".
Status illegal(xgemm_argument argument, std::string message);

// For std::bad_alloc: builds no message.
Status fail_without_memory() noexcept;

// For an exception that says nothing of itself.
Status fail_without_reason() noexcept;

// The status of a part of a product. begun: other parts have written to C before, so that a call which finds no memory
// any more does not leave C as it was, which XGEMM_OUT_OF_DEVICE_MEMORY says.
Status of_part(Status status, bool begun);

void clear_last_error() noexcept;
const char* last_error() noexcept;

// Leaves early with a failed status.
#define XGEMM_RETURN_IF_FAILED(expression)                                     \
  do {                                                                         \
    if (::xgemm::Status status_ = (expression); !status_.ok()) return status_; \
  } while (0)

}  // namespace xgemm
