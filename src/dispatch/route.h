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
  peers,       // a kernel on one of several GPUs, after copies from the others
  unservable,  // for where operands lie: Route::reason says why
};

// Estimates for a product that the CPU and the GPU can do.
struct TripTimes {
  double cpu_us = 0, staged_us = 0;
};

struct Route {
  RouteKind kind = RouteKind::none;
  int status = 0;           // why unservable: an xgemm_status or minus an argument's number
  TripTimes times;          // 0 where there was no choice
  const char* reason = "";  // one sentence
};

const char* name_of(RouteKind kind);
std::string to_string(const Route& route);

// Whether a GPU is worth looking for: operands on one, or a host product that could repay the trip on a fast GPU.
bool wants_device(const Problem& problem, const runtime::Placement& placement);

// Whether the route is cpu or staged, whichever is faster. device is null when there is none or none was wanted.
bool is_a_choice(const Problem& problem, const runtime::Placement& placement, const device::DeviceInfo* device);

// times matter where is_a_choice().
Route choose_route(const Problem& problem, const runtime::Placement& placement, const device::DeviceInfo* device,
                   const TripTimes& times);

}  // namespace xgemm::dispatch
