// Pools of device memory that are the library's own: what others do with the device's default pool is theirs. CUDA
// builds only.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "device/cuda_status.h"

namespace xgemm::device {

// Null where the device has no pools. kept_bytes: of free memory, what the pool keeps at a synchronisation.
inline cudaMemPool_t make_pool(int device, std::size_t kept_bytes) {
  int has_pools = 0;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  cudaMemPool_t pool = nullptr;
  if (cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, device) != cudaSuccess ||
      (has_pools != 0 && cudaMemPoolCreate(&pool, &properties) != cudaSuccess)) {
    forget_last_error();
    return nullptr;
  }
  if (pool != nullptr && kept_bytes > 0 &&
      cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept_bytes) != cudaSuccess)
    forget_last_error();
  return pool;
}

}  // namespace xgemm::device
