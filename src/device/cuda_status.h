// CUDA's errors as statuses. CUDA builds only.
#pragma once

#include <cuda_runtime_api.h>

#include "core/status.h"

namespace xgemm::device {

// A thread's last error stays with the runtime until it is asked for. Once it has been dealt with, no later call must
// find it and take it for its own. The runtime is linked statically: those of the caller's own CUDA code are others.
inline void forget_last_error() {
  cudaGetLastError();
}

// "cudaMalloc: out of memory (cudaErrorMemoryAllocation)"; XGEMM_OUT_OF_DEVICE_MEMORY for that one, else
// XGEMM_CUDA_ERROR. The error is forgotten.
inline Status cuda_status(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return kOk;
  forget_last_error();
  const int code = error == cudaErrorMemoryAllocation ? XGEMM_OUT_OF_DEVICE_MEMORY : XGEMM_CUDA_ERROR;
  return fail(code, format("%s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error)));
}

// The same of a launch, which may find no memory for a kernel's code. What was launched before it may have written to
// C: never XGEMM_OUT_OF_DEVICE_MEMORY, which says that C is as it was.
inline Status launch_status(cudaError_t error, const char* what) {
  const Status status = cuda_status(error, what);
  return status.code == XGEMM_OUT_OF_DEVICE_MEMORY ? Status{XGEMM_CUDA_ERROR} : status;
}

// Leaves early when a CUDA call fails.
#define XGEMM_RETURN_IF_CUDA_FAILED(call, what) XGEMM_RETURN_IF_FAILED(::xgemm::device::cuda_status((call), (what)))

// Makes a device current and puts the caller's back.
class DeviceGuard {
 public:
  explicit DeviceGuard(int ordinal) {
    status_ = cudaGetDevice(&previous_);
    if (status_ == cudaSuccess && previous_ != ordinal) {
      status_ = cudaSetDevice(ordinal);
      changed_ = status_ == cudaSuccess;
    }
  }
  ~DeviceGuard() {
    if (changed_) cudaSetDevice(previous_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

  cudaError_t status() const { return status_; }

 private:
  int previous_ = 0;
  bool changed_ = false;
  cudaError_t status_ = cudaSuccess;
};

}  // namespace xgemm::device
