// The launch of dmma_tma: tensor maps and attributes, for all instances in one function. Nothing is decided here.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "kernels/common/launch_instance.cuh"
#include "kernels/common/opt_in.h"
#include "kernels/common/split_sum.h"
#include "kernels/common/tile_schedule.h"
#include "kernels/dmma_tma/arguments.h"
#include "kernels/dmma_tma/dmma_tma.cuh"
#include "kernels/dmma_tma/instances.h"

namespace xgemm::kernels {

template <class Entry>
__global__ void __launch_bounds__(KernelOf<Entry>::kThreads, 1)
    dmma_tma_entry(const __grid_constant__ DmmaTmaParams params) {
  using Kernel = KernelOf<Entry>;
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  if constexpr (gpu::kArch >= Kernel::kMinArch) {
    Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(dynamic_shared));
  }
}

// What the launch needs of an instance.
struct DmmaTmaInstance {
  TileConfig config;
  int shared_bytes;
  SharedOptIn& opt_in;
  void (*entry)(DmmaTmaParams);
};

inline cudaError_t launch_dmma_tma(const DmmaTmaInstance& instance, const GemmParams& g, const Schedule& schedule,
                                   void* workspace, cudaStream_t stream) {
  const TileConfig& c = instance.config;
  const auto* const entry = reinterpret_cast<const void*>(instance.entry);
  cudaError_t error = opt_in_to_shared(entry, instance.shared_bytes, instance.opt_in);
  if (error != cudaSuccess) return error;

  const BasicDmmaTmaParams<TensorBox> boxes = dmma_tma_arguments(c, g, schedule, workspace);
  DmmaTmaParams p;
  static_cast<TileParams&>(p) = boxes;
  p.a_bulk = boxes.a_bulk;
  p.b_bulk = boxes.b_bulk;
  if (p.a_bulk) error = encode_tensor_map(p.a_map, boxes.a_map);
  if (error == cudaSuccess && p.b_bulk) error = encode_tensor_map(p.b_map, boxes.b_map);
  if (error != cudaSuccess) return error;

  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(schedule.clusters);
  launch.blockDim = dim3(static_cast<unsigned>(c.threads() + kDmmaProducerThreads));
  launch.dynamicSmemBytes = static_cast<std::size_t>(instance.shared_bytes);
  launch.stream = stream;
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  void* arguments[] = {&p};
  error = cudaLaunchKernelExC(&launch, entry, arguments);
  if (error != cudaSuccess || schedule.split_tiles == 0) return error;
  const SplitSumLayout layout = tile_sum_layout(c, schedule);
  return launch_split_sum(DType::f64, split_sum_params(g, schedule, workspace, layout), stream);
}

template <>
struct Launch<Family::dmma_tma> {
  template <class Entry>
  static cudaError_t instance(const GemmParams& params, const Schedule& schedule, void* workspace,
                              cudaStream_t stream) {
    static SharedOptIn opt_in;
    constexpr int kBytes = sizeof(typename KernelOf<Entry>::SharedStorage);
    return launch_dmma_tma({Entry::kConfig, kBytes, opt_in, dmma_tma_entry<Entry>}, params, schedule, workspace,
                           stream);
  }
};

}  // namespace xgemm::kernels
