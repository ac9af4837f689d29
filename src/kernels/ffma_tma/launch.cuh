// The launch of ffma_tma: tensor maps and attributes. Nothing is decided here.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "kernels/common/launch_instance.cuh"
#include "kernels/common/opt_in.h"
#include "kernels/common/params.h"
#include "kernels/common/split_sum.h"
#include "kernels/common/tile_schedule.h"
#include "kernels/ffma_tma/arguments.h"
#include "kernels/ffma_tma/ffma_tma.cuh"
#include "kernels/ffma_tma/instances.h"

namespace xgemm::kernels {

template <class Entry, class Epilogue>
struct FfmaTmaOf {
  using Kernel = FfmaTma<Entry::kConfig, Epilogue>;
};

template <class Entry, class Epilogue>
__global__ void __launch_bounds__(KernelOf<Entry>::kThreads, KernelOf<Entry>::kCtasPerSm)
    ffma_tma_entry(const __grid_constant__ FfmaTmaParams params) {
  using Kernel = typename FfmaTmaOf<Entry, Epilogue>::Kernel;
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  if constexpr (gpu::kArch >= Kernel::kMinArch) {
    Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(dynamic_shared));
  }
}

template <class Entry, class Epilogue>
cudaError_t launch_ffma_tma(const GemmParams& g, const Schedule& schedule, void* workspace, cudaStream_t stream) {
  using Kernel = typename FfmaTmaOf<Entry, Epilogue>::Kernel;
  constexpr FfmaTmaConfig kConfig = Entry::kConfig;
  constexpr int kBytes = sizeof(typename Kernel::SharedStorage);
  static SharedOptIn opt_in;
  cudaError_t error = opt_in_to_all_shared(reinterpret_cast<const void*>(ffma_tma_entry<Entry, Epilogue>), opt_in);
  if (error != cudaSuccess) return error;

  const BasicFfmaTmaParams<TensorBox> boxes = ffma_tma_arguments(kConfig, g, schedule, workspace);
  FfmaTmaParams p;
  static_cast<TileParams&>(p) = boxes;
  p.a_load = boxes.a_load;
  p.b_load = boxes.b_load;
  p.c_vectors = boxes.c_vectors;
  if (by_tma(p.a_load)) error = encode_tensor_map(p.a_map, boxes.a_map);
  if (error == cudaSuccess && by_tma(p.b_load)) error = encode_tensor_map(p.b_map, boxes.b_map);
  if (error == cudaSuccess && kConfig.stages_c() && p.c_vectors) error = encode_tensor_map(p.c_map, boxes.c_map);
  if (error != cudaSuccess) return error;

  const auto cluster_size = static_cast<unsigned>(schedule.cluster.size());
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {cluster_size, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(schedule.clusters * cluster_size);
  config.blockDim = dim3(Kernel::kThreads);
  config.dynamicSmemBytes = std::max<std::size_t>(kBytes, schedule.shared_bytes);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = cluster_size > 1 ? 2 : 1;
  error = cudaLaunchKernelEx(&config, ffma_tma_entry<Entry, Epilogue>, p);
  if (error != cudaSuccess || schedule.split_tiles == 0) return error;
  const SplitSumLayout layout = tile_sum_layout(kConfig, schedule);
  return launch_split_sum(DType::f32, split_sum_params(g, schedule, workspace, layout), stream);
}

template <>
struct Launch<Family::ffma_tma> {
  template <class Entry>
  static cudaError_t instance(const GemmParams& params, const Schedule& schedule, void* workspace,
                              cudaStream_t stream) {
    constexpr FfmaTmaConfig kConfig = Entry::kConfig;
    if constexpr (kConfig.finishes()) {
      if (params.finishing.any()) return launch_ffma_tma<Entry, Finished>(params, schedule, workspace, stream);
    }
    if constexpr (kConfig.follows) {
      if (params.c.by_pointers()) return launch_ffma_tma<Entry, Following>(params, schedule, workspace, stream);
    }
    return launch_ffma_tma<Entry, LinearCombination>(params, schedule, workspace, stream);
  }
};

}  // namespace xgemm::kernels
