// The launch of split_sum.
#include "kernels/common/split_sum.h"

#include "kernels/common/early_launch.h"
#include "kernels/common/split_sum.cuh"

namespace xgemm::kernels {
namespace {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, Kernel::kMinBlocksPerSm)
    split_sum_entry(const __grid_constant__ typename Kernel::Params params) {
  __shared__ typename Kernel::SharedStorage shared;
  if constexpr (gpu::kArch >= Kernel::kMinArch) Kernel::run(params, shared);
}

template <class Element, class Sum = float>
cudaError_t launch(const SplitSumParams& params, cudaStream_t stream) {
  using Kernel = SplitSum<Element, BasicLinearCombination<Sum>>;
  return launch_early(split_sum_entry<Kernel>, static_cast<unsigned>(params.ctas()), Kernel::kThreads, stream, params);
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
    case DType::f64:
      return launch<double, double>(params, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace xgemm::kernels
