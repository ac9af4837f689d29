// Copies, then a product on them. CUDA builds only.
#include "transfer/peer_gemm.h"

#include <cuda_runtime_api.h>

#include "device/capture_mode.h"
#include "device/cuda_status.h"
#include "runtime/workspace.h"
#include "transfer/device_copy.h"
#include "transfer/peer_copies.h"

namespace xgemm::transfer {
Status peer_gemm(const Problem& problem, const runtime::Placement& placement, const device::DeviceInfo& device,
                 const runtime::LaunchSettings& settings) {
  const PeerCopies copies = peer_copies(problem, placement, device.ordinal);
  const device::RelaxedCaptureGuard relaxed;
  const device::DeviceGuard guard(device.ordinal);
  XGEMM_RETURN_IF_CUDA_FAILED(guard.status(), "cudaSetDevice");
  // From the pool: what the user has lent is for the kernels. Given back in the order of the stream.
  const runtime::Workspace memory(device.ordinal, {settings.stream, nullptr, 0},
                                  static_cast<std::size_t>(copies.bytes));
  auto* const to = static_cast<std::byte*>(memory.data());
  if (to == nullptr) return memory.failure(static_cast<std::size_t>(copies.bytes), "operands from other GPUs");
  const auto stream = static_cast<cudaStream_t>(settings.stream);
  const auto copy = [&](const StagedPart& part, const void* data, int from_device, std::int64_t offset) {
    return device::cuda_status(
        pack_from_peer(merged(part.block), to + offset, device.ordinal,
                       static_cast<const std::byte*>(data) + part.host_offset, from_device, stream),
        "copying operands between GPUs");
  };
  const auto copy_scalar = [&](const void* scalar, std::int64_t offset) {
    const auto bytes = static_cast<std::size_t>(size_of(problem.sums()));
    return device::cuda_status(cudaMemcpyAsync(to + offset, scalar, bytes, cudaMemcpyDefault, stream),
                               "copying a scalar between GPUs");
  };
  const Piece whole = whole_of(problem);
  if (copies.operands.a)
    XGEMM_RETURN_IF_FAILED(copy(part_of_a(problem, whole), problem.a.data, placement.a.device, copies.a_offset));
  if (copies.operands.b)
    XGEMM_RETURN_IF_FAILED(copy(part_of_b(problem, whole), problem.b.data, placement.b.device, copies.b_offset));
  if (copies.alpha) XGEMM_RETURN_IF_FAILED(copy_scalar(problem.alpha.device, copies.alpha_offset));
  if (copies.beta) XGEMM_RETURN_IF_FAILED(copy_scalar(problem.beta.device, copies.beta_offset));
  return runtime::device_gemm(on_copies(problem, copies, to), device, settings);
}

}  // namespace xgemm::transfer
