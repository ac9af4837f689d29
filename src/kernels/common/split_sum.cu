// The launch of split_sum.
#include "kernels/common/split_sum.h"

#include "kernels/common/split_sum.cuh"

namespace xgemm::kernels {
namespace {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, Kernel::kMinBlocksPerSm)
    split_sum_entry(const __grid_constant__ typename Kernel::Params params) {
  __shared__ typename Kernel::SharedStorage shared;
  if constexpr (gpu::kArch >= Kernel::kMinArch) Kernel::run(params, shared);
}

// Programmatic dependent launch came with sm_90.
bool starts_early() {
  int device = 0, major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major >= 9;
}

template <class Element>
cudaError_t launch(const SplitSumParams& params, cudaStream_t stream) {
  using Kernel = SplitSum<Element>;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(params.ctas()));
  config.blockDim = dim3(Kernel::kThreads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = starts_early() ? 1 : 0;
  return cudaLaunchKernelEx(&config, split_sum_entry<Kernel>, params);
}

}  // namespace

cudaError_t launch_split_sum(DType type, const SplitSumParams& params, cudaStream_t stream) {
  switch (type) {
    case DType::f32:
      return launch<float>(params, stream);
    case DType::f16:
      return launch<gpu::half>(params, stream);
    case DType::bf16:
      return launch<gpu::bfloat16>(params, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace xgemm::kernels
