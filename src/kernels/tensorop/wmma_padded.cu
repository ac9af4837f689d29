// Launchers of the wmma_padded instances.
#include "kernels/tensorop/wmma_padded.cuh"

#include "kernels/launch_instance.cuh"

namespace xgemm::kernels {

#define XGEMM_WMMA_PADDED(name, ...) XGEMM_DEFINE_LAUNCHER(name, WmmaPadded<__VA_ARGS__>)
#include "kernels/instances.def"

}  // namespace xgemm::kernels
