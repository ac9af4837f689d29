// Old C to the buffer, the product, and back. CUDA builds only.
#include "runtime/scattered.h"

#include <algorithm>
#include <cstddef>

#include "core/scattering.h"
#include "device/capture_mode.h"
#include "device/cuda_status.h"
#include "kernels/pack/pack.h"
#include "runtime/buffer_copies.h"
#include "runtime/workspace.h"

namespace xgemm::runtime {

Status scattered_gemm(const Problem& problem, const device::DeviceInfo& device, const LaunchSettings& settings) {
  const device::RelaxedCaptureGuard relaxed;
  const device::DeviceGuard guard(device.ordinal);
  XGEMM_RETURN_IF_FAILED(device::cuda_status(guard.status(), "cudaSetDevice"));
  std::int64_t bytes = 0;
  XGEMM_RETURN_IF_FAILED(for_each_buffered_part(problem, kMostBufferedBytes, [&](const Problem& part) {
    bytes = std::max(bytes, buffered_bytes(part));
    return kOk;
  }));
  // From the pool: what the user has lent is for the kernels.
  const Workspace buffer(device.ordinal, {settings.stream, nullptr, 0}, static_cast<std::size_t>(bytes));
  if (buffer.data() == nullptr)
    return buffer.failure(static_cast<std::size_t>(bytes), "a C without contiguous columns");
  const auto move = [&](const kernels::PackJob& job) {
    kernels::PackParams pass{.element_bytes = size_of(problem.c.type)};
    pass.add(job);
    return device::launch_status(kernels::launch_pack(pass, static_cast<cudaStream_t>(settings.stream)),
                                 "the copies of C");
  };
  bool begun = false;
  return for_each_buffered_part(problem, kMostBufferedBytes, [&](const Problem& part) {
    const Problem buffered = with_buffered_c(part, buffer.data());
    if (gathers_c(part)) XGEMM_RETURN_IF_FAILED(move(gathering_c(part, buffered.c)));
    XGEMM_RETURN_IF_FAILED(of_part(device_gemm(buffered, device, settings), begun));
    begun = true;
    return move(scattering(part, buffered.c));
  });
}

}  // namespace xgemm::runtime
