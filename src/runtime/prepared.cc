// Splitting an operand ahead of its products, block by block. CUDA builds only.
#include "runtime/prepared.h"

#include <algorithm>

#include "device/capture_mode.h"
#include "device/cuda_status.h"
#include "kernels/family.h"
#include "kernels/fp16x3/launch_split.h"
#include "kernels/fp16x3/split.h"
#include "plan/blocks.h"

namespace xgemm::runtime {
namespace {

cudaError_t split([[maybe_unused]] const xgemm_prepared& prepared, [[maybe_unused]] cudaStream_t stream) {
#if !defined(XGEMM_NO_SM90A)
  const OperandLines& all = prepared.operand;
  for (std::int64_t k = 0; k < all.k; k += prepared.block_k)
    for (std::int64_t line = 0; line < all.lines; line += prepared.block_lines) {
      OperandLines block = all;
      block.data = static_cast<const float*>(all.data) + line * all.line_stride() + k * all.k_stride();
      block.lines = std::min(prepared.block_lines, all.lines - line);
      block.k = std::min(prepared.block_k, all.k - k);
      const kernels::SplitParams pass = kernels::pass_of(block, prepared.find(block));
      if (const cudaError_t error = kernels::launch_split(pass, stream); error != cudaSuccess) return error;
    }
#endif
  return cudaSuccess;
}

}  // namespace

Status prepare(const OperandLines& operand, const device::DeviceInfo& device, const LaunchSettings& settings,
               xgemm_prepared* prepared) {
  *prepared = {.operand = operand,
               .block_lines = plan::Blocks::of_lines(operand.lines),
               .block_k = plan::Blocks::of_k(operand.k),
               .device = device.ordinal};
  if (!kernels::is_built(kernels::Family::fp16x3) || device.compute_capability != 90) return kOk;
  xgemm_prepared& p = *prepared;
  p.block_bytes =
      kernels::SplitStorage(std::min(p.block_lines, operand.lines), std::min(p.block_k, operand.k), 1).bytes();
  const device::DeviceGuard guard(device.ordinal);
  XGEMM_RETURN_IF_FAILED(device::cuda_status(guard.status(), "cudaSetDevice"));
  const device::RelaxedCaptureGuard relaxed;  // the memory is not the graph's
  void* memory = nullptr;
  const cudaError_t allocated = cudaMalloc(&memory, static_cast<std::size_t>(p.blocks() * p.block_bytes));
  XGEMM_RETURN_IF_FAILED(device::cuda_status(allocated, "memory for a prepared operand"));
  p.memory = static_cast<char*>(memory);
  if (const cudaError_t error = split(p, static_cast<cudaStream_t>(settings.stream)); error != cudaSuccess) {
    cudaFree(memory);
    p.memory = nullptr;
    return device::cuda_status(error, "splitting an operand");
  }
  return kOk;
}

Status release(const xgemm_prepared& prepared) {
  if (prepared.memory == nullptr) return kOk;
  const device::DeviceGuard guard(prepared.device);
  XGEMM_RETURN_IF_FAILED(device::cuda_status(guard.status(), "cudaSetDevice"));
  const device::RelaxedCaptureGuard relaxed;
  return device::cuda_status(cudaFree(prepared.memory), "cudaFree");
}

}  // namespace xgemm::runtime
