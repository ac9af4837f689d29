// Opts a kernel in to more dynamic shared memory than the default, once per kernel and device. CUDA builds only.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>

#include "device/max_devices.h"

namespace xgemm::kernels {

// What a CTA can have without.
inline constexpr unsigned kDefaultSharedBytes = 48 * 1024;

// Of a kernel: on which devices it has been done.
using SharedOptIn = std::array<std::atomic<bool>, device::kMaxDevices>;

// bytes: 0 for all that the device has.
inline cudaError_t opt_in_to_shared(const void* kernel, int bytes, SharedOptIn& done) {
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  const auto index = static_cast<std::size_t>(device);
  if (index < done.size() && done[index].load(std::memory_order_relaxed)) return cudaSuccess;
  if (bytes == 0) error = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess) error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error == cudaSuccess && index < done.size()) done[index].store(true, std::memory_order_relaxed);
  return error;
}
inline cudaError_t opt_in_to_all_shared(const void* kernel, SharedOptIn& done) {
  return opt_in_to_shared(kernel, 0, done);
}

}  // namespace xgemm::kernels
