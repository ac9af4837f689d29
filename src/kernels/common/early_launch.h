// The launch of a kernel. By programmatic dependent launch, where the kernel is made for it and the GPU has it: it may
// start while the one before it ends, and waits by itself before it touches global memory (common/sm90/cluster.cuh).
// CUDA builds only.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include "device/code_architecture.h"

namespace xgemm::kernels {

// It came with sm_90; code for less does not wait.
inline bool starts_early() {
  int device = 0, major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major >= 9 &&
         device::code_architecture(10 * major) >= 90;
}

// params: what the kernel takes.
inline cudaError_t launch_kernel(const void* entry, unsigned ctas, unsigned threads, cudaStream_t stream, void* params,
                                 unsigned shared_bytes, unsigned cluster, bool early) {
  cudaLaunchAttribute attributes[2];
  unsigned count = 0;
  if (early && starts_early()) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {cluster, 1, 1};
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  void* arguments[] = {params};
  // Gives the error of this launch, which <<<>>> leaves among those of earlier calls.
  return cudaLaunchKernelExC(&config, entry, arguments);
}

template <class Params>
cudaError_t launch_early(void (*entry)(const Params), unsigned ctas, unsigned threads, cudaStream_t stream,
                         Params params, unsigned shared_bytes = 0, unsigned cluster = 1) {
  return launch_kernel(reinterpret_cast<const void*>(entry), ctas, threads, stream, &params, shared_bytes, cluster,
                       true);
}

}  // namespace xgemm::kernels
