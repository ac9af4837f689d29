// The launch of ffma_tma: tensor maps and attributes. Nothing is decided here.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/ffma_tma/launch.h"

#include <algorithm>

#include "kernels/common/early_launch.h"
#include "kernels/common/split_sum.h"
#include "kernels/common/tile_schedule.h"
#include "kernels/ffma_tma/arguments.h"

namespace xgemm::kernels {

cudaError_t launch_ffma_tma(const FfmaTmaKernel& kernel, const GemmParams& g, const Schedule& schedule, void* workspace,
                            cudaStream_t stream) {
  cudaError_t error = opt_in_to_all_shared(kernel.entry, kernel.opt_in);
  if (error != cudaSuccess) return error;

  const BasicFfmaTmaParams<TensorBox> boxes = ffma_tma_arguments(kernel.config, g, schedule, workspace);
  FfmaTmaParams p;
  static_cast<TileParams&>(p) = boxes;
  p.a_load = boxes.a_load;
  p.b_load = boxes.b_load;
  p.c_vectors = boxes.c_vectors;
  if (by_tma(p.a_load)) error = encode_tensor_map(p.a_map, boxes.a_map);
  if (error == cudaSuccess && by_tma(p.b_load)) error = encode_tensor_map(p.b_map, boxes.b_map);
  if (error == cudaSuccess && kernel.config.stages_c() && p.c_vectors) error = encode_tensor_map(p.c_map, boxes.c_map);
  if (error != cudaSuccess) return error;

  const auto cluster = static_cast<unsigned>(schedule.cluster.size());
  const auto bytes = static_cast<unsigned>(std::max<std::size_t>(kernel.shared_bytes, schedule.shared_bytes));
  error = launch_kernel(kernel.entry, schedule.clusters * cluster, kernel.threads, stream, &p, bytes, cluster, true);
  if (error != cudaSuccess || schedule.split_tiles == 0) return error;
  const SplitSumLayout layout = tile_sum_layout(kernel.config, schedule);
  return launch_split_sum(DType::f32, split_sum_params(g, schedule, workspace, layout), stream);
}

}  // namespace xgemm::kernels
