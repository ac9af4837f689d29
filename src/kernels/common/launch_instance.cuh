// The launch of an instance, for kernels that take TileParams.
#pragma once

#include <type_traits>

#include "kernels/common/instance_list.h"
#include "kernels/common/kernel_entry.cuh"
#include "kernels/common/launch_tiles.h"
#include "kernels/common/smem.cuh"

namespace xgemm::kernels {

template <class Entry, Finds kFinds = Finds::by_strides>
cudaError_t launch_instance(const GemmParams& params, const Schedule& schedule, void* workspace, cudaStream_t stream) {
  using Kernel = KernelOf<Entry, kFinds>;
  if constexpr (kFinds == Finds::by_strides && requires { typename Kernel::ByPointers; }) {
    if constexpr (!std::is_same_v<Kernel, typename Kernel::ByPointers>)
      if (params.c.by_pointers())
        return launch_instance<Entry, Finds::by_pointers>(params, schedule, workspace, stream);
  }
  static SharedOptIn opt_in;
  TileKernel kernel = {.entry = reinterpret_cast<const void*>(kernel_entry<Entry, kFinds>),
                       .opt_in = opt_in,
                       .config = Kernel::kInstance,
                       .threads = Kernel::kThreads,
                       .shared_bytes = kSharedBytes<Kernel>};
  if constexpr (requires { Kernel::kStartsEarly; }) kernel.starts_early = true;
  return launch_tiles(kernel, params, schedule, workspace, stream);
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
