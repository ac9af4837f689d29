// Staging: from a product to a plan, buffers for it and a run of the pipeline.
#include "transfer/staging.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "core/triangle.h"
#include "device/capture_mode.h"
#include "device/cuda_status.h"
#include "device/health.h"
#include "runtime/device_gemm.h"
#include "transfer/paths.h"
#include "transfer/pipeline.h"
#include "transfer/stager.h"
#include "transfer/staging_walk.h"

namespace xgemm::transfer {

using device::cuda_status;
using device::DeviceInfo;
using runtime::Location;
using runtime::Placement;

namespace {

struct PlannedStaging {
  Paths paths;
  StagingPlan plan;
};

PlannedStaging plan_for(const Problem& problem, const Placement& placement, const DeviceInfo& device) {
  const Paths paths = find_paths(problem, placement, device);
  return {paths, plan_staging_on(problem, staged_operands(paths), static_cast<std::int64_t>(device.memory_bytes))};
}

// Waits for what the user enqueued before: host operands are read by the CPU, so that order on the device is not
// enough.
Status wait_for_user(cudaStream_t stream, const Placement& placement) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(stream, &capture);
  if (error == cudaErrorStreamCaptureImplicit) {
    device::forget_last_error();
    // The legacy default stream cannot be used while another stream is captured. Nothing that this call needs can be in
    // it when all of its operands are the host's.
    if (!placement.any(Location::device) && !placement.any(Location::managed)) return kOk;
    return fail(
        XGEMM_UNSUPPORTED,
        "the default stream cannot be used while a stream is captured, and a product of host and device operands "
        "has to wait for it; set the context's stream");
  }
  XGEMM_RETURN_IF_CUDA_FAILED(error, "cudaStreamIsCapturing");
  if (capture != cudaStreamCaptureStatusNone)
    return fail(
        XGEMM_UNSUPPORTED,
        format("the context's stream is being captured in a CUDA graph, and operands (A, B, C: %s) are host memory: "
               "a capture takes products of device and managed memory alone",
               to_string(placement).c_str()));
  return cuda_status(cudaStreamSynchronize(stream), "the work on the context's stream before this call");
}

// Device memory for the plan's slots, or for fewer of them.
Status reserve_slots(Stager& stager, const Problem& problem, StagingPlan* plan) {
  if (!plan->fits)
    return fail(XGEMM_OUT_OF_DEVICE_MEMORY,
                format("the smallest pieces of this product (m=%lld n=%lld k=%lld) need %lld bytes of device memory",
                       static_cast<long long>(problem.m), static_cast<long long>(problem.n),
                       static_cast<long long>(problem.k), static_cast<long long>(plan->device_bytes)));
  for (;;) {
    const Status status = stager.reserve_device(plan->device_bytes);
    if (status.code != XGEMM_OUT_OF_DEVICE_MEMORY) return status;
    clear_last_error();
    if (!take_fewer_slots(problem, plan))
      return fail(XGEMM_OUT_OF_DEVICE_MEMORY, format("no %lld bytes of device memory to stage host operands in",
                                                     static_cast<long long>(plan->device_bytes)));
  }
}

// Page-locked memory and threads, for operands that are packed.
Status reserve_rings(Stager& stager, const StagedProduct& product) {
  const StagingPlan& plan = product.plan;
  const Paths& paths = product.paths;
  const bool packs_in =
      paths.a == Path::packed || paths.b == Path::packed || (paths.c == Path::packed && product.problem.reads_c());
  const bool packs_out = paths.c == Path::packed;
  stager.in_ring.count = stager.out_ring.count = 0;
  // A chunk holds whole columns and may be half full.
  const auto chunks = [&](std::int64_t bytes) { return 2 * (bytes / plan.chunk_bytes) + 3; };
  if (packs_in) XGEMM_RETURN_IF_FAILED(stager.reserve_ring(&stager.in_ring, plan.chunk_bytes, chunks(plan.bytes_in)));
  if (packs_out)
    XGEMM_RETURN_IF_FAILED(stager.reserve_ring(&stager.out_ring, plan.chunk_bytes, chunks(plan.bytes_out)));
  if (packs_in || packs_out) stager.start_threads();
  return kOk;
}

Status run_staged(Stager& stager, const Problem& problem, const Placement& placement, const DeviceInfo& device,
                  cudaStream_t stream, Unfinished* unfinished) {
  XGEMM_RETURN_IF_FAILED(wait_for_user(stream, placement));
  XGEMM_RETURN_IF_FAILED(stager.prepare(device));
  auto [paths, plan] = plan_for(problem, placement, device);
  XGEMM_RETURN_IF_FAILED(reserve_slots(stager, problem, &plan));
  const StagedProduct product(problem, plan, paths, stager.device_memory);
  XGEMM_RETURN_IF_FAILED(reserve_rings(stager, product));
  Pipeline pipeline(stager, product, device);
  const Status status = pipeline.run();
  if (!status.ok()) *unfinished = pipeline.stop();
  return status;
}

}  // namespace

Status staged_gemm(StagerHandle& stager, const Problem& problem, const Placement& placement, const DeviceInfo& device,
                   void* stream, Unfinished* unfinished) {
  *unfinished = {{whole_of(problem)}, false};
  const device::DeviceGuard guard(device.ordinal);
  const device::RelaxedCaptureGuard relaxed;
  if (stager == nullptr || !stager->belongs_to_this_process()) stager.reset(new Stager);
  Status status = cuda_status(guard.status(), "cudaSetDevice");
  if (status.ok())
    status = run_staged(*stager, problem, placement, device, static_cast<cudaStream_t>(stream), unfinished);
  if (status.ok()) {
    unfinished->pieces.clear();
    stager->trim(device);
  } else if (status.code != XGEMM_UNSUPPORTED) {
    stager->release();
    if (status.code == XGEMM_CUDA_ERROR) device::check_health(device.ordinal);
  }
  return status;
}

Status explain_staging(const Problem& problem, const Placement& placement, const DeviceInfo& device,
                       std::string* text) {
  const device::DeviceGuard guard(device.ordinal);
  const auto [paths, plan] = plan_for(problem, placement, device);
  *text += to_string(plan) +
           format("staging: A is %s, B is %s, C is %s\n", name_of(paths.a), name_of(paths.b), name_of(paths.c));
  // Slots are aligned; any aligned address shows the planner the same facts.
  const auto slot = reinterpret_cast<void*>(std::uintptr_t{1} << 30);
  const Piece piece = plan.piece(problem, 0);
  Problem largest;
  Problem product = problem;
  if (problem.epilogue.any()) *text += "epilogue: by the CPU, when C is there\n";
  product.epilogue = {};
  XGEMM_RETURN_IF_FAILED(for_each_part(problem_in_slots(product, piece, plan.staged, {slot, slot, slot}), piece.i,
                                       piece.j, [&](const Problem& part) {
                                         if (part.elements() > largest.elements()) largest = part;
                                         return kOk;
                                       }));
  return runtime::explain_plan(largest, device, text);
}

}  // namespace xgemm::transfer
