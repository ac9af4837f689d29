// The launch of the check of a batch's pointers.
#include "kernels/alignment/alignment.h"

#include "kernels/alignment/alignment.cuh"
#include "kernels/common/early_launch.h"

namespace xgemm::kernels {
namespace {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, Kernel::kMinBlocksPerSm)
    alignment_entry(const __grid_constant__ AlignmentParams params) {
  __shared__ typename Kernel::SharedStorage shared;
  Kernel::run(params, shared);
}

}  // namespace

cudaError_t launch_alignment(const AlignmentParams& params, cudaStream_t stream) {
  return launch_early(alignment_entry<Alignment>, 1, Alignment::kThreads, stream, params);
}

}  // namespace xgemm::kernels
