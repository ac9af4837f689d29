// What every entry point goes through: no exception gets past it, and the message of the last error is the call's own.
#pragma once

#include <exception>
#include <new>

#include "core/status.h"
#include "xgemm.h"

namespace xgemm::api {

// Runs body() -> Status and returns its code.
template <class Body>
int guarded(Body&& body) noexcept {
  clear_last_error();
  try {
    return body().code;
  } catch (const std::bad_alloc&) {
    return fail_without_memory().code;
  } catch (const std::exception& error) {
    try {
      return fail(XGEMM_INTERNAL_ERROR, error.what()).code;
    } catch (...) {
      return fail_without_memory().code;
    }
  } catch (...) {
    return fail_without_reason().code;
  }
}

// check, canonicalize, run. ctx may be null: the calling thread's default context.
Status gemm(xgemm_context* ctx, const xgemm_args& args);

}  // namespace xgemm::api
