// Matrices to the buffer, the products, and C back. CUDA builds only.
#include "runtime/pointer_batch.h"

#include <cstddef>

#include "core/pointer_batch.h"
#include "device/capture_mode.h"
#include "device/cuda_status.h"
#include "kernels/pack/pack.h"
#include "runtime/buffer_copies.h"
#include "runtime/workspace.h"

namespace xgemm::runtime {

Status pointer_batch_gemm(const Problem& problem, const device::DeviceInfo& device, const LaunchSettings& settings) {
  const device::RelaxedCaptureGuard relaxed;
  const device::DeviceGuard guard(device.ordinal);
  XGEMM_RETURN_IF_FAILED(device::cuda_status(guard.status(), "cudaSetDevice"));
  const CopiedEntry entry(problem);
  const std::int64_t at_once = entries_at_once(problem), bytes = at_once * entry.bytes();
  // From the pool: what the user has lent is for the kernels.
  const Workspace buffer(device.ordinal, {settings.stream, nullptr, 0}, static_cast<std::size_t>(bytes));
  if (buffer.data() == nullptr)
    return buffer.failure(static_cast<std::size_t>(bytes), "copies of matrices that are found by pointers");
  const auto copy = [&](const kernels::PackParams& pass) {
    return device::launch_status(kernels::launch_pack(pass, static_cast<cudaStream_t>(settings.stream)),
                                 "the copies of matrices that are found by pointers");
  };
  for (std::int64_t first = 0; first < problem.batch_count; first += at_once) {
    const Problem part = some_entries(problem, first, at_once);
    const Problem copied = copied_entries(problem, first, at_once, buffer.data());
    kernels::PackParams inputs{.element_bytes = size_of(problem.a.type)};
    kernels::PackParams outputs{.element_bytes = size_of(problem.c.type)}, results = outputs;
    inputs.add(gathering(part, part.a, entry.a.rows, entry.a.columns, copied.a));
    inputs.add(gathering(part, part.b, entry.b.rows, entry.b.columns, copied.b));
    if (gathers_c(part)) outputs.add(gathering(part, part.c, part.m, part.n, copied.c));
    results.add(scattering(part, copied.c));
    XGEMM_RETURN_IF_FAILED(copy(inputs));
    XGEMM_RETURN_IF_FAILED(copy(outputs));
    XGEMM_RETURN_IF_FAILED(of_part(device_gemm(copied, device, settings), first > 0));
    XGEMM_RETURN_IF_FAILED(copy(results));
  }
  return kOk;
}

}  // namespace xgemm::runtime
