// Launchers of the smem_tiled instances.
#include "kernels/smem_tiled/smem_tiled.cuh"

#include "kernels/common/launch_instance.cuh"

namespace xgemm::kernels {

#define XGEMM_SMEM_TILED(name, ...) XGEMM_DEFINE_LAUNCHER(name, SmemTiled<__VA_ARGS__>)
#include "kernels/instances.def"

}  // namespace xgemm::kernels
