// How many clusters a GPU runs at the same time: which parts of it have how many SMs only the driver knows.
#include <cuda_runtime_api.h>

#include "kernels/launchers.h"
#include "kernels/wgmma_tma/config.h"

namespace xgemm::kernels {
namespace {

__global__ void one_cta_an_sm() {}

}  // namespace

// Of any kernel with one CTA on an SM, as all instances are: the number depends on the size of clusters alone.
cudaError_t ask_resident_clusters(device::DeviceInfo& device) {
  constexpr int kBytes = WgmmaTmaConfig::kMaxSharedBytes;
  cudaError_t error = cudaFuncSetAttribute(one_cta_an_sm, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  int size = 1;
  for (int& clusters : device.resident_clusters) {
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(size), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(size));
    config.blockDim = dim3(128);
    config.dynamicSmemBytes = kBytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    if (error == cudaSuccess) error = cudaOccupancyMaxActiveClusters(&clusters, one_cta_an_sm, &config);
    size *= 2;
  }
  if (error == cudaSuccess) device.resident_clusters[0] = device.sm_count;
  return error;
}

}  // namespace xgemm::kernels
