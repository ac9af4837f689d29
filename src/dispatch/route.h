// CPU, staging or device: decided from where the operands live, how large the product is and which GPU there is. Pure.
#pragma once

#include <string>

#include "core/problem.h"
#include "device/device_info.h"
#include "runtime/pointer_location.h"

namespace xgemm::dispatch {

enum class RouteKind {
  none,        // quick return
  cpu,         // the CPU engine
  staged,      // host operands on the GPU
  device,      // a kernel on the operands as they are
  unservable,  // device memory and no GPU that serves it, or device scalars with host operands
};

struct Route {
  RouteKind kind = RouteKind::none;
  int status = 0;     // why unservable: an xgemm_status or minus an argument's number
  double cpu_us = 0;  // estimates that the choice between cpu and staged rests on; 0 where none was needed
  double staged_us = 0;
  const char* reason = "";  // one sentence
};

const char* name_of(RouteKind kind);
std::string to_string(const Route& route);

// Whether a GPU is worth looking for: operands on one, or a host product that could repay the trip on a fast GPU.
bool wants_device(const Problem& problem, const runtime::Placement& placement);

// device is null when there is none or none was wanted.
Route choose_route(const Problem& problem, const runtime::Placement& placement, const device::DeviceInfo* device);

}  // namespace xgemm::dispatch
