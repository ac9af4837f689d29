// The table of instances, put together from its families. SPDX-License-Identifier: BSD-3-Clause
#include "kernels.h"

#include "families/families.h"

namespace xgemm::sim {
namespace {

std::vector<SimKernel> collect() {
  std::vector<SimKernel> kernels;
  for (const auto family :
       {naive_kernels, smem_tiled_kernels, thread_tiled_kernels, double_buffered_kernels, wmma_padded_kernels,
        mma_swizzled_kernels, wgmma_tma_ping_pong_kernels, wgmma_tma_large_kernels, wgmma_tma_medium_kernels,
        wgmma_tma_small_kernels, wgmma_tma_f32c_kernels}) {
    const std::vector<SimKernel> members = family();
    kernels.insert(kernels.end(), members.begin(), members.end());
  }
  return kernels;
}

}  // namespace

const std::vector<SimKernel>& all_kernels() {
  static const std::vector<SimKernel> kernels = collect();
  return kernels;
}

const SimKernel* find_kernel(std::string_view name) {
  for (const SimKernel& kernel : all_kernels())
    if (kernel.name == name) return &kernel;
  return nullptr;
}

}  // namespace xgemm::sim
