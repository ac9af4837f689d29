// What the tests of plans and of their keys share.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "kernels/skinny/instances.h"
#include "plan/plan.h"
#include "unit/plan/devices.h"

namespace xgemm::test {

inline const device::DeviceInfo& h200() {
  return fake_devices()[6];
}

inline bool has_ring(const kernels::KernelInfo& kernel) {
  return kernel.family == kernels::Family::skinny && kernels::SkinnyShape::has_ring(kernel.config);
}
inline bool is_for_vectors(const kernels::KernelInfo& kernel) {
  return kernel.family == kernels::Family::skinny && kernels::VectorShape::is(kernel.config);
}

inline bool same(const plan::Plan& x, const plan::Plan& y) {
  return x.kernel == y.kernel && x.schedule == y.schedule && x.packing == y.packing && x.waves == y.waves &&
         x.tile_efficiency == y.tile_efficiency && x.estimated_us == y.estimated_us && x.forced == y.forced &&
         x.needs_pass == y.needs_pass;
}

template <class T>
T* moved(T* pointer, std::int64_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(pointer) + static_cast<std::uintptr_t>(bytes));
}

}  // namespace xgemm::test
