// The launch of wgmma_tma: clusters that fit, tensor maps, attributes. wgmma_tma_arguments.h has the decisions.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <atomic>

#include "kernels/common/params.h"
#include "kernels/wgmma_tma/arguments.h"
#include "kernels/wgmma_tma/split_sum.h"
#include "kernels/wgmma_tma/wgmma_tma.cuh"

namespace xgemm::kernels {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, 1)
    wgmma_tma_entry(const __grid_constant__ typename Kernel::Params params) {
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  if constexpr (gpu::kArch >= Kernel::kMinArch) {
    Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(dynamic_shared));
  }
}

namespace wgmma_tma_detail {

constexpr int kMaxDevices = 64;

// How many clusters of this kernel a device holds at a time. Opts in to the shared memory on the way.
template <class Kernel>
cudaError_t resident_clusters(int& clusters) {
  static std::array<std::atomic<int>, kMaxDevices> cache{};
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  if (device < kMaxDevices && (clusters = cache[device].load(std::memory_order_relaxed)) > 0) return cudaSuccess;
  constexpr int kBytes = sizeof(typename Kernel::SharedStorage);
  error = cudaFuncSetAttribute(wgmma_tma_entry<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  if constexpr (Kernel::kClusterSize == 1) {
    int sms = 0;
    int per_sm = 0;
    error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (error != cudaSuccess) return error;
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, wgmma_tma_entry<Kernel>, Kernel::kThreads, kBytes);
    if (error != cudaSuccess) return error;
    clusters = sms * per_sm;
  } else {
    if constexpr (Kernel::kClusterSize > 8) {
      error = cudaFuncSetAttribute(wgmma_tma_entry<Kernel>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
      if (error != cudaSuccess) return error;
    }
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {Kernel::kClusterSize, 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(Kernel::kClusterSize);
    config.blockDim = dim3(Kernel::kThreads);
    config.dynamicSmemBytes = kBytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    error = cudaOccupancyMaxActiveClusters(&clusters, wgmma_tma_entry<Kernel>, &config);
    if (error != cudaSuccess) return error;
  }
  if (clusters <= 0) return cudaErrorInvalidConfiguration;
  if (device < kMaxDevices) cache[device].store(clusters, std::memory_order_relaxed);
  return cudaSuccess;
}

}  // namespace wgmma_tma_detail

template <class Element, WgmmaTmaConfig kConfig>
cudaError_t launch_wgmma_tma(const GemmParams& g, const SplitK& split, cudaStream_t stream,
                             const WgmmaTmaLaunch& options = {}) {
  using Kernel = WgmmaTma<Element, kConfig>;
  int clusters = 0;
  cudaError_t error = wgmma_tma_detail::resident_clusters<Kernel>(clusters);
  if (error != cudaSuccess) return error;

  const WgmmaTmaArguments arguments = wgmma_tma_arguments<kConfig>(g, clusters, split, options);
  const BasicWgmmaTmaParams<TensorBox>& boxes = arguments.params;
  typename Kernel::Params p;
  static_cast<WgmmaTmaScalars&>(p) = boxes;
  error = encode_tensor_map(p.c_old, boxes.c_old);
  // Encoding takes time: what equals an encoded box is copied.
  const auto encode = [&](TensorMap& map, const TensorBox& box, const TensorMap& encoded,
                          const TensorBox& encoded_box) {
    if (box == encoded_box) {
      map = encoded;
    } else if (error == cudaSuccess) {
      error = encode_tensor_map(map, box);
    }
  };
  encode(p.c, boxes.c, p.c_old, boxes.c_old);
  encode(p.x, boxes.x, p.c_old, boxes.c_old);
  encode(p.y, boxes.y, p.c_old, boxes.c_old);
  encode(p.x_tail, boxes.x_tail, p.x, boxes.x);
  encode(p.y_tail, boxes.y_tail, p.y, boxes.y);
  if (error != cudaSuccess) return error;

  cudaLaunchAttribute attributes[2];
  unsigned count = 0;
  if constexpr (Kernel::kClusterSize > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {Kernel::kClusterSize, 1, 1};
  }
  if (options.dependent) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(arguments.clusters * Kernel::kClusterSize);
  config.blockDim = dim3(Kernel::kThreads);
  config.dynamicSmemBytes = sizeof(typename Kernel::SharedStorage);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  error = cudaLaunchKernelEx(&config, wgmma_tma_entry<Kernel>, p);
  if (error != cudaSuccess || p.work.parts == 1) return error;
  const SplitSumLayout layout = split_sum_layout<kConfig>(p.work.split_tiles());
  return launch_split_sum(kConfig.type, split_sum_params(p, layout), stream);
}

#define XGEMM_DEFINE_WGMMA_TMA_LAUNCHER(name, ...)                                                     \
  cudaError_t launch_##name(const GemmParams& params, const SplitK& split, cudaStream_t stream) {      \
    return launch_wgmma_tma<gpu::ElementOf<(__VA_ARGS__).type>, (__VA_ARGS__)>(params, split, stream); \
  }

}  // namespace xgemm::kernels
