// Opts a kernel in to more dynamic shared memory than the default, once per kernel and device.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>

namespace xgemm::kernels {

template <auto kEntry, int kBytes>
cudaError_t opt_in_to_shared() {
  constexpr int kMaxDevices = 64;
  static std::array<std::atomic<bool>, kMaxDevices> done{};
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  if (device < kMaxDevices && done[device].load(std::memory_order_relaxed)) return cudaSuccess;
  error = cudaFuncSetAttribute(kEntry, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error == cudaSuccess && device < kMaxDevices) done[device].store(true, std::memory_order_relaxed);
  return error;
}

}  // namespace xgemm::kernels
