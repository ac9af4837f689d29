// Contexts: creation, settings, and the default one of each thread.
#include "api/context.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "api/entry.h"

namespace xgemm::api {
namespace {

// Destructors of other thread_local objects may still call after EndOfThread has run: they get a new context, which
// is never freed.
constinit thread_local xgemm_context* default_context = nullptr;

struct EndOfThread {
  ~EndOfThread() { delete std::exchange(default_context, nullptr); }
};

xgemm_context* make_default_context() {
  thread_local const EndOfThread deletes_it;
  static_cast<void>(deletes_it);
  return new xgemm_context;
}

}  // namespace

xgemm_context& resolve(xgemm_context* ctx) {
  if (ctx != nullptr) return *ctx;
  if (default_context == nullptr) default_context = make_default_context();
  return *default_context;
}

}  // namespace xgemm::api

using xgemm::Compute;
using xgemm::format;
using xgemm::illegal;
using xgemm::kOk;
using xgemm::Status;
using xgemm::api::guarded;
using xgemm::api::resolve;

extern "C" {

int xgemm_create(xgemm_context** ctx) {
  return guarded([&]() -> Status {
    if (ctx == nullptr) return illegal(XGEMM_ARG_CONTEXT, "ctx = NULL, but a place for the new context is required");
    *ctx = new xgemm_context;
    return kOk;
  });
}

int xgemm_destroy(xgemm_context* ctx) {
  return guarded([&]() -> Status {
    delete ctx;
    return kOk;
  });
}

int xgemm_set_stream(xgemm_context* ctx, void* cuda_stream) {
  return guarded([&]() -> Status {
    resolve(ctx).stream = cuda_stream;
    return kOk;
  });
}

int xgemm_set_workspace(xgemm_context* ctx, void* device_memory, size_t bytes) {
  return guarded([&]() -> Status {
    if ((device_memory == nullptr) != (bytes == 0))
      return illegal(
          XGEMM_ARG_WORKSPACE,
          format("device_memory = %p with bytes = %zu, but both or neither must be zero", device_memory, bytes));
    if (reinterpret_cast<std::uintptr_t>(device_memory) % 256 != 0)
      return illegal(XGEMM_ARG_WORKSPACE,
                     format("device_memory = %p, but 256-byte alignment is required", device_memory));
    resolve(ctx).workspace = device_memory;
    resolve(ctx).workspace_bytes = bytes;
    return kOk;
  });
}

int xgemm_set_math_mode(xgemm_context* ctx, int mode) {
  return guarded([&]() -> Status {
    const std::optional<Compute> compute = xgemm::compute_of(mode);
    if (!compute)
      return illegal(XGEMM_ARG_MATH_MODE, format("mode = %d, but one of XGEMM_MATH_STRICT = 0, "
                                                 "XGEMM_MATH_FP32_EMULATED = 1, XGEMM_MATH_TF32 = 2 is required",
                                                 mode));
    resolve(ctx).compute = *compute;
    return kOk;
  });
}

int xgemm_set_scalar_location(xgemm_context* ctx, int location) {
  return guarded([&]() -> Status {
    if (location != XGEMM_SCALARS_ON_HOST && location != XGEMM_SCALARS_ON_DEVICE)
      return illegal(
          XGEMM_ARG_SCALAR_LOCATION,
          format("location = %d, but one of XGEMM_SCALARS_ON_HOST = 0, XGEMM_SCALARS_ON_DEVICE = 1 is required",
                 location));
    resolve(ctx).scalar_location = location;
    return kOk;
  });
}

}  // extern "C"
