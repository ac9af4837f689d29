// The launch of an instance, for kernels that take TileParams.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/common/early_launch.h"
#include "kernels/common/instance_list.h"
#include "kernels/common/kernel_entry.cuh"
#include "kernels/common/opt_in.h"
#include "kernels/common/smem.cuh"
#include "kernels/common/split_sum.h"
#include "kernels/common/tile_schedule.h"

namespace xgemm::kernels {

// More dynamic shared memory than the default needs an opt-in, once per kernel and device. The attribute sticks to the
// device's primary context; setting it again is cheap and harmless.
template <class Entry, Finds kFinds = Finds::by_strides>
cudaError_t launch_instance(const GemmParams& params, const Schedule& schedule, void* workspace, cudaStream_t stream) {
  using Kernel = KernelOf<Entry, kFinds>;
  if constexpr (kFinds == Finds::by_strides && requires { typename Kernel::ByPointers; }) {
    if constexpr (!std::is_same_v<Kernel, typename Kernel::ByPointers>)
      if (params.c.by_pointers())
        return launch_instance<Entry, Finds::by_pointers>(params, schedule, workspace, stream);
  }
  constexpr int kBytes = kSharedBytes<Kernel>;
  const auto entry = kernel_entry<Entry, kFinds>;
  const TileParams p = {params, schedule, workspace};
  cudaError_t error = cudaSuccess;
  if constexpr (requires { Kernel::kStartsEarly; }) {
    const unsigned bytes = std::max<unsigned>(kBytes, schedule.shared_bytes);
    if (bytes > kDefaultSharedBytes) {
      static SharedOptIn opt_in;
      error = opt_in_to_all_shared(reinterpret_cast<const void*>(entry), opt_in);
      if (error != cudaSuccess) return error;
    }
    const auto cluster = static_cast<unsigned>(schedule.cluster.size());
    error = launch_early(entry, schedule.clusters * cluster, Kernel::kThreads, stream, p, bytes, cluster);
  } else {
    if constexpr (kBytes > kDefaultSharedBytes) {
      error = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
      if (error != cudaSuccess) return error;
    }
    // Gives the error of this launch, which <<<>>> leaves among those of earlier calls.
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(schedule.clusters);
    config.blockDim = dim3(Kernel::kThreads);
    config.dynamicSmemBytes = kBytes;
    config.stream = stream;
    error = cudaLaunchKernelEx(&config, entry, p);
  }
  if (error != cudaSuccess || schedule.split_tiles == 0) return error;
  const SplitSumLayout layout = tile_sum_layout(Kernel::kInstance, schedule);
  return launch_split_sum(Kernel::kInstance.type_c, split_sum_params(params, schedule, workspace, layout), stream);
}

// A family whose kernels are launched otherwise specialises this in its launch.cuh.
template <Family kFamily>
struct Launch {
  template <class Entry>
  static cudaError_t instance(const GemmParams& params, const Schedule& schedule, void* workspace,
                              cudaStream_t stream) {
    return launch_instance<Entry>(params, schedule, workspace, stream);
  }
};

}  // namespace xgemm::kernels
