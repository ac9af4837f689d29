// The product, then the pass. CUDA builds only.
#include "runtime/finish.h"

#include <cstddef>
#include <optional>

#include "core/finishing.h"
#include "device/capture_mode.h"
#include "device/cuda_status.h"
#include "kernels/finish/finish.h"
#include "runtime/workspace.h"

namespace xgemm::runtime {

Status finished_gemm(const Problem& problem, const device::DeviceInfo& device, const LaunchSettings& settings) {
  const device::RelaxedCaptureGuard relaxed;
  const device::DeviceGuard guard(device.ordinal);
  XGEMM_RETURN_IF_FAILED(device::cuda_status(guard.status(), "cudaSetDevice"));
  Panels panels(problem);
  const auto bytes = static_cast<std::size_t>(panels.buffer_bytes());
  std::optional<Workspace> buffer;
  // From the pool: what the user has lent is for the kernels.
  if (bytes > 0) {
    buffer.emplace(device.ordinal, LaunchSettings{settings.stream, nullptr, 0}, bytes);
    if (buffer->data() == nullptr) return buffer->failure(bytes, "sums of an epilogue");
  }
  void* const sums = buffer ? buffer->data() : nullptr;
  bool begun = false;
  for (Problem panel; panels.next(&panel); begun = true) {
    if (const std::optional<Problem> product = product_before(panel, sums))
      XGEMM_RETURN_IF_FAILED(of_part(device_gemm(*product, device, settings), begun));
    XGEMM_RETURN_IF_FAILED(
        device::launch_status(kernels::launch_finish(panel.c.type, kernels::finish_params(panel, sums),
                                                     static_cast<cudaStream_t>(settings.stream)),
                              "the pass of an epilogue"));
  }
  return kOk;
}

}  // namespace xgemm::runtime
