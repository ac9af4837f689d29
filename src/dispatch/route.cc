// Choosing the route.
#include "dispatch/route.h"

#include <algorithm>
#include <cstdint>
#include <thread>

#include "core/status.h"
#include "dispatch/host_trip.h"
#include "kernels/instances.h"

namespace xgemm::dispatch {
namespace {

using runtime::Location;
using runtime::Placement;

template <class Matrix>
double matrix_bytes(std::int64_t rows, std::int64_t cols, const Problem& p, const Matrix& x) {
  const double count = x.batch_stride == 0 ? 1.0 : static_cast<double>(p.batch_count);
  return static_cast<double>(rows) * static_cast<double>(cols) * count * size_of(x.type);
}

// Bytes that cross the link, each way.
struct Traffic {
  double in = 0, out = 0;
};

Traffic traffic_of(const Problem& p) {
  Traffic t;
  if (p.reads_inputs()) t.in += matrix_bytes(p.m, p.k, p, p.a) + matrix_bytes(p.k, p.n, p, p.b);
  t.out = matrix_bytes(p.m, p.n, p, p.c);
  if (p.reads_c()) t.in += t.out;
  return t;
}

unsigned cpu_cores() {
  static const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  return cores;
}

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
  const auto misaligned = [](const runtime::PointerLocation& at, const auto& matrix) {
    return (at.location == Location::device || at.location == Location::managed) &&
           reinterpret_cast<std::uintptr_t>(matrix.data) % static_cast<unsigned>(size_of(matrix.type)) != 0;
  };
  if (misaligned(placement.a, p.a)) return XGEMM_ARG_A;
  if (misaligned(placement.b, p.b)) return XGEMM_ARG_B;
  return misaligned(placement.c, p.c) ? XGEMM_ARG_C : 0;
}

// Whether operands in device memory are all on the GPU that computes.
bool on_one_device(const Placement& placement, int ordinal) {
  for (const runtime::PointerLocation* p : {&placement.a, &placement.b, &placement.c})
    if (p->location == Location::device && p->device != ordinal) return false;
  return true;
}

Route host_or_staged(const Problem& p, const device::DeviceInfo& device) {
  const HostTripRow& row = host_trip_row(p.a.type, device.compute_capability);
  const Traffic traffic = traffic_of(p);
  const double useful_flops = p.reads_inputs() ? p.flops() : 0.0;
  Route r;
  r.cpu_us = useful_flops / (cpu_cores() * row.cpu_gflops_per_core) * 1e-3;
  r.staged_us = row.staged_call_us + useful_flops / row.gpu_gflops * 1e-3 + traffic.in / row.link_in_gbytes * 1e-3 +
                traffic.out / row.link_out_gbytes * 1e-3;
  const bool worth_it = r.staged_us < r.cpu_us;
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
    case RouteKind::unservable:
      return "unservable";
  }
  return "?";
}

std::string to_string(const Route& route) {
  if (route.staged_us == 0) return route.reason;
  return format("%s (estimates: CPU %.1f us, staged %.1f us)", route.reason, route.cpu_us, route.staged_us);
}

bool wants_device(const Problem& problem, const Placement& placement) {
  if (problem.does_nothing()) return false;
  if (placement.any(Location::device) || placement.any(Location::managed)) return true;
  return problem.reads_inputs() && problem.flops() >= kMinFlopsForDevice;
}

Route choose_route(const Problem& problem, const Placement& placement, const device::DeviceInfo* device) {
  Route r;
  if (problem.does_nothing()) {
    r.reason = "nothing to compute: an extent is 0, or C stays as it is";
    return r;
  }
  const bool served = device != nullptr && kernels::serves(problem.types(), device->compute_capability);
  const bool any_host = placement.any(Location::host);
  const bool on_device = placement.any(Location::device) || (placement.any(Location::managed) && served);
  if (!problem.alpha.known() || !problem.beta.known()) {
    if (placement.alpha.location == Location::host || placement.beta.location == Location::host)
      return unservable(placement.alpha.location == Location::host ? -XGEMM_ARG_ALPHA : -XGEMM_ARG_BETA,
                        "scalars were said to be on the device, but alpha or beta points to host memory");
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
  if (on_device) {
    if (const int argument = misaligned_argument(problem, placement))
      return unservable(-argument, "an operand in device memory is not aligned to its element size");
    const bool reachable = !any_host && on_one_device(placement, device->ordinal);
    r.kind = reachable ? RouteKind::device : RouteKind::staged;
    r.reason = reachable  ? "all operands are within a kernel's reach"
               : any_host ? "operands on both sides: those on the host are staged"
                          : "operands on several GPUs: those on the others are staged";
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
  return host_or_staged(problem, *device);
}

}  // namespace xgemm::dispatch
