// Texts about a call.
#include "dispatch/looking_inside.h"

#include <cstddef>
#include <cstdint>

#include "core/environment.h"
#include "host/cpu_engine.h"
#include "plan/forced_kernel.h"
#include "plan/plan.h"
#include "runtime/device_gemm.h"
#include "transfer/peer_copies.h"
#include "transfer/staging.h"

namespace xgemm::dispatch {
namespace {

// The product that the kernel gets; copies from other GPUs are aligned, and any aligned address shows the planner the
// same facts.
Problem on_device(const Problem& problem, const Decision& d) {
  if (d.route.kind != RouteKind::peers) return problem;
  return transfer::on_copies(problem, transfer::peer_copies(problem, d.placement, d.device->ordinal),
                             reinterpret_cast<std::byte*>(std::uintptr_t{1} << 30));
}

// Names what computes: the kernel on the GPU routes, the library on the CPU route; "" where nothing does.
std::string kernel_name(const Problem& problem, const Decision& d) {
  switch (d.route.kind) {
    case RouteKind::cpu:
      return host::cpu_engine_name();
    case RouteKind::staged:
      return "staged";
    case RouteKind::device:
    case RouteKind::peers: {
      plan::Plan chosen;
      return runtime::make_plan(on_device(problem, d), *d.device, &chosen).ok() ? plan::name_of(chosen) : "";
    }
    default:
      return "";
  }
}

std::string kernel_field(const std::string& name) {
  return name.empty() ? "" : " kernel=" + name;
}

}  // namespace

std::string place_of(const Problem& problem, const Decision& d, bool cpu_took_over) {
  if (cpu_took_over) return "cpu " + host::cpu_engine_name() + " for a GPU that failed";
  const std::string kernel = kernel_name(problem, d);
  return name_of(d.route.kind) + (kernel.empty() || d.route.kind == RouteKind::staged ? "" : " " + kernel);
}

void print_call(const Problem& problem, const Decision& d, Status status, const std::string& gpu_failure,
                double time_us, std::int64_t fallbacks) {
  const bool took_over = !gpu_failure.empty() && status.ok();
  if (!gpu_failure.empty())
    print_line(format("GPU %d could not serve the next product%s: %s", d.device->ordinal,
                      took_over ? ", and the CPU took it" : "", gpu_failure.c_str()));
  std::string line = format("call=gemm %s location=%s route=%s", to_string(problem).c_str(),
                            to_string(d.placement).c_str(), name_of(took_over ? RouteKind::cpu : d.route.kind)) +
                     kernel_field(took_over ? host::cpu_engine_name() : kernel_name(problem, d));
  if (!status.ok()) line += format(" status=%d", status.code);
  if (time_us >= 0) line += format(" time_us=%.1f", time_us);
  if (fallbacks > 0) line += format(" fp32_fallbacks=%lld", static_cast<long long>(fallbacks));
  print_line(line);
}

Status explain_decision(const Problem& problem, const Decision& d, std::string* text) {
  *text += format("route=%s%s\nproblem: %s\nroute: %s\n", name_of(d.route.kind),
                  kernel_field(kernel_name(problem, d)).c_str(), to_string(problem).c_str(), reason_of(d).c_str());
  switch (d.route.kind) {
    case RouteKind::none:
      return kOk;
    case RouteKind::cpu:
      *text += "cpu engine: " + host::cpu_engine_description() + "\n";
      if (!plan::forced_kernel().empty())
        *text += "XGEMM_FORCE_KERNEL=" + plan::forced_kernel() + " is for what runs on a GPU\n";
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
