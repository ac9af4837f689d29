// The launch of the packing pass.
#include "kernels/pack/pack.h"

#include "kernels/common/early_launch.h"
#include "kernels/pack/pack.cuh"

namespace xgemm::kernels {
namespace {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, Kernel::kMinBlocksPerSm)
    pack_entry(const __grid_constant__ PackParams params) {
  __shared__ typename Kernel::SharedStorage shared;
  Kernel::run(params, shared);
}

template <class Word>
cudaError_t launch(const PackParams& params, cudaStream_t stream) {
  const auto entry = params.jobs[0].pointers ? pack_entry<Pack<Word, true>> : pack_entry<Pack<Word>>;
  return launch_early(entry, params.ctas(), PackParams::kThreads, stream, params);
}

}  // namespace

cudaError_t launch_pack(const PackParams& params, cudaStream_t stream) {
  if (params.count == 0) return cudaSuccess;
  switch (params.element_bytes) {
    case 2:
      return launch<std::uint16_t>(params, stream);
    case 4:
      return launch<std::uint32_t>(params, stream);
    case 8:
      return launch<std::uint64_t>(params, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace xgemm::kernels
