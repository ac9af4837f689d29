// Implementation of launch_tiles.h.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/common/launch_tiles.h"

#include <algorithm>

#include "kernels/common/early_launch.h"
#include "kernels/common/split_sum.h"
#include "kernels/common/tile_schedule.h"

namespace xgemm::kernels {

cudaError_t launch_tiles(const TileKernel& kernel, const GemmParams& params, const Schedule& schedule, void* workspace,
                         cudaStream_t stream) {
  const unsigned bytes =
      kernel.starts_early ? std::max(kernel.shared_bytes, schedule.shared_bytes) : kernel.shared_bytes;
  cudaError_t error = cudaSuccess;
  if (bytes > kDefaultSharedBytes)
    error = kernel.starts_early ? opt_in_to_all_shared(kernel.entry, kernel.opt_in)
                                : cudaFuncSetAttribute(kernel.entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                       static_cast<int>(bytes));
  if (error != cudaSuccess) return error;
  const auto cluster = static_cast<unsigned>(schedule.cluster.size());
  TileParams p = {params, schedule, workspace};
  error = launch_kernel(kernel.entry, schedule.clusters * cluster, kernel.threads, stream, &p, bytes, cluster,
                        kernel.starts_early);
  if (error != cudaSuccess || schedule.split_tiles == 0) return error;
  const SplitSumLayout layout = tile_sum_layout(kernel.config, schedule);
  return launch_split_sum(kernel.config.type_c, split_sum_params(params, schedule, workspace, layout), stream);
}

}  // namespace xgemm::kernels
