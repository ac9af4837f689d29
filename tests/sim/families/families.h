// One function for each kernel family, defined in the file of its name.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "../kernels.h"

namespace xgemm::sim {

std::vector<SimKernel> naive_kernels();
std::vector<SimKernel> smem_tiled_kernels();
std::vector<SimKernel> thread_tiled_kernels();
std::vector<SimKernel> double_buffered_kernels();
std::vector<SimKernel> wmma_padded_kernels();
std::vector<SimKernel> mma_swizzled_kernels();
// In the parts of the library's build, in the order of the list.
std::vector<SimKernel> wgmma_tma_ping_pong_kernels();
std::vector<SimKernel> wgmma_tma_large_kernels();
std::vector<SimKernel> wgmma_tma_medium_kernels();
std::vector<SimKernel> wgmma_tma_small_kernels();
std::vector<SimKernel> wgmma_tma_f32c_kernels();

}  // namespace xgemm::sim
