// Launchers of the wmma_padded instances.
#include "kernels/wmma_padded/wmma_padded.cuh"

#include "kernels/common/launch_instance.cuh"

namespace xgemm::kernels {

#define XGEMM_WMMA_PADDED(name, ...) XGEMM_DEFINE_LAUNCHER(name, WmmaPadded<__VA_ARGS__>)
#include "kernels/instances.def"

}  // namespace xgemm::kernels
