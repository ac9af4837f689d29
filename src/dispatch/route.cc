// Choosing the route.
#include "dispatch/route.h"

#include <cstddef>
#include <cstdint>

#include "core/status.h"
#include "dispatch/host_trip.h"
#include "kernels/family.h"

namespace xgemm::dispatch {
namespace {

using runtime::Location;
using runtime::Placement;

Route unservable(int status, const char* reason) {
  Route r;
  r.kind = RouteKind::unservable;
  r.status = status;
  r.reason = reason;
  return r;
}

// A kernel can only follow pointers that are aligned to the element; the number of the first argument that is not, or
// 0.
int misaligned_argument(const Problem& p, const Placement& placement) {
  const auto misaligned_to = [](const runtime::PointerLocation& at, const void* data, std::size_t bytes) {
    return (at.location == Location::device || at.location == Location::managed) &&
           reinterpret_cast<std::uintptr_t>(data) % bytes != 0;
  };
  const auto misaligned = [&](const runtime::PointerLocation& at, const void* data, DType type) {
    return misaligned_to(at, data, static_cast<std::size_t>(size_of(type)));
  };
  const auto matrix_misaligned = [&](const runtime::PointerLocation& at, const auto& x) {
    return p.by_pointers() ? misaligned_to(at, x.data, sizeof(void*)) : misaligned(at, x.data, x.type);
  };
  const Epilogue& e = p.epilogue;
  if (matrix_misaligned(placement.a, p.a)) return XGEMM_ARG_A;
  if (matrix_misaligned(placement.b, p.b)) return XGEMM_ARG_B;
  if (matrix_misaligned(placement.c, p.c)) return XGEMM_ARG_C;
  if (misaligned(placement.bias, e.bias, p.c.type)) return XGEMM_ARG_BIAS;
  if (misaligned(placement.row_scales, e.row_scales, p.sums())) return XGEMM_ARG_ROW_SCALES;
  if (misaligned(placement.column_scales, e.column_scales, p.sums())) return XGEMM_ARG_COLUMN_SCALES;
  if (misaligned(placement.old_c, e.old_c, p.c.type)) return XGEMM_ARG_OLD_C;
  return !e.aux_is_bits() && misaligned(placement.aux, e.aux, p.c.type) ? XGEMM_ARG_AUX : 0;
}

// Whether what is in device memory is all on the GPU that computes.
bool on_one_device(const Placement& placement, int ordinal) {
  for (const runtime::PointerLocation* p :
       {&placement.a, &placement.b, &placement.c, &placement.alpha, &placement.beta, &placement.bias,
        &placement.row_scales, &placement.column_scales, &placement.old_c, &placement.aux})
    if (p->location == Location::device && p->device != ordinal) return false;
  return true;
}

Route host_or_staged(const TripTimes& times) {
  Route r;
  r.times = times;
  const bool worth_it = times.staged_us < times.cpu_us;
  r.kind = worth_it ? RouteKind::staged : RouteKind::cpu;
  r.reason = worth_it ? "host operands, and the product repays the trip to the GPU"
                      : "host operands, and the product does not repay the trip to the GPU";
  return r;
}

}  // namespace

const char* name_of(RouteKind kind) {
  switch (kind) {
    case RouteKind::none:
      return "none";
    case RouteKind::cpu:
      return "cpu";
    case RouteKind::staged:
      return "staged";
    case RouteKind::device:
      return "device";
    case RouteKind::peers:
      return "peers";
    case RouteKind::unservable:
      return "unservable";
  }
  return "?";
}

std::string to_string(const Route& route) {
  if (route.times.staged_us == 0) return route.reason;
  return format("%s (estimates: CPU %.1f us, staged %.1f us)", route.reason, route.times.cpu_us, route.times.staged_us);
}

bool wants_device(const Problem& problem, const Placement& placement) {
  if (problem.does_nothing()) return false;
  if (placement.any(Location::device) || placement.any(Location::managed)) return true;
  return problem.reads_inputs() && problem.flops() >= kMinFlopsForDevice;
}

bool is_a_choice(const Problem& problem, const Placement& placement, const device::DeviceInfo* device) {
  return placement.all_on_host() && wants_device(problem, placement) && device != nullptr &&
         kernels::serves(problem.types(), *device);
}

Route choose_route(const Problem& problem, const Placement& placement, const device::DeviceInfo* device,
                   const TripTimes& times) {
  Route r;
  if (problem.does_nothing()) {
    r.reason = "nothing to compute: an extent is 0, or C stays as it is";
    return r;
  }
  const bool served = device != nullptr && kernels::serves(problem.types(), *device);
  const bool any_host = placement.any(Location::host);
  const bool on_device = placement.any(Location::device) || (placement.any(Location::managed) && served);
  if (!problem.alpha.known() || !problem.beta.known()) {
    if (placement.alpha.location == Location::host || placement.beta.location == Location::host)
      return placement.alpha.location == Location::host
                 ? unservable(-XGEMM_ARG_ALPHA, "alpha points to host memory, but scalars on the device are required")
                 : unservable(-XGEMM_ARG_BETA, "beta points to host memory, but scalars on the device are required");
    if (any_host)
      return unservable(XGEMM_UNSUPPORTED, "scalars on the device need A, B and C in device or managed memory");
    if (!served)  // managed memory is in the CPU's reach, but the values are not known before the work runs
      return unservable(XGEMM_NO_DEVICE, "scalars on the device, but libxgemm has no GPU that it can use");
  }
  if (on_device && !served) {
    return unservable(XGEMM_NO_DEVICE,
                      device == nullptr ? "an operand is in device memory, but libxgemm has no GPU to use"
                                        : "an operand is in device memory, but no kernel in this build serves its GPU");
  }
  if (problem.by_pointers() && (any_host || !served || !on_one_device(placement, device->ordinal)))
    return unservable(XGEMM_UNSUPPORTED,
                      "arrays of pointers have to be all in host memory, or all in device or managed memory of a GPU "
                      "that libxgemm can use, where the matrices are, too");
  if (problem.epilogue.any()) {
    const Location elsewhere = on_device ? Location::host : Location::device;
    // What the GPU may still write is waited for only where a matrix is managed, too.
    const bool never_waited_for = placement.all_on_host() && placement.any_of_epilogue(Location::managed);
    if ((on_device && any_host) || placement.any_of_epilogue(elsewhere) || never_waited_for)
      return unservable(XGEMM_UNSUPPORTED,
                        "an epilogue needs the matrices and its own vectors all in host memory, or all in device or "
                        "managed memory");
    if (on_device && !on_one_device(placement, device->ordinal))
      return unservable(XGEMM_UNSUPPORTED, "an epilogue needs the matrices and its own vectors on one GPU");
  }
  if (on_device) {
    if (const int argument = misaligned_argument(problem, placement))
      return unservable(-argument, "an operand in device memory is not aligned to its element size");
    const auto elsewhere = [&](const runtime::PointerLocation& at) {
      return at.location == Location::device && at.device != device->ordinal;
    };
    if ((elsewhere(placement.a) && !problem.has_plain_a()) || (elsewhere(placement.b) && !problem.has_plain_b()))
      return unservable(XGEMM_UNSUPPORTED, "an operand on another GPU than C needs contiguous rows or columns");
    if (any_host) {
      r.kind = RouteKind::staged;
      r.reason = "operands on both sides: those on the host are staged";
    } else if (!on_one_device(placement, device->ordinal)) {
      r.kind = RouteKind::peers;
      r.reason = "operands on several GPUs: those that C is not on are copied first";
    } else {
      r.kind = RouteKind::device;
      r.reason = "all operands are within a kernel's reach";
    }
    return r;
  }
  if (!served || !wants_device(problem, placement)) {
    r.kind = RouteKind::cpu;
    r.reason = !wants_device(problem, placement)
                   ? "host operands, and the product is too small to repay a trip to any GPU"
               : device != nullptr ? "host operands, and no kernel in this build serves the GPU"
                                   : "host operands, and libxgemm has no GPU to use";
    return r;
  }
  return host_or_staged(times);
}

}  // namespace xgemm::dispatch
