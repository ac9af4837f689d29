// The launch of wgmma_tma: tensor maps and attributes. Nothing is decided here.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/wgmma_tma/launch.h"

#include "kernels/common/split_sum.h"
#include "kernels/wgmma_tma/sum_layout.h"

namespace xgemm::kernels {

cudaError_t launch_wgmma_tma(const WgmmaTmaInstance& instance, const GemmParams& g, const Schedule& schedule,
                             void* workspace, cudaStream_t stream) {
  const WgmmaTmaConfig& config = instance.config;
  const WgmmaTmaEntry& kernel = g.finishing.any()   ? instance.finishing
                                : g.c.by_pointers() ? instance.following
                                                    : instance.plain;
  const void* const entry = kernel.function;
  cudaError_t error = opt_in_to_shared(entry, instance.shared_bytes, kernel.opt_in);
  if (error != cudaSuccess) return error;

  const bool by_lines = config.by_lines();
  BasicWgmmaTmaLineParams<TensorBox> boxes;
  if (by_lines) {
    boxes = wgmma_tma_line_arguments(instance.boxes, g, schedule, workspace);
  } else {
    static_cast<BasicWgmmaTmaParams<TensorBox>&>(boxes) = wgmma_tma_arguments(instance.boxes, g, schedule, workspace);
  }
  WgmmaTmaLineParams p;  // most kernels take its beginning
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
  if (p.c_whole_m != 0) encode(p.c, boxes.c);
  if (p.c_old_by_tma) {
    if (p.c_whole_m != 0 && boxes.c_old == boxes.c) {
      p.c_old = p.c;
    } else {
      encode(p.c_old, boxes.c_old);
    }
  }
  p.x_lines = boxes.x_lines, p.y_lines = boxes.y_lines, p.c_lines = boxes.c_lines;
  if (p.k > 0 && config.copy == Copy::bulk) encode_both(p.x, boxes.x, p.x_tail, boxes.x_tail);
  if (p.k > 0 && instance.boxes.bulk_y) encode_both(p.y, boxes.y, p.y_tail, boxes.y_tail);
  p.classes = by_lines ? boxes.classes : 0;
  for (int i = 0; i < p.classes; ++i) encode(p.x_classes[i], boxes.x_classes[i]);
  if (error != cudaSuccess) return error;

  cudaLaunchAttribute attributes[2];
  unsigned count = 0;
  const auto cluster_size = static_cast<unsigned>(schedule.cluster.size());
  if (cluster_size > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {cluster_size, 1, 1};
  }
  attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(schedule.clusters * cluster_size);
  launch.blockDim = dim3(static_cast<unsigned>(config.threads()));
  launch.dynamicSmemBytes = static_cast<std::size_t>(
      schedule.ctas_per_sm == 1 ? instance.shared_bytes : WgmmaTmaConfig::share_of_sm(schedule.ctas_per_sm));
  launch.stream = stream;
  launch.attrs = attributes;
  launch.numAttrs = count;
  void* arguments[] = {&p};
  error = cudaLaunchKernelExC(&launch, entry, arguments);
  if (error != cudaSuccess || schedule.split_tiles == 0) return error;
  const SplitSumLayout layout = split_sum_layout(config, schedule);
  return launch_split_sum(config.type_c, split_sum_params(g, schedule, workspace, layout), stream);
}

}  // namespace xgemm::kernels
