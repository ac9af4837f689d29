// Looking after devices. CUDA builds only.
#include "device/health.h"

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>

#include "device/cuda_status.h"
#include "device/max_devices.h"

namespace xgemm::device {
namespace {

std::array<std::atomic<bool>, kMaxDevices>& broken() {
  static std::array<std::atomic<bool>, kMaxDevices> all{};
  return all;
}

// A stream of its own: other streams may be captured, or busy for long.
cudaError_t try_it(int ordinal) {
  const DeviceGuard guard(ordinal);
  if (guard.status() != cudaSuccess) return guard.status();
  cudaStream_t stream = nullptr;
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error != cudaSuccess) return error;
  error = cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  return error;
}

// What says nothing about the GPU: that it has no memory for a stream, or that CUDA must not be called here (from a
// callback of a stream, beside a capture).
bool is_about_the_call(cudaError_t error) {
  return error == cudaErrorMemoryAllocation || error == cudaErrorNotPermitted ||
         (error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread);
}

}  // namespace

void check_health(int ordinal) {
  if (ordinal < 0 || ordinal >= kMaxDevices) return;
  const cudaError_t error = try_it(ordinal);
  if (error == cudaSuccess) return;
  forget_last_error();
  if (!is_about_the_call(error)) broken()[static_cast<std::size_t>(ordinal)].store(true, std::memory_order_relaxed);
}

bool is_healthy(int ordinal) {
  return ordinal < 0 || ordinal >= kMaxDevices ||
         !broken()[static_cast<std::size_t>(ordinal)].load(std::memory_order_relaxed);
}

}  // namespace xgemm::device
