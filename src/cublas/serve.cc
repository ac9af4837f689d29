// The way of a call: decide, compute, tell.
#include "cublas/serve.h"

#include <algorithm>
#include <chrono>

#include "core/environment.h"
#include "cublas/choice.h"
#include "cublas/compare.h"
#include "cublas/driver.h"
#include "cublas/library.h"
#include "cublas/mode.h"
#include "cublas/report.h"

namespace xgemm::cublas {
namespace {

constinit thread_local bool inside = false;

// While a call is under way.
class Inside {
 public:
  Inside() { inside = true; }
  ~Inside() { inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

bool is_watched() {
  return environment().verbose > 0 || environment().summary;
}

// Host memory that a GPU reaches, too: cuBLAS reads and writes it when the work runs, in the order of the stream,
// libxgemm during the call. Of another GPU: cuBLAS computes where its handle is, libxgemm where C is, and the stream is
// of the handle's. The driver is asked about an address once. Null where all is in reach.
const char* out_of_reach(const Call& call) {
  const void* const known[] = {nullptr,         call.a.data,   call.b.data, call.c.data,
                               call.old_c.data, call.aux.data, call.bias};
  for (const void* const& data : known) {
    if (data == nullptr || std::find(known, &data, data) != &data) continue;
    switch (place_of(data)) {
      case Place::here:
        break;
      case Place::host:
        return "host memory";
      case Place::other_gpu:
        return "memory of another GPU";
    }
  }
  return nullptr;
}

// With the mode that it is computed in where it says none: that of its context, which is the environment's.
xgemm_args with_math_mode(xgemm_args product) {
  if (product.type == XGEMM_F32 && product.math_mode == 0) product.math_mode = environment().math_mode + 1;
  return product;
}

const char* why_not_libxgemm(const Request& request) {
  if (mode() == Mode::never) return "XGEMM_CUBLAS=never";
  if (request.obstacle != nullptr) return request.obstacle;
  if (!has_library()) return "libxgemm cannot be opened";
  if (mode() == Mode::automatic) {
    if (request.reservation != nullptr) return request.reservation;
    if (const char* const why = why_cublas(with_math_mode(request.product), current_gpu(), request.reads_c)) return why;
  }
  return out_of_reach(request.call);
}

// Whether C is as it was, or will be replaced anyhow, so that cuBLAS may compute what libxgemm could not.
bool may_be_repeated(int code, const Request& request) {
  switch (code) {
    case XGEMM_NO_DEVICE:
    case XGEMM_UNSUPPORTED:
    case XGEMM_KERNEL_NOT_USABLE:
    case XGEMM_OUT_OF_DEVICE_MEMORY:
      return true;
    default:
      return code < 0 || !request.reads_c;
  }
}

int status_of(int code) {
  return code == XGEMM_CUDA_ERROR ? kExecutionFailed : kInternalError;
}

int compute(const Request& request, const Forward& forward, const char** why) {
  if (*why != nullptr) return forward();
  if (mode() == Mode::compare) {
    *why = "XGEMM_CUBLAS=compare";
    return compare(request, forward);
  }
  const int code = multiply(request);
  if (code == XGEMM_SUCCESS) return kSuccess;
  if (!may_be_repeated(code, request)) return status_of(code);
  *why = error_of_library();
  return forward();
}

}  // namespace

bool looks_at_calls() noexcept try { return !inside && (mode() != Mode::never || is_watched()); } catch (...) {
  return false;
}

int serve_or_forward(const Request& request, const Forward& forward) noexcept {
  const Inside here;
  const char* why = nullptr;
  bool watched = false;
  try {
    watched = is_watched();
    why = why_not_libxgemm(request);
  } catch (...) {
    why = "no memory to think about it";
  }
  if (!watched) return compute(request, forward, &why);

  using Clock = std::chrono::steady_clock;
  void* const stream = request.state.stream;
  const bool timed = (environment().verbose >= 2 || environment().summary) && wait_for(stream);
  const Clock::time_point start = Clock::now();
  Outcome outcome;
  outcome.status = compute(request, forward, &why);
  outcome.why_cublas = why;
  if (timed && wait_for(stream))
    outcome.time_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  if (environment().summary) count_call(request.call, outcome);
  if (environment().verbose > 0) print_call(request.call, outcome);
  return outcome.status;
}

}  // namespace xgemm::cublas
