// The call path in one place: quick return, locate, route, then the CPU engine, staging or the device.
#include "dispatch/gemm.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "core/environment.h"
#include "device/device_info.h"
#include "device/health.h"
#include "dispatch/host_trip.h"
#include "dispatch/route.h"
#include "dispatch/staged_or_cpu.h"
#include "host/cpu_engine.h"
#include "runtime/device_gemm.h"
#include "runtime/pointer_location.h"
#include "transfer/peer_copies.h"
#include "transfer/peer_gemm.h"

namespace xgemm::dispatch {
namespace {

// Where a call goes, with everything that led there.
struct Decision {
  runtime::Placement placement;
  Route route;
  const device::DeviceInfo* device = nullptr;  // null on the CPU route
  bool looked_for_device = false;
  int broken_device = -1;  // the one that would have been used for host data if it had not failed before
};

int cpu_cores() {
  static const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return cores;
}

// Of a product of host operands.
TripTimes trip_times(const Problem& problem, const device::DeviceInfo& device) {
  const transfer::StagingPlan staging =
      transfer::plan_staging_on(problem, {true, true, true}, static_cast<std::int64_t>(device.memory_bytes));
  // Every piece as the first one, whose slots are aligned as all are.
  void* const slot = reinterpret_cast<void*>(std::uintptr_t{1} << 30);
  plan::Plan kernel;
  const Problem piece =
      transfer::problem_in_slots(problem, staging.piece(problem, 0), staging.staged, {slot, slot, slot});
  // Without a kernel the trip costs nothing, and ends with the reason why there is none.
  if (!runtime::make_plan(piece, device, &kernel).ok()) clear_last_error();
  const double kernels_us = kernel.estimated_us * static_cast<double>(staging.pieces);
  TripTimes times = {cpu_time_us(problem, cpu_cores()),
                     staged_time_us(problem, staging, kernels_us, device.compute_capability, cpu_cores())};
  // Asking the engine opens its library, which is not for programs whose products all go to the GPU.
  if (times.cpu_us < times.staged_us && !host::cpu_engine_is_parallel()) times.cpu_us = cpu_time_us(problem, 1);
  return times;
}

Decision decide(const Problem& problem) {
  Decision d;
  d.placement = runtime::locate(problem);
  // Looking for a GPU initialises CUDA: done only for calls that may use one.
  d.looked_for_device = wants_device(problem, d.placement);
  if (d.looked_for_device) d.device = runtime::device_for(d.placement);
  if (d.device != nullptr && d.placement.all_on_host() && !device::is_healthy(d.device->ordinal)) {
    d.broken_device = d.device->ordinal;
    d.device = nullptr;
  }
  TripTimes times;
  if (is_a_choice(problem, d.placement, d.device)) times = trip_times(problem, *d.device);
  d.route = choose_route(problem, d.placement, d.device, times);
  return d;
}

// Why the route; where a GPU was looked for and there is none, also why not.
std::string reason_of(const Decision& d) {
  std::string text = to_string(d.route);
  if (d.broken_device >= 0) {
    text += format(" (GPU %d has failed in this process)", d.broken_device);
  } else if (d.looked_for_device && d.device == nullptr && !device::no_device_reason().empty()) {
    text += " (" + device::no_device_reason() + ")";
  }
  return text;
}

// *gpu_failure: why the CPU did what the route gave to the GPU.
Status run(const CallSettings& settings, const Problem& problem, const Decision& d, std::string* gpu_failure) {
  switch (d.route.kind) {
    case RouteKind::none:
      return kOk;
    case RouteKind::cpu:
      // Of a GPU that no kernel serves, but whose own work may be writing the operands.
      if (d.device != nullptr && d.placement.any(runtime::Location::managed))
        device::synchronize(*d.device, settings.stream);
      return host::cpu_gemm(problem);
    case RouteKind::staged:
      return staged_or_cpu(*settings.stager, problem, d.placement, *d.device, settings.stream, gpu_failure);
    case RouteKind::device:
      return runtime::device_gemm(problem, *d.device, {settings.stream, settings.workspace, settings.workspace_bytes});
    case RouteKind::peers:
      return transfer::peer_gemm(problem, d.placement, *d.device,
                                 {settings.stream, settings.workspace, settings.workspace_bytes});
    case RouteKind::unservable:
      return fail(d.route.status, reason_of(d));
  }
  return fail(XGEMM_INTERNAL_ERROR, "unknown route");
}

// The product that the kernel gets; copies from other GPUs are aligned, and any aligned address shows the planner the
// same facts.
Problem on_device(const Problem& problem, const Decision& d) {
  if (d.route.kind != RouteKind::peers) return problem;
  return transfer::on_copies(problem, transfer::peer_copies(problem, d.placement, d.device->ordinal),
                             reinterpret_cast<std::byte*>(std::uintptr_t{1} << 30));
}

// Names what computes: the kernel on the GPU routes, the library on the CPU route.
std::string kernel_name(const Problem& problem, const Decision& d) {
  switch (d.route.kind) {
    case RouteKind::cpu:
      return host::cpu_engine_name();
    case RouteKind::staged:
      return "staged";
    case RouteKind::device:
    case RouteKind::peers: {
      plan::Plan chosen;
      return runtime::make_plan(on_device(problem, d), *d.device, &chosen).ok() ? plan::name_of(chosen)
                                                                                : std::string("none");
    }
    default:
      return "none";
  }
}

// The line of XGEMM_VERBOSE, in the form that the benchmark's --replay reads.
void print_call(const Problem& problem, const Decision& d, Status status, double time_us) {
  std::string line = format("call=gemm %s location=%s route=%s kernel=%s", to_string(problem).c_str(),
                            to_string(d.placement).c_str(), name_of(d.route.kind), kernel_name(problem, d).c_str());
  if (!status.ok()) line += format(" status=%d", status.code);
  if (time_us >= 0) line += format(" time_us=%.1f", time_us);
  print_line(line);
}

Status run_verbosely(const CallSettings& settings, const Problem& problem, Decision d, int level) {
  const bool on_stream = d.route.kind == RouteKind::device || d.route.kind == RouteKind::peers;
  // A capture has no time, and must not be broken.
  const bool timed = level >= 2 && (!on_stream || device::synchronize(*d.device, settings.stream));
  std::string gpu_failure;
  const auto start = std::chrono::steady_clock::now();
  const Status status = run(settings, problem, d, &gpu_failure);
  if (timed && on_stream) device::synchronize(*d.device, settings.stream);
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  // Printing plans again, which may fail and must not replace this call's message.
  const std::string message = last_error();
  if (!gpu_failure.empty())
    print_line(format("GPU %d could not serve the next product%s: %s", d.device->ordinal,
                      status.ok() ? ", and the CPU took it" : "", gpu_failure.c_str()));
  if (!gpu_failure.empty() && status.ok()) d.route.kind = RouteKind::cpu;
  print_call(problem, d, status, timed ? elapsed.count() : -1.0);
  clear_last_error();
  return status.ok() ? kOk : fail(status.code, message);
}

}  // namespace

Status gemm(const CallSettings& settings, const Problem& problem) {
  const int verbose = environment().verbose;
  if (problem.does_nothing() && verbose == 0) return kOk;
  const Decision d = decide(problem);
  std::string gpu_failure;
  return verbose == 0 ? run(settings, problem, d, &gpu_failure) : run_verbosely(settings, problem, d, verbose);
}

Status explain(const CallSettings&, const Problem& problem, std::string* text) {
  const Decision d = decide(problem);
  *text = format("route=%s kernel=%s\nproblem: %s\nroute: %s\n", name_of(d.route.kind), kernel_name(problem, d).c_str(),
                 to_string(problem).c_str(), reason_of(d).c_str());
  switch (d.route.kind) {
    case RouteKind::none:
      return kOk;
    case RouteKind::cpu:
      *text += "cpu engine: " + host::cpu_engine_description() + "\n";
      return kOk;
    case RouteKind::unservable:
      return fail(d.route.status, reason_of(d));
    case RouteKind::staged:
    case RouteKind::device:
    case RouteKind::peers:
      break;
  }
  *text += "device: " + to_string(*d.device) + "\n";
  if (d.route.kind == RouteKind::staged) return transfer::explain_staging(problem, d.placement, *d.device, text);
  if (d.route.kind == RouteKind::peers)
    *text += to_string(transfer::peer_copies(problem, d.placement, d.device->ordinal));
  return runtime::explain_plan(on_device(problem, d), *d.device, text);
}

}  // namespace xgemm::dispatch
