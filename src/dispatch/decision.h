// Where a call goes: locating its operands, looking for a GPU, choosing a route.
#pragma once

#include <string>

#include "core/problem.h"
#include "device/device_info.h"
#include "dispatch/route.h"
#include "runtime/pointer_location.h"

namespace xgemm::dispatch {

// The route with everything that led there.
struct Decision {
  runtime::Placement placement;
  Route route;
  const device::DeviceInfo* device = nullptr;  // null where none was looked for or found
  bool looked_for_device = false;
  int broken_device = -1;  // the one that would have been used for host data if it had not failed before
};

Decision decide(const Problem& problem);

// Why the route; where a GPU was looked for and there is none, also why not.
std::string reason_of(const Decision& decision);

}  // namespace xgemm::dispatch
