// The launch of the finishing pass.
#include "kernels/finish/finish.h"

#include "kernels/common/early_launch.h"
#include "kernels/finish/finish.cuh"

namespace xgemm::kernels {
namespace {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, Kernel::kMinBlocksPerSm)
    finish_entry(const __grid_constant__ FinishParams params) {
  typename Kernel::SharedStorage none;
  Kernel::run(params, none);
}

template <class Element>
cudaError_t launch(const FinishParams& params, cudaStream_t stream) {
  return launch_early(finish_entry<Finish<Element>>, params.ctas, FinishParams::kThreads, stream, params);
}

}  // namespace

cudaError_t launch_finish(DType type, const FinishParams& params, cudaStream_t stream) {
  switch (type) {
    case DType::f32:
      return launch<float>(params, stream);
    case DType::f16:
      return launch<gpu::half>(params, stream);
    case DType::bf16:
      return launch<gpu::bfloat16>(params, stream);
    case DType::f64:
      return launch<double>(params, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace xgemm::kernels
