// Deciding where a call goes.
#include "dispatch/decision.h"

#include <algorithm>
#include <cstdint>
#include <thread>

#include "core/once.h"
#include "core/status.h"
#include "device/health.h"
#include "dispatch/host_trip.h"
#include "host/cpu_engine.h"
#include "plan/plan.h"
#include "runtime/device_gemm.h"
#include "transfer/staging_plan.h"

namespace xgemm::dispatch {
namespace {

int cpu_cores() {
  static Once<int> cores;
  return cores.get([] { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); });
}

// Of a product of host operands.
TripTimes trip_times(const Problem& problem, const device::DeviceInfo& device) {
  const transfer::StagingPlan staging =
      transfer::plan_staging_on(problem, {true, true, true}, static_cast<std::int64_t>(device.memory_bytes));
  // Every piece as the first one, whose slots are aligned as all are.
  void* const slot = reinterpret_cast<void*>(std::uintptr_t{1} << 30);
  plan::Plan kernel;
  Problem piece = transfer::problem_in_slots(problem, staging.piece(problem, 0), staging.staged, {slot, slot, slot});
  piece.fill = Fill::full;
  piece.epilogue = {};  // which the CPU computes
  // Without a kernel the trip costs nothing, and ends with the reason why there is none.
  if (!runtime::make_plan(piece, device, &kernel).ok()) clear_last_error();
  double kernels_us = kernel.estimated_us * static_cast<double>(staging.pieces);
  if (problem.fill != Fill::full)  // a part of the pieces on the diagonal
    kernels_us *= std::min(1.0, problem.elements() / (piece.elements() * static_cast<double>(staging.pieces)));
  TripTimes times = {cpu_time_us(problem, cpu_cores()),
                     staged_time_us(problem, staging, kernels_us, device.compute_capability, cpu_cores())};
  // Asking the engine opens its library, which is not for programs whose products all go to the GPU.
  if (times.cpu_us < times.staged_us) times.cpu_us = cpu_time_us(problem, host::cpu_engine_threads(cpu_cores()));
  return times;
}

}  // namespace

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

std::string reason_of(const Decision& d) {
  std::string text = to_string(d.route);
  if (d.broken_device >= 0) {
    text += format(" (GPU %d has failed in this process)", d.broken_device);
  } else if (d.looked_for_device && d.device == nullptr && !device::no_device_reason().empty()) {
    text += " (" + device::no_device_reason() + ")";
  }
  return text;
}

}  // namespace xgemm::dispatch
