// The launch of ffma_tma, for all instances in one function.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/common/opt_in.h"
#include "kernels/common/params.h"
#include "kernels/common/schedule.h"
#include "kernels/ffma_tma/config.h"

namespace xgemm::kernels {

// An instance, or its twin.
struct FfmaTmaKernel {
  const FfmaTmaConfig& config;
  const void* entry;
  SharedOptIn& opt_in;
  unsigned threads;
  std::size_t shared_bytes;  // that it uses
};

cudaError_t launch_ffma_tma(const FfmaTmaKernel& kernel, const GemmParams& g, const Schedule& schedule, void* workspace,
                            cudaStream_t stream);

}  // namespace xgemm::kernels
