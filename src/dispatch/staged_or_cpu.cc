// Falling back to the CPU.
#include "dispatch/staged_or_cpu.h"

#include "core/triangle.h"
#include "host/cpu_engine.h"

namespace xgemm::dispatch {
namespace {

bool is_the_gpus(Status status) {
  return status.code == XGEMM_CUDA_ERROR || status.code == XGEMM_OUT_OF_DEVICE_MEMORY ||
         status.code == XGEMM_OUT_OF_HOST_MEMORY;  // page-locked
}

}  // namespace

Status staged_or_cpu(transfer::StagerHandle& stager, const Problem& problem, const runtime::Placement& placement,
                     const device::DeviceInfo& device, void* stream, std::string* gpu_failure) {
  transfer::Unfinished unfinished;
  const Status status = transfer::staged_gemm(stager, problem, placement, device, stream, &unfinished);
  if (status.ok() || !is_the_gpus(status) || !placement.all_on_host()) return status;
  *gpu_failure = last_error();
  if (unfinished.torn)
    return fail(status.code, *gpu_failure + "; C has been written in part, so that the CPU cannot take over");
  clear_last_error();
  for (const transfer::Piece& piece : unfinished.pieces)
    XGEMM_RETURN_IF_FAILED(for_each_part(transfer::problem_of(problem, piece), piece.i, piece.j, host::cpu_gemm));
  return kOk;
}

}  // namespace xgemm::dispatch
