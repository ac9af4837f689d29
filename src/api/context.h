// The object behind xgemm_context.
#pragma once

#include <cstddef>

#include "core/canonicalize.h"
#include "core/environment.h"
#include "plan/forced_kernel.h"
#include "transfer/staging.h"
#include "xgemm.h"

struct xgemm_context {
  // Values of the environment that are not allowed are complained about now, whatever the calls will need of them.
  xgemm_context() { xgemm::plan::forced_kernel(); }

  void* stream = nullptr;     // cudaStream_t; null: the legacy default stream
  void* workspace = nullptr;  // lent by the user
  std::size_t workspace_bytes = 0;
  xgemm::Compute compute = *xgemm::compute_of(xgemm::environment().math_mode);
  int scalar_location = XGEMM_SCALARS_ON_HOST;
  xgemm::transfer::StagerHandle stager;  // made by the first call that stages host data
};

namespace xgemm::api {

// ctx itself, or the calling thread's default context.
xgemm_context& resolve(xgemm_context* ctx);

}  // namespace xgemm::api
