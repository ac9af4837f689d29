// The call path in one place: quick return, decide, then the CPU engine, staging or the device.
#include "dispatch/gemm.h"

#include <chrono>
#include <cstdint>
#include <string>

#include "core/environment.h"
#include "core/once.h"
#include "core/pointer_batch.h"
#include "device/device_info.h"
#include "device/fallback_counter.h"
#include "dispatch/decision.h"
#include "dispatch/looking_inside.h"
#include "dispatch/staged_or_cpu.h"
#include "dispatch/summary.h"
#include "host/cpu_engine.h"
#include "host/finish.h"
#include "host/plain_copies.h"
#include "plan/forced_kernel.h"
#include "runtime/device_gemm.h"
#include "transfer/peer_gemm.h"

namespace xgemm::dispatch {
namespace {

// Once, to a user who believes that the kernel which he forces computes.
void say_that_none_is_forced(const Decision& d) {
  static Once<bool> said;
  said.get([&] {
    print_line("XGEMM_FORCE_KERNEL=" + plan::forced_kernel() +
               " is for what runs on a GPU; a product went to the CPU: " + reason_of(d));
    return true;
  });
}

// Of a staged product: the copies go over the link.
host::Operands copied_on_host(const Problem& problem, const runtime::Placement& placement) {
  const auto on_host = [](const runtime::PointerLocation& at) { return at.location == runtime::Location::host; };
  const host::Operands all = host::not_plain(problem);
  return {all.a && on_host(placement.a), all.b && on_host(placement.b), all.c && on_host(placement.c)};
}

// *gpu_failure: why the CPU did what the route gave to the GPU.
Status run(const CallSettings& settings, const Problem& problem, const Decision& d, std::string* gpu_failure) {
  switch (d.route.kind) {
    case RouteKind::none:
      return kOk;
    case RouteKind::cpu:
      // Of a GPU that no kernel serves, but whose own work may be writing the operands.
      if (d.device != nullptr && d.placement.any(runtime::Location::managed) &&
          !device::synchronize(*d.device, settings.stream))
        return fail(XGEMM_UNSUPPORTED,
                    "the CPU computes this product of managed memory, and cannot while the stream is being captured");
      if (!plan::forced_kernel().empty()) say_that_none_is_forced(d);
      return host::cpu_gemm(problem);
    case RouteKind::staged:
      return host::gemm_of_copies(problem, copied_on_host(problem, d.placement), [&](const Problem& plain) {
        return host::finished_gemm(plain, [&](const Problem& product) {
          return staged_or_cpu(*settings.stager, product, d.placement, *d.device, settings.stream, gpu_failure);
        });
      });
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

Status run_watched(const CallSettings& settings, const Problem& problem, const Decision& d) {
  const Environment& watch = environment();
  const bool on_stream = d.route.kind == RouteKind::device || d.route.kind == RouteKind::peers;
  // A capture has no time, and must not be broken.
  const bool timed =
      (watch.verbose >= 2 || watch.summary) && (!on_stream || device::synchronize(*d.device, settings.stream));
  const bool compared = watch.compare && d.route.kind == RouteKind::staged && d.placement.all_on_host();
  const double cpu_us = compared ? compare_with_cpu(problem) : -1;
  const std::int64_t fallbacks = device::fallbacks();
  std::string gpu_failure;
  const auto start = std::chrono::steady_clock::now();
  const Status status = run(settings, problem, d, &gpu_failure);
  if (timed && on_stream) device::synchronize(*d.device, settings.stream);
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  // Printing plans again, which may fail and must not replace this call's message.
  const std::string message = last_error();
  if (watch.summary && d.route.kind != RouteKind::none)
    count_product(problem, place_of(problem, d, !gpu_failure.empty() && status.ok()), status,
                  timed ? elapsed.count() : 0, cpu_us);
  if (watch.verbose > 0)
    print_call(problem, d, status, gpu_failure, timed ? elapsed.count() : -1.0,
               timed ? device::fallbacks() - fallbacks : 0);
  clear_last_error();
  return status.ok() ? kOk : fail(status.code, message);
}

// Of pointers to the matrices, wherever these and the scalars are.
bool has_arrays_on_host(const Problem& problem) {
  if (!problem.by_pointers() || problem.does_nothing()) return false;
  const runtime::Placement placement = runtime::locate(problem);
  return !placement.any_matrix(runtime::Location::device) && !placement.any_matrix(runtime::Location::managed);
}

// Before anything is written: that the matrices are there, and that the route does not refuse one for its address.
Status check_arrays_on_host(const Problem& problem) {
  const auto misaligned = [](const void* data, DType type) {
    return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(size_of(type)) != 0;
  };
  for (std::int64_t entry = 0; entry < problem.batch_count; ++entry) {
    const Problem p = entry_of(problem, entry);
    // Which of A and B that is in a row-major call, the argument's number tells.
    const auto null = [&](xgemm_argument argument, const char* use) {
      return illegal(argument, format("entry %lld of an array of pointers = NULL, but the matrix is %s",
                                      static_cast<long long>(entry), use));
    };
    if (p.reads_inputs() && p.a.data == nullptr) return null(XGEMM_ARG_A, "read");
    if (p.reads_inputs() && p.b.data == nullptr) return null(XGEMM_ARG_B, "read");
    if (p.c.data == nullptr) return null(XGEMM_ARG_C, "written");
    const Epilogue& e = problem.epilogue;
    const bool is_old_c = e.old_c != nullptr && p.epilogue.old_c == nullptr;
    if (is_old_c && p.c.step != 1)
      return illegal(XGEMM_ARG_OLD_C, format("old_c is c[%lld], but C has strides of its own: NULL is required then",
                                             static_cast<long long>(entry)));
    if (is_old_c && p.n > 1 && e.ld_old_c != p.c.ld)
      return illegal(XGEMM_ARG_OLD_C,
                     format("old_c is c[%lld], but ld_old_c = ldc is required then", static_cast<long long>(entry)));
    // In host memory they may be: only the route knows where a matrix lies.
    if (misaligned(p.a.data, p.a.type) || misaligned(p.b.data, p.b.type) || misaligned(p.c.data, p.c.type))
      if (const Decision d = decide(p); d.route.kind == RouteKind::unservable)
        return fail(d.route.status, reason_of(d));
  }
  return kOk;
}

}  // namespace

Status gemm(const CallSettings& settings, const Problem& problem) {
  if (has_arrays_on_host(problem)) {
    XGEMM_RETURN_IF_FAILED(check_arrays_on_host(problem));
    for (std::int64_t entry = 0; entry < problem.batch_count; ++entry)
      XGEMM_RETURN_IF_FAILED(of_part(gemm(settings, entry_of(problem, entry)), entry > 0));
    return kOk;
  }
  const bool watched = environment().verbose > 0 || environment().summary;
  if (problem.does_nothing() && !watched) return kOk;
  const Decision d = decide(problem);
  std::string gpu_failure;
  return watched ? run_watched(settings, problem, d) : run(settings, problem, d, &gpu_failure);
}

Status explain(const CallSettings& settings, const Problem& problem, std::string* text) {
  if (has_arrays_on_host(problem)) {
    XGEMM_RETURN_IF_FAILED(check_arrays_on_host(problem));
    *text += "the first product of those whose pointers are on the host:\n";
    return explain(settings, entry_of(problem, 0), text);
  }
  return explain_decision(problem, decide(problem), text);
}

}  // namespace xgemm::dispatch
