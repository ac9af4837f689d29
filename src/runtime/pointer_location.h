// Where the operands of a call live.
#pragma once

#include <cstdint>
#include <string>

#include "core/problem.h"
#include "device/device_info.h"

namespace xgemm::runtime {

enum class Location : std::uint8_t {
  unused,   // null or not touched by this call
  host,     // pageable or page-locked: not for a kernel to follow
  device,   // for kernels alone
  managed,  // for both
};

struct PointerLocation {
  Location location = Location::unused;
  int device = -1;  // of device memory

  bool operator==(const PointerLocation&) const = default;
};

struct Placement {
  PointerLocation a, b, c, alpha, beta;
  PointerLocation bias{}, row_scales{}, column_scales{}, old_c{}, aux{};  // of the epilogue

  bool all_on_host() const { return !any(Location::device) && !any(Location::managed); }
  bool any(Location l) const { return any_matrix(l) || alpha.location == l || beta.location == l; }
  bool any_matrix(Location l) const { return a.location == l || b.location == l || c.location == l; }
  bool any_of_epilogue(Location l) const {
    return bias.location == l || row_scales.location == l || column_scales.location == l || old_c.location == l ||
           aux.location == l;
  }
};

// Whether the process may have any: false while the CUDA driver is not loaded.
bool may_have_device_memory();

// Of one address.
PointerLocation locate(const void* pointer);

// Initialises nothing: a process that has not loaded the CUDA driver has no device memory. A and B count as unused when
// the problem does not read them.
Placement locate(const Problem& problem);

// The device of the first operand on one, else the current device; null when no device is there.
const device::DeviceInfo* device_for(const Placement& placement);

// One letter each for A, B and C: h, d, m, and - for unused: "hhh", "dd-".
std::string to_string(const Placement& placement);

}  // namespace xgemm::runtime
