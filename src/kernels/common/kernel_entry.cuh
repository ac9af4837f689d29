// The one __global__ function: any kernel struct becomes a CUDA kernel by instantiating it. nvcc only; the simulator's
// counterpart is sim::launch<Kernel>.
//
// Launched with the CTAs of schedule.clusters clusters, Kernel::kThreads threads and at least kSharedBytes<Kernel> of
// dynamic shared memory, after opting in to more than kDefaultSharedBytes where the kernel uses more
// (launch_tiles.h).
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "kernels/common/instance_list.h"
#include "kernels/common/params.h"
#include "kernels/common/smem.cuh"
#include "kernels/common/target.cuh"

namespace xgemm::kernels {

// An instance as the names of its kernels tell it: its family and its place in the family's list (KernelId::index).
// Names that spelled the config out took 2 % of the library.
template <class FamilyName, std::size_t kIndex>
struct Entry {
  static constexpr Family kFamily = FamilyName::kFamily;
  static constexpr auto kConfig = kConfigs<kFamily>[kIndex];
  using Code =
      Entry<FamilyName, kIndex - (has_code_of_last<kFamily>(kIndex) ? 1 : 0)>;  // whose kernel it is launched as
};
namespace family {
#define XGEMM_FAMILY(name, ...)                     \
  struct name {                                     \
    static constexpr Family kFamily = Family::name; \
  };
#include "kernels/families.def"
}  // namespace family

template <Family kFamily>
struct FamilyName;
#define XGEMM_FAMILY(name, ...)     \
  template <>                       \
  struct FamilyName<Family::name> { \
    using Type = family::name;      \
  };
#include "kernels/families.def"
template <Family kFamily, std::size_t kIndex>
using EntryOf = Entry<typename FamilyName<kFamily>::Type, kIndex>;

// How a kernel finds the matrices of a batch. One with a twin for those that pointers lead to names it ByPointers.
enum class Finds { by_strides, by_pointers };

// Structs, here and in launch.cuh of families: g++ 12 does not survive aliases of a template of Entry::kConfig.
template <class Entry, Finds kFinds>
struct KernelOfEntry {
  using Type = typename Instances<Entry::kFamily>::template Kernel<Entry::kConfig>;
};
template <class Entry>
struct KernelOfEntry<Entry, Finds::by_pointers> {
  using Type = typename KernelOfEntry<Entry, Finds::by_strides>::Type::ByPointers;
};
template <class Entry, Finds kFinds = Finds::by_strides>
using KernelOf = typename KernelOfEntry<Entry, kFinds>::Type;

template <class Entry, Finds kFinds>
__global__ void __launch_bounds__(KernelOf<Entry, kFinds>::kThreads, KernelOf<Entry, kFinds>::kMinBlocksPerSm)
    kernel_entry(const __grid_constant__ TileParams params) {
  using Kernel = KernelOf<Entry, kFinds>;
  extern __shared__ __align__(1024) unsigned char dynamic_shared[];
  // A binary holds code for several architectures; a kernel has a body only where its instructions exist. The planner
  // never chooses it elsewhere.
  if constexpr (Kernel::kInstance.runs_on(gpu::kArch / 10)) {
    Kernel::run(params, *reinterpret_cast<typename Kernel::SharedStorage*>(dynamic_shared));
  }
}

}  // namespace xgemm::kernels
