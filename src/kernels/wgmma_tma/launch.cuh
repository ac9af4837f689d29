// The launch of wgmma_tma: tensor maps and attributes. Nothing is decided here.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/launch_instance.cuh"
#include "kernels/common/opt_in.cuh"
#include "kernels/common/params.h"
#include "kernels/common/split_sum.h"
#include "kernels/wgmma_tma/arguments.h"
#include "kernels/wgmma_tma/instances.h"
#include "kernels/wgmma_tma/sum_layout.h"
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

template <WgmmaTmaConfig kConfig>
cudaError_t launch_wgmma_tma(const GemmParams& g, const Schedule& schedule, void* workspace, cudaStream_t stream) {
  static_assert(2 * (kConfig.shared_bytes() + 1024) > 228 * 1024,
                "one CTA on an SM: by that resident clusters are counted");
  using Kernel = WgmmaTma<kConfig>;
  cudaError_t error = opt_in_to_shared<wgmma_tma_entry<Kernel>, sizeof(typename Kernel::SharedStorage)>();
  if (error != cudaSuccess) return error;

  static constexpr WgmmaTmaBoxes kBoxes = wgmma_tma_boxes(kConfig);
  const BasicWgmmaTmaParams<TensorBox> boxes = wgmma_tma_arguments(kBoxes, g, schedule, workspace);
  typename Kernel::Params p;
  static_cast<WgmmaTmaScalars&>(p) = boxes;
  const auto encode = [&](TensorMap& map, const TensorBox& box) {
    if (error == cudaSuccess) error = encode_tensor_map(map, box);
  };
  // Encoding takes time: of two equal boxes the second one is copied.
  const auto encode_both = [&](TensorMap& map, const TensorBox& box, TensorMap& other, const TensorBox& other_box) {
    encode(map, box);
    if (other_box == box) {
      other = map;
    } else {
      encode(other, other_box);
    }
  };
  if constexpr (kConfig.c_through_shared()) {
    if (p.c_whole_m != 0) encode(p.c, boxes.c);
    if (boxes.c_old == boxes.c) {
      p.c_old = p.c;
    } else if (boxes.c_old.data != nullptr) {
      encode(p.c_old, boxes.c_old);
    }
  }
  if (p.k > 0) {
    encode_both(p.x, boxes.x, p.x_tail, boxes.x_tail);
    encode_both(p.y, boxes.y, p.y_tail, boxes.y_tail);
  }
  if (error != cudaSuccess) return error;

  cudaLaunchAttribute attributes[2];
  unsigned count = 0;
  const auto cluster_size = static_cast<unsigned>(schedule.cluster.size() * kConfig.cluster_k);
  if (cluster_size > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {cluster_size, 1, 1};
  }
  attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(schedule.clusters * cluster_size);
  config.blockDim = dim3(Kernel::kThreads);
  config.dynamicSmemBytes = sizeof(typename Kernel::SharedStorage);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  error = cudaLaunchKernelEx(&config, wgmma_tma_entry<Kernel>, p);
  if (error != cudaSuccess || schedule.split_tiles == 0) return error;
  const SplitSumLayout layout = split_sum_layout(kConfig, schedule);
  return launch_split_sum(kConfig.type_c, split_sum_params(g, schedule, workspace, layout), stream);
}

template <>
struct Launch<Family::wgmma_tma> {
  template <WgmmaTmaConfig kConfig>
  static cudaError_t instance(const GemmParams& params, const Schedule& schedule, void* workspace,
                              cudaStream_t stream) {
    return launch_wgmma_tma<kConfig>(params, schedule, workspace, stream);
  }
};

}  // namespace xgemm::kernels
