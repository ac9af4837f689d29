// What a capture of a stream forbids. CUDA builds only.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

namespace xgemm::device {

// While it lives, this thread may make pools, allocate, and launch kernels, which CUDA loads when they are launched
// first, although a stream is being captured: without it that would break the capture, whether it is of the call's own
// stream or of another thread's.
class RelaxedCaptureGuard {
 public:
  RelaxedCaptureGuard() { changed_ = cudaThreadExchangeStreamCaptureMode(&mode_) == cudaSuccess; }
  ~RelaxedCaptureGuard() {
    if (changed_) cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  RelaxedCaptureGuard(const RelaxedCaptureGuard&) = delete;
  RelaxedCaptureGuard& operator=(const RelaxedCaptureGuard&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  bool changed_ = false;
};

}  // namespace xgemm::device
